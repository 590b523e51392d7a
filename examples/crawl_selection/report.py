"""What the crawl prints: the two crawlers over time, and how often the engine did what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from rich.table import Table

from olston.engine import Engine
from olston.examples.crawl_selection.crawl import Sample
from olston.examples.crawl_selection.fetch_queue import DAY

JOBS = ("top_unfetched", "adaptive_recrawl", "periodic_recrawl", "indegrees")


def progress(samples: Sequence[Sample], lines: int = 12) -> Table:
    """Both crawlers at about so many moments, olston's first."""
    table = Table(title="olston | breadth first, at equal fetches", title_justify="left", box=None)
    for heading in ("day", "fetches", "coverage", "freshness", "current"):
        table.add_column(heading, justify="right")
    every = max(1, -(-len(samples) // lines))
    for s in samples[every - 1 :: every]:
        a, b = s.olston, s.breadth_first
        shares = [(a.coverage, b.coverage), (a.freshness, b.freshness), (a.current, b.current)]
        table.add_row(f"{s.day:.0f}", f"{a.fetches} | {b.fetches}", *(f"{x:.0%} | {y:.0%}" for x, y in shares))
    return table


def rhythms(engine: Engine, asked: Sequence[int]) -> Table:
    """How often each job ran because somebody `asked` at that moment, how often because of a bound, and how long after
    the run before."""
    runs: dict[str, dict[int, str]] = {job: {} for job in JOBS}
    for tried in reversed(engine.history(1_000_000).steps):
        for step in tried.step.split(" + ") if tried.state == "done" else ():
            job, _, variant = step.partition(".")
            if job in runs and not variant.startswith("c."):  # converters are no runs
                runs[job][int(tried.started_at)] = variant
    table = Table(title="jobs", title_justify="left", box=None)
    for heading in ("job", "asked for", "by bounds", "then every", "by"):
        table.add_column(heading)
    for job, ran in runs.items():
        gaps = [(after - before) / DAY for before, after in pairwise(ran) if after not in asked]
        by = ", ".join(f"{variant} {n}" for variant, n in Counter(ran.values()).most_common())
        times = sum(at in asked for at in ran)
        every = f"{median(gaps):.1f} days" if gaps else ""
        table.add_row(job, str(times), str(len(ran) - times), every, by)
    return table
