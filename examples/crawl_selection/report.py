"""What the crawl prints: the two crawlers over time, and how often the engine did what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from olston.engine import Engine
from olston.examples.crawl_selection.crawl import Sample

JOBS = ("top_unfetched", "adaptive_recrawl", "periodic_recrawl", "indegrees")


def progress(samples: Sequence[Sample], lines: int = 12) -> Table:
    """Both crawlers at about so many moments, olston's first."""
    table = Table(title="olston | breadth first, at equal fetches", title_justify="left", box=None)
    for heading in ("hour", "fetches", "coverage", "freshness", "current"):
        table.add_column(heading, justify="right")
    every = max(1, -(-len(samples) // lines))
    for s in samples[every - 1 :: every]:
        a, b = s.olston, s.breadth_first
        shares = [(a.coverage, b.coverage), (a.freshness, b.freshness), (a.current, b.current)]
        table.add_row(f"{s.hour:.0f}", f"{a.fetches} | {b.fetches}", *(f"{x:.0%} | {y:.0%}" for x, y in shares))
    return table


def rhythms(engine: Engine, hours: float) -> Table:
    """How often each job ran, by which variant, and every how many hours that is."""
    ran: dict[str, Counter[str]] = {job: Counter() for job in JOBS}
    for tried in engine.history(1_000_000).steps:
        for step in tried.step.split(" + ") if tried.state == "done" else ():
            job, _, variant = step.partition(".")
            if job in ran and not variant.startswith("c."):  # converters are no runs
                ran[job][variant] += 1
    table = Table(title="jobs", title_justify="left", box=None)
    for heading in ("job", "ran", "every", "by"):
        table.add_column(heading)
    for job, variants in ran.items():
        times = variants.total()
        by = ", ".join(f"{variant} {n}" for variant, n in variants.most_common())
        table.add_row(job, str(times), f"{hours / times:.1f} hours" if times else "", by)
    return table
