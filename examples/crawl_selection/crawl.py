"""The crawl: the fetching service and olston in turn, in simulated time; HTTP, Spark and Delta are real."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import olston as ol
from olston.examples.crawl_selection.breadth_first import BreadthFirst
from olston.examples.crawl_selection.fetch_queue import DAY, Queue
from olston.examples.crawl_selection.fetcher import Fetch, Fetcher, Manners
from olston.examples.crawl_selection.measure import Copy, Measure, measure
from olston.examples.crawl_selection.sites import Site

START = 1_767_571_200_000_000
"""Monday, 5 January 2026: where simulated time begins."""
MICROSECOND = timedelta(microseconds=1)
TAKES = timedelta(minutes=2)
"""How long a wave takes to be fetched and to arrive."""


@dataclass(frozen=True)
class Sample:
    """Both copies, `day` days after the start."""

    day: float
    olston: Measure
    breadth_first: Measure


class Crawl:
    """Selects by olston what to fetch of `site`, served at `home`; beside it a plain crawler fetches as much.

    Both begin with the same copy, of all that could be found at the start.
    """

    def __init__(
        self,
        engine: ol.Engine,
        clock: ol.ManualClock,
        site: Site,
        home: str,
        *,
        seeds: Sequence[str] = ("/",),
        manners: Manners | None = None,
        per_day: int = 80,
        waves: int = 2,
    ) -> None:
        self._engine, self._clock, self._site, self._home = engine, clock, site, home
        self._seeds = [home + path for path in seeds]
        self._fetchers = [Fetcher(home, clock, manners) for _ in range(2)]
        self._breadth_first = BreadthFirst(self._fetchers[1], self._seeds)
        self.queue, self.copy = Queue(), Copy()
        self._per_wave, self._waves = max(1, per_day // waves), waves
        self._start, self._news = clock.now(), False
        self.asked: list[int] = []
        """When an up-to-date queue was asked for."""

    def __enter__(self) -> Crawl:
        return self

    def __exit__(self, *_: object) -> None:
        for fetcher in self._fetchers:
            fetcher.close()

    def run(self, days: int) -> Iterator[Sample]:
        """So many days; a sample at the end of each."""
        self.begin()
        for wave in range(1, days * self._waves + 1):
            self._wait(timedelta(days=1) / self._waves - TAKES)
            self.step()
            if wave % self._waves == 0:
                yield self.sample()

    def begin(self) -> None:
        """The first crawl, by the plain crawler for both."""
        self._take(self._breadth_first.round())
        self._engine.refresh()

    def step(self) -> None:
        """One wave: fetch what is asked for, let it arrive, keep the promises."""
        self._take(self._fetchers[0].fetch(self._wanted()))
        self._breadth_first.crawl(self.copy.fetches - self._breadth_first.copy.fetches)
        self._clock.advance(TAKES)
        self._engine.refresh()

    def _wait(self, span: timedelta) -> None:
        """Let time go by; olston is woken when a bound would break, as `serve` wakes it."""
        end = self._clock.now() + int(span / MICROSECOND)
        while (coming := self._engine.status().next_deadline) is not None and coming[1] < end:
            self._clock.advance(max(1, coming[1] - self._clock.now()) * MICROSECOND)
            self._engine.refresh()
        self._clock.advance((end - self._clock.now()) * MICROSECOND)

    def sample(self) -> Sample:
        now = self._clock.now()
        ours, theirs = (measure(c, self._site, self._home, now) for c in (self.copy, self._breadth_first.copy))
        return Sample((now - self._start) / DAY, ours, theirs)

    def _wanted(self) -> list[str]:
        """The next wave. With nothing to do, an up-to-date queue is asked for, whatever the bounds say; with still
        nothing, the seeds: their times tell the jobs that time goes by."""
        now = self._clock.now()
        wanted = self._next(now)
        if not wanted and self._news:
            self.asked.append(now)
            self._engine.refresh("output")
            self._news = False
            wanted = self._next(now)
        return wanted or self._seeds

    def _next(self, now: int) -> list[str]:
        self.queue.read(self._engine.feed("output"))
        return self.queue.next(self._per_wave, now)

    def _take(self, fetches: Sequence[Fetch]) -> None:
        """Let fetches arrive at olston."""
        if not fetches:
            return
        self.copy.take(fetches)
        self.queue.fetched(fetches)
        rows = [(f.url, datetime.fromtimestamp(f.time / 1e6, UTC), f.status, f.content) for f in fetches]
        schema = self._engine.workflow.channel("fetches").schema
        assert schema is not None
        self._engine.ingest("fetches", self._engine.spark.createDataFrame(rows, schema))
        self._news = True
