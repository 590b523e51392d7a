"""Feedback prioritisation, Figure 6 of the paper: searches about news go out at once, the others once a day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import olston as ol
from tests.benchmarks.contenders.scenario import Frames, Scenario, Source, Wave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SEARCHES = "wave of searches"
WAVE = 0.001


def batch(frames: Frames) -> Any:
    return frames["searches"]


def workflow(strict: bool) -> ol.Workflow:
    wf = ol.Workflow("feedback")
    searches = wf.source("searches", SOURCES["searches"].columns)
    news, other = searches.split({"news": "has_news"}, rest="other")
    output = news.union("output", other)
    wf.output(output)
    wf.bound_staleness(output, 0, 0)
    wf.bound_staleness(output, 1, 0 if strict else "1 day")
    if strict:
        wf.bound_inconsistency(output, 0)
    return wf


class Feedback:
    """`size` searches, a tenth of them about news."""

    def __init__(self, session: SparkSession, folder: Path, size: int) -> None:
        self._session, self._folder, self._size = session, folder, size
        self._next = self._waves = 0

    def first(self) -> Wave:
        return self._searches(self._size)

    def wave(self, phase: str) -> Wave:
        return self._searches(max(10, int(WAVE * self._size)))

    def _searches(self, count: int) -> Wave:
        rows = self._session.range(self._next, self._next + count).selectExpr(
            "concat('query ', pmod(hash(id), 100000)) AS query",
            "transform(sequence(1, 5), i -> concat('http://', pmod(hash(id, i), 100000), '.org/')) AS links",
            "concat('http://', pmod(hash(id, 1), 100000), '.org/') AS clicked",
            "pmod(hash(id, 9), 10) = 0 AS has_news",
        )
        self._next, self._waves = self._next + count, self._waves + 1
        path = self._folder / f"{self._waves}"
        rows.write.parquet(str(path))
        return {"searches": path}


SOURCES = {"searches": Source("query string, links array<string>, clicked string, has_news boolean")}
FEEDBACK = Scenario(
    "feedback", SOURCES, (SEARCHES,), batch, workflow,
    loose=("query", "links", "clicked", "has_news"), data=Feedback, sure="has_news",
)  # fmt: skip
