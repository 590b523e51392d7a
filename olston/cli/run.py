"""`olston run`: what is new arrives, what is due is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olston.cli.complete import followed
from olston.cli.options import AsJson, FullRefresh, FullRefreshAll, InProject, Select, check_outputs, demands, names
from olston.errors import OlstonError

if TYPE_CHECKING:
    from olston.block import Block
    from olston.engine import Engine


def run(
    select: Select = None,
    full_refresh: FullRefresh = None,
    full_refresh_all: FullRefreshAll = False,
    poll: Annotated[bool, typer.Option(help="First look for what is new at followed sources.")] = True,
    anew: Annotated[
        str | None,
        typer.Option(
            help="Take all there is now at these followed sources: a,b.", metavar="SOURCES", autocompletion=followed
        ),
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Let what is new at followed sources arrive, then plan and run until nothing is due. Starts Spark.

    [bold]Examples:[/bold] olston run; olston run --select output; olston run --full-refresh output
    """
    from olston.cli.answers import emit_json
    from olston.cli.ingest import arrived
    from olston.cli.opened import opened
    from olston.cli.show import console
    from olston.cli.watch import watching

    asked, taken = demands(select, full_refresh, full_refresh_all), names(anew, "--anew")
    with opened(project) as engine:
        for outputs, _ in asked:
            check_outputs(engine.workflow, outputs)
        engine.refuse_paused()
        with watching(engine, quiet=as_json):
            waves = engine.poll(*taken, anew=True) if taken else []
            new, fault = _poll(engine) if poll else ([], None)
            waves += new
            reports = [engine.refresh(*outputs, full=full) for outputs, full in asked]
    if fault is not None and as_json:
        raise fault
    if as_json:
        emit_json({"arrived": [arrived(b) for b in waves], "runs": [r.to_dict() for r in reports]})
        return
    for block in waves:
        console.print(f"{block.channel}: {block.rows:,.0f} rows arrived", markup=False)
    for report in reports:
        console.print(report)
    if fault is not None:
        raise fault


def _poll(engine: Engine) -> tuple[list[Block], OlstonError | None]:
    """What was new at followed sources; one that cannot be taken keeps nobody from what is due."""
    try:
        return (engine.poll() if engine.workflow.follows else []), None
    except OlstonError as error:
        return [], error
