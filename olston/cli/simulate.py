"""`olston simulate`: weeks of a workflow in seconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from olston.cli.answers import emit_json
from olston.cli.options import AsJson, InProject
from olston.duration import UNITS
from olston.errors import RatesError

if TYPE_CHECKING:
    from olston.scheduler.simulate.compare import Row, Setup
    from olston.scheduler.simulate.paper import Figures

POLICY_SPAN = 12 * UNITS["hour"]


def simulate(
    workflow: Annotated[
        str | None,
        typer.Argument(help="An example by its name, or a Python file that defines a workflow; else the project's."),
    ] = None,
    weeks: Annotated[
        float | None,
        typer.Option(
            help="Simulated weeks; by default the longest bound and a wave of every source, 10 of an example, and "
            "12 hours with --policies.",
            min=0.001,
        ),
    ] = None,
    set_: Annotated[
        str | None,
        typer.Option(
            "--set", help='Values to try for a bound: "inconsistency(output)=1 day,1 week".', metavar="BOUND=VALUES"
        ),
    ] = None,
    policies: Annotated[bool, typer.Option("--policies", help="Compare scheduling algorithms instead.")] = False,
    rates: Annotated[
        Path | None, typer.Option(help="Rates and costs; rates.toml beside the workflow by default.", metavar="FILE")
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs to average over, each with other noise.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the noise.")] = 0,
    noise: Annotated[
        float, typer.Option(help="By how much running times and sizes are off on average; 0 for none.", min=0, max=2)
    ] = 0.5,
    plot: Annotated[Path | None, typer.Option(help="Draw to this PNG or SVG file.", metavar="FILE")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Run a workflow in simulated time: how fresh would it be, and what would it cost?

    [bold]Examples:[/bold] olston simulate; olston simulate --weeks 2; olston simulate search_preprocessing;
    olston simulate search_preprocessing --set "inconsistency(output)=1 day,1 week,4 weeks"
    """
    from olston.cli.progress import progress_bar
    from olston.project import EXAMPLES, find_workflow
    from olston.scheduler.simulate import compare
    from olston.scheduler.simulate.paper import TABLE_5, TABLE_6
    from olston.scheduler.simulate.rates import read_rates
    from olston.scheduler.simulate.span import LONGEST, enough
    from olston.scheduler.simulate.what_if import parse_setting

    if workflow is None:
        from olston.cli import opened

        found, folder = opened.project(project).find_workflow()
    else:
        found, folder = find_workflow(workflow)
    file = rates if rates is not None else folder / "rates.toml"
    if rates is None and not file.exists():
        raise RatesError(f"{workflow or found.name}: no {file.name} beside it; write one, or give --rates FILE.")
    found.check()
    setting = parse_setting(set_, found) if set_ is not None else None
    numbers = read_rates(file, found)
    chosen = weeks is None and not policies and workflow not in EXAMPLES
    if chosen:
        span = enough(found, numbers, setting.values if setting else ())
    else:
        default = POLICY_SPAN if policies else LONGEST
        span = default if weeks is None else int(weeks * UNITS["week"])
    lines = len(setting.values) if setting else 3 if policies else 4
    paper: Mapping[str, Figures] = {}
    with progress_bar(f"simulating {found.name}", lines * runs * span, quiet=as_json) as tell:
        setup = compare.Setup(found, numbers, span, runs, seed, noise, tell)
        if setting is not None:
            rows, title = compare.by_bound(setup, setting), f"{found.name}: {setting.label}"
        elif policies:
            rows, title = compare.by_policy(setup), f"{found.name}: scheduling algorithms"
            paper = TABLE_6.get(found.name, {})
        else:
            rows, title = compare.by_method(setup), f"{found.name}: processing methods"
            paper = TABLE_5.get(found.name, {})
    if plot is not None:
        from olston.scheduler.simulate.plot import plot as draw

        draw(plot, rows, title, numbers.unit, setting is not None, paper)
    if as_json:
        emit_json(_report(title, setup, numbers.unit, rows, paper))
    else:
        _show(title, setup, numbers.unit, rows, paper, curve=setting is not None)
        if chosen and span < LONGEST:
            print("in this time every bound can break once; --weeks N takes longer")
        if plot is not None:
            print(f"drawn to {plot}")


def _report(title: str, setup: Setup, unit: str, rows: Sequence[Row], paper: Mapping[str, Figures]) -> dict[str, Any]:
    return {
        "title": title,
        "workflow": setup.workflow.name,
        "weeks": setup.span / UNITS["week"],
        "runs": setup.runs,
        "seed": setup.seed,
        "noise": setup.noise,
        "unit": unit,
        "rows": [
            {
                "name": row.name,
                "lag": row.lag,
                "cost": row.cost,
                "scheduler_seconds": row.seconds,
                "decisions": row.decisions,
                "unrepaired": row.unrepaired,
                "paper": vars(paper[row.name]) if row.name in paper else None,
            }
            for row in rows
        ],
    }


def _show(
    title: str, setup: Setup, unit: str, rows: Sequence[Row], paper: Mapping[str, Figures], *, curve: bool
) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from olston.cli.show import console
    from olston.duration import show_duration

    runs = "" if setup.runs == 1 else f", mean of {setup.runs} runs"
    console.print(f"{title}, {show_duration(setup.span)}{runs}", markup=False)
    console.print(f"median freshness lag and cost in {unit}, scheduler in seconds", markup=False)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("bound" if curve else "", no_wrap=True)
    for column in ("lag", "cost", "scheduler"):
        table.add_column(column, justify="right", no_wrap=True)
        if paper:
            table.add_column("paper", justify="right", style="dim", no_wrap=True)
    if curve:
        table.add_column("cost", no_wrap=True)
    dearest = max((r.cost for r in rows), default=0.0) or 1.0
    for row in rows:
        cells = [row.name]
        for measure in ("lag", "cost", "seconds"):
            cells.append(_number(getattr(row, measure)))
            if paper:
                cells.append(_number(getattr(paper[row.name], measure)))
        if curve:
            cells.append("█" * round(24 * row.cost / dearest))
        table.add_row(*cells)
    console.print(table)
    late = [row.name for row in rows if row.unrepaired]
    if late:
        console.print(f"still stale at the end: {', '.join(late)}")


def _number(value: float) -> str:
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
