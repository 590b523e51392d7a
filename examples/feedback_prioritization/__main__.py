"""A day and a half of searches, news first: `python -m olston.examples.feedback_prioritization`."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import olston as ol
from olston.cli.show import console
from olston.cli.watch import watching
from olston.examples.feedback_prioritization.workflow import wf
from olston.report import moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from olston.engine import Engine

MONDAY = int(datetime(2026, 3, 2, 6, tzinfo=UTC).timestamp()) * 1_000_000
EVERY = 7 * 3_600_000_000 - 60_000_000
"""Microseconds from a wave that was dealt with to the next one."""
SCHEMA = "query string, links array<string>, clicked string, has_news boolean"


def searches(wave: int, rows: int) -> list[tuple[str, list[str], str, bool]]:
    """Searches of a wave, of which one in twenty-five shows a link to news."""
    found = []
    for n in range(rows):
        links = [f"http://site{(wave * 7 + n * k) % 50}.org/{n % 9}" for k in (1, 2, 3)]
        found.append((f"query {wave}.{n}", links, links[n % 3], n % 25 == 0))
    return found


class Store:
    """The consumer: a feedback store that takes the feed from where it stopped."""

    def __init__(self) -> None:
        self.cursor = self.news = self.other = 0
        self.log: list[tuple[int, int]] = []
        """News and others that it had after each look at the feed."""

    def take(self, engine: Engine) -> str:
        """Take what is new in the feed; what that was."""
        got = []
        for given in engine.feed("output").after(self.cursor):
            if given.block.is_base:
                self.news = self.other = 0  # it holds everything, and replaces what was there
            news = given.rows.where("has_news").count()
            other = given.rows.count() - news
            self.cursor, self.news, self.other = given.number, self.news + news, self.other + other
            got.append(f"{given.block.kind} of {news} news and {other} others")
        self.log.append((self.news, self.other))
        return ", ".join(got) or "nothing"


def tell(home: str, spark: SparkSession | None = None, *, waves: int = 6, rows: int = 500) -> Store:
    """Let waves of searches arrive, keep the promises, and print what the feedback store gets when."""
    clock, store = ol.ManualClock(MONDAY), Store()
    with ol.Engine(wf, home, clock=clock, spark=spark) as engine:
        for wave in range(waves):
            if wave:
                _pass(engine, clock, store, clock.now() + EVERY)
            engine.ingest("searches", engine.spark.createDataFrame(searches(wave, rows), SCHEMA))
            clock.advance("1 minute")
            _keep(engine, store, f"{rows} searches arrive")
    console.print(f"\nthe feedback store has {store.news} news and {store.other} others of {waves * rows} searches")
    return store


def _pass(engine: Engine, clock: ol.ManualClock, store: Store, until: int) -> None:
    """Let time pass. Where a bound would break on the way, act at that moment, as `engine.serve()` does by itself."""
    deadline = engine.status().next_deadline
    if deadline is not None and deadline[1] < until:
        clock.advance((deadline[1] - clock.now()) / 1e6)
        _keep(engine, store, "the others would soon be more than a day behind", "output")
    clock.advance((until - clock.now()) / 1e6)


def _keep(engine: Engine, store: Store, why: str, *outputs: str) -> None:
    with watching(engine, quiet=not console.is_terminal):
        engine.refresh(*outputs)
    console.print(f"\n[bold]{moment(engine.now)}[/bold] {why}; the feedback store gets {store.take(engine)}")
    console.print(engine.provenance("output"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="olston-feedback-") as folder:
        tell(f"{folder}/lake")
