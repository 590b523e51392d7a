"""Results as pages: tables for docs/performance.md, put between its markers, and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.contenders.measure import REPAIR
from tests.benchmarks.contenders.results import (
    OURS,
    RECOMPUTE,
    ROOT,
    STORED,
    Claim,
    aged,
    claims,
    load,
    medians,
    phases,
    under_way,
    week,
)

NOTHING = 0.05
"""Seconds below which nothing was done."""
PAGE = ROOT / "docs" / "performance.md"
PICTURE = STORED.parent / "refresh.svg"


def table(run: Mapping[str, Any]) -> Iterator[str]:
    """Seconds, and how many times faster than full recompute, by contender and phase."""
    shown = [*phases(run), *([REPAIR] if REPAIR in run["times"] else []), *(["week"] if week(run) else [])]
    columns = {p: week(run) if p == "week" else medians(run, p) for p in shown}
    once = {p: ", once" if p in ("week", REPAIR) else "" for p in shown}
    yield "| | " + " | ".join(f"{p}{once[p]}, s | times faster" for p in shown) + " |"
    yield "|---|" + "---:|---:|" * len(shown)
    names = dict.fromkeys([RECOMPUTE, *sorted(n for found in columns.values() for n in found)])
    for name in names:
        cells = []
        for found in columns.values():
            took = found.get(name)
            if took is None or took < NOTHING:
                cells += ["" if took is None else "0", ""]
            else:
                cells += [f"{took:.2f}", f"{found[RECOMPUTE] / took:.1f}"]
        yield f"| {name} | " + " | ".join(cells) + " |"
    started = [(p, median(t)) for p, by in run["parts"].items() for n, t in by.items() if n.startswith("Spark")]
    if started:
        yield ""
        yield (
            "Of a run of Spark Declarative Pipelines, start-up: "
            + ", ".join(f"{p} {t:.1f} s" for p, t in started)
            + "."
        )


def about(run: Mapping[str, Any]) -> str:
    m = run["machine"]
    made = f"; {m['date']}, commit {m['commit']}" if "date" in m else ""
    shared = "" if m["load"] < 2 * m["cores"] else f" The machine was shared: its load was {m['load']} at the end."
    return (
        f"{m['cores']} cores, {m['memory']}, {m['driver']} for the driver; Python {m['python']}, Spark {m['pyspark']}, "
        f"Delta {m['delta']}{made}.{shared}"
    )


def verdicts(found: list[Claim]) -> Iterator[str]:
    yield "| | found | to reach | |"
    yield "|---|---:|---:|---|"
    for c in found:
        limit = f"{'≥' if c.more else '≤'} {c.limit:.4g}"
        yield f"| {c.text} | {c.found:.2f} | {limit} | {'yes' if c.reached else '**no**'} |"


def sections(stored: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The text between each pair of markers."""
    runs = {k: r for k, r in stored.items() if "scenario" in r and not k.endswith(under_way(""))}
    for scenario in ("search", "feedback", "tpch"):
        lines: list[str] = []
        mine = sorted((r for r in runs.values() if r["scenario"] == scenario), key=lambda r: -r["size"])
        for run in mine:
            rounds = min((len(t) for p in phases(run) for t in run["times"][p].values()), default=0)
            lines += [f"**{run['size']:,} rows**, medians of {rounds}. {about(run)}", "", *table(run), ""]
            lines += [*verdicts(claims(run)), ""]
        yield scenario, "\n".join(lines).strip()
    if "age" in stored:
        run = stored["age"]
        yield "age", "\n".join([f"{run['waves']} waves. {about(run)}", "", *verdicts(aged(run))])


def write(page: Path = PAGE) -> None:
    """Put all that is stored into the page, and draw it."""
    text, stored = page.read_text(), load()
    for name, body in sections(stored):
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = f"{before}{begin}{body}\n{end}{after}"
    page.write_text(text)
    draw(stored)


def draw(stored: Mapping[str, Any], path: Path = PICTURE) -> None:
    """For each phase of the largest run of search, how many times faster each is than full recompute."""
    runs = [r for r in stored.values() if r.get("scenario") == "search" and week(r)]
    if not runs:
        return
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    run = max(runs, key=lambda r: int(r["size"]))
    columns = {p: medians(run, p) for p in phases(run)} | ({"a week": week(run)} if week(run) else {})
    figure = Figure(figsize=(4.2 * len(columns), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"Times faster than full recompute, {run['size']:,} pages")
    for axes, (phase, found) in zip(figure.subplots(1, len(columns), squeeze=False)[0], columns.items(), strict=True):
        names = [n for n in reversed(found) if n != RECOMPUTE]
        ratios = [found[RECOMPUTE] / found[n] for n in names]
        axes.barh(names, ratios, color=["#1f6f8b" if n == OURS else "#c9b79c" for n in names])
        axes.axvline(1, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_title(phase, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
