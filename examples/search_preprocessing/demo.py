"""Two weeks of search preprocessing on real Spark and Delta, and what that saved against recomputing.

Time is simulated, work is not: every wave arrives, is planned for and carried out, and after every other crawl a plain
PySpark job computes the same output from all there is, for the comparison.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import olston as ol
from olston.cli.show import console
from olston.cli.watch import watching
from olston.examples.search_preprocessing.recompute import differing, recompute
from olston.examples.search_preprocessing.waves import DEMO, Size, Wave, rows, waves
from olston.examples.search_preprocessing.workflow import wf
from olston.planned import PlanOf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from olston.engine import Engine


@dataclass
class Spent:
    """Seconds, and what they were spent on."""

    taking: float = 0.0
    refreshing: list[float] = field(default_factory=list)
    recomputing: list[float] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    equal: bool = False


def tell(folder: str, spark: SparkSession | Mapping[str, str] | None = None, size: Size = DEMO) -> Spent:
    """Tell the story on the console, with all files below `folder`; what was spent, and whether the results agree."""
    began = time.perf_counter()
    all_waves = list(waves(size))
    clock = ol.ManualClock(_stamp(all_waves[0]))
    with ol.Engine(wf, f"{folder}/lake", clock=clock, spark=spark) as engine:
        with _busy("Spark starts, and two weeks of pages and clicks are made up"):
            landed = [_land(engine.spark, folder, wave, size) for wave in all_waves]
        _introduce(size)
        story = _Story(engine, f"{folder}/recomputed", Spent())
        for wave, files in zip(all_waves, landed, strict=True):
            clock.advance((_stamp(wave) - clock.now()) / 1e6)
            story.arrive(wave, files)
            if "pages" in wave.rows:
                clock.advance("1 minute")
                story.keep()
                if len(story.spent.refreshing) % 2:  # the first and the last among them
                    story.recompute()
        story.compare()
    _conclude(story.spent, time.perf_counter() - began)
    return story.spent


class _Story:
    def __init__(self, engine: Engine, recomputed: str, spent: Spent) -> None:
        self._engine, self._recomputed, self.spent = engine, recomputed, spent
        self._files: dict[str, list[str]] = {"pages": [], "clicks": []}
        self._shown: set[str] = set()

    def arrive(self, wave: Wave, files: Mapping[str, str]) -> None:
        """What comes at this moment is taken in, under one stamp."""
        told = " and ".join(f"{n:,} {source}" for source, n in wave.rows.items())
        console.print(Text.assemble("\n", (f"{wave.at:%a %d %b %H:%M}", "bold"), f"  {told} arrive"))
        with _timed() as took, _busy("they are written"), self._engine.arrival() as arrival:
            for source, file in files.items():
                arrival.ingest(source, self._engine.spark.read.parquet(file))
        self.spent.taking += took[0]
        for source, file in files.items():
            self._files[source].append(file)
        if "pages" not in wave.rows:
            _say("due" if self._engine.plan().due else "nothing is due: scores may be a day old")

    def keep(self) -> None:
        """What is due is planned and done."""
        plan = self._engine.plan()
        self._explain(plan)
        with _timed() as took, watching(self._engine, quiet=not console.is_terminal):
            report = self._engine.refresh()
        self.spent.refreshing.append(took[0])
        if not console.is_terminal:
            for step, _, seconds in report.steps:
                console.print(f"✓ {step}  {seconds:.1f} s", markup=False)
        _say(_reflected(self._engine))
        _say(f"olston took {took[0]:.1f} s")

    def recompute(self) -> None:
        """The same by a plain batch job."""
        with _timed() as took, _busy("for the comparison, everything is computed anew"):
            recompute(self._engine.spark, self._files["pages"], self._files["clicks"], self._recomputed)
        self.spent.recomputing.append(took[0])
        _say(f"recomputing everything takes {took[0]:.1f} s")

    def compare(self) -> None:
        """The output beside the last batch result, which was made of the same snapshots if it is consistent."""
        with _busy("the output is compared with the batch result"):
            held = self._engine.read("output")
            off = differing(held, self._engine.spark.read.format("delta").load(self._recomputed))
            total = held.count()
        self.spent.equal = self._engine.provenance("output").to_dict()["consistent"] and not off
        verdict = (
            "equals the batch result on the snapshots it names" if self.spent.equal else f"DIFFERS in {off:,} rows"
        )
        console.print(f"\nThe output, {total:,} rows, {verdict}.")

    def _explain(self, plan: PlanOf) -> None:
        """Show the plan where it is of a kind not seen before, and say why."""
        kind = _kind(plan)
        if kind == "repair":
            self.spent.repairs.append(str(plan.now))
        if kind not in self._shown and kind in _TELLING:
            self._shown.add(kind)
            _say(f"[bold]{_TELLING[kind]}[/bold]")
            console.print(plan)


_TELLING = {
    "pages alone": "The plan: the new pages meet yesterday's scores, nothing else is touched.",
    "scores too": "The plan: scores would be more than a day old, so new clicks are counted in as well.",
    "repair": "The plan: some page would keep a score for more than a week, so all pages meet the new scores.",
}


def _kind(plan: PlanOf) -> str:
    """What a plan is like: the first fill, new pages alone, new scores for them too, or a repair of all rows."""
    if any(step in ("output.batch", "output.async_batch") for step in plan.steps):
        return "repair" if all(held is not None for held in plan.problem.holds.values()) else "fill"
    return "scores too" if any(step.startswith("counts") for step in plan.steps) else "pages alone"


def _reflected(engine: Engine) -> str:
    """What the output reflects, on a line."""
    facts = engine.provenance("output").to_dict()
    parts = []
    for pathway in facts["pathways"]:
        days = [_day(stamp) for stamp in pathway["snapshots"]]
        parts.append(f"{pathway['input']} of {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else ""))
    apart = facts["inconsistency_seconds"] / 86_400
    verdict = "consistent" if facts["consistent"] else f"{apart:.1f} days apart, 7 allowed"
    return f"output reflects {', '.join(parts)}: {verdict}"


def _day(stamp: int) -> str:
    from datetime import UTC, datetime

    return f"{datetime.fromtimestamp(stamp / 1e6, UTC):%a %d %b}"


def _introduce(size: Size) -> None:
    console.print(
        f"{size.pages:,} pages and {size.clicks:,} clicks at the start, then waves for two weeks. The promises:"
    )
    for bound in (*wf.staleness, *wf.inconsistency):
        console.print(f"  {bound}", markup=False)


def _conclude(spent: Spent, seconds: float) -> None:
    table = Table(box=None, title="\nWhat it took, in seconds", title_justify="left", pad_edge=False)
    table.add_column("")
    for heading in ("olston", "recomputing"):
        table.add_column(heading, justify="right")
    mine, batch = spent.refreshing, spent.recomputing
    later, measured = len(mine) - 1, len(batch) - 1
    anew = later * sum(batch[1:]) / measured
    table.add_row("the first crawl", f"{mine[0]:.1f}", f"{batch[0]:.1f}")
    table.add_row(f"the {later} crawls after it", f"{sum(mine[1:]):.1f}", f"{anew:.1f}")
    table.add_row("taking in what arrives", f"{spent.taking:.1f}", "")
    console.print(table)
    console.print(f"Recomputing was measured after {measured} of the {later}; the others are taken to be like these.")
    part = sum(mine[1:]) / anew
    console.print(f"From the second crawl on, keeping the promises took {part:.0%} of what recomputing takes.")
    if part > 1:
        console.print("On tables as small as these, starting jobs outweighs what they do.")
    console.print(f"The demo took {seconds:.0f} s.")


def _land(spark: SparkSession, folder: str, wave: Wave, size: Size) -> dict[str, str]:
    """The files of a wave, as a crawler and a web server would leave them."""
    files = {source: f"{folder}/landed/{source}/{wave.at:%m%dT%H}" for source in wave.rows}
    for source, file in files.items():
        rows(spark, wave, source, size).write.parquet(file)
    return files


def _stamp(wave: Wave) -> int:
    return int(wave.at.timestamp()) * 1_000_000


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Seconds that the body took, as the one element of a list, afterwards."""
    took, began = [0.0], time.perf_counter()
    yield took
    took[0] = time.perf_counter() - began


def _say(text: str) -> None:
    """A paragraph below a moment, indented as a whole."""
    console.print(Padding(text, (0, 0, 0, 2), expand=False))


def _busy(what: str) -> AbstractContextManager[Any]:
    """A sign of life, where a person watches."""
    return console.status(what) if console.is_terminal else nullcontext()
