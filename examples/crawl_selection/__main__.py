"""`python -m olston.examples.crawl_selection`: crawls a web that changes, or with `--site` a folder of HTML."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import olston as ol
from olston.cli import show
from olston.examples.crawl_selection.crawl import START, Crawl, Sample
from olston.examples.crawl_selection.fetcher import Manners
from olston.examples.crawl_selection.plot import plot
from olston.examples.crawl_selection.report import progress, rhythms
from olston.examples.crawl_selection.server import serve
from olston.examples.crawl_selection.sites import Folder, Site
from olston.examples.crawl_selection.web import Web
from olston.examples.crawl_selection.workflow import declare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import Console

SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    # thousands of rows: making a plan good and compiling it costs more than running it does
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


DAYS = 28
"""Over which the made-up web gets its pages: however few are looked at, it changes at the same pace."""


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m olston.examples.crawl_selection", description=__doc__)
    parser.add_argument("--site", type=Path, metavar="DIR", help="crawl this folder of HTML instead of a made-up web")
    parser.add_argument("--seed", type=int, default=0, help="of the made-up web")
    parser.add_argument("--pages", type=int, default=200, help="of the made-up web")
    parser.add_argument("--days", type=int, default=DAYS, help="how long, in simulated time")
    parser.add_argument("--per-day", type=int, default=80, help="fetches in a day")
    parser.add_argument("--waves", type=int, default=2, choices=range(1, 25), help="in how many waves a day")
    parser.add_argument("--delay", type=float, default=0.002, help="seconds between two requests, in real time")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw coverage and freshness, PNG or SVG")
    parser.add_argument("--home", metavar="DIR", help="a new folder for olston's tables; else they are thrown away")
    asked = parser.parse_args(given)
    if asked.site and not (asked.site.is_dir() and Folder(asked.site).pages(START)):
        parser.error(f"--site {asked.site}: no folder with HTML in it")
    if asked.home and Path(asked.home).exists() and any(Path(asked.home).iterdir()):
        parser.error(f"--home {asked.home}: is not empty; a crawl begins with nothing")
    return asked


def main(
    given: Sequence[str] | None = None, console: Console | None = None, spark: SparkSession | None = None
) -> list[Sample]:
    """Crawls, and prints what came of it."""
    asked, out, clock = arguments(given), console or show.console, ol.ManualClock(START)
    site: Site = Folder(asked.site) if asked.site else Web(asked.seed, asked.pages, START, 24 * max(DAYS, asked.days))
    seed = "/index.html" if "/index.html" in site.pages(START) else min(site.pages(START), key=lambda p: (len(p), p))
    with ExitStack() as stack:
        url = stack.enter_context(serve(site, clock))
        home = asked.home or stack.enter_context(tempfile.TemporaryDirectory(prefix="olston-crawl-"))
        engine = stack.enter_context(ol.Engine(declare(), home, clock=clock, spark=spark or SPARK))
        crawl = stack.enter_context(
            Crawl(
                engine, clock, site, url, seeds=[seed], manners=Manners(delay=asked.delay), per_day=asked.per_day,
                waves=asked.waves,
            )
        )  # fmt: skip
        samples = []
        for sample in crawl.run(asked.days):
            samples.append(sample)
            if out.is_terminal:
                out.print(f"day {sample.day:.0f}: {sample.olston.fetches} fetches", style="dim")
        out.print(progress(samples), "", rhythms(engine, crawl.asked), "", engine.provenance("output"), sep="\n")
        often = "once" if len(crawl.asked) == 1 else f"{len(crawl.asked)} times"
        out.print(f"\n{often} there was nothing to fetch, and an up-to-date queue was asked for")
    if asked.plot:
        plot(samples, asked.plot)
        out.print(f"drawn into {asked.plot}")
    return samples


if __name__ == "__main__":
    main()
