"""Tables 1, 2 and 3 on real Delta tables, and the provenance sets of 2.3 and 2.4 that go with them.

Crawled pages and click scores arrive as in Table 1. The synchronous join of 2.3, invoked after every injection of
crawled data, makes Table 2; the asynchronous one makes Table 3. "Any prior data" is a page of a site without scores
before, `o.com/p`, which was crawled on Sunday.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.block import BASE, DELTA, MONOTONE
from olston.provenance import Provenance
from olston.step import Stored
from olston.timeline import History, Timeline
from tests.derivation import sets
from tests.lake import Lake, Rows, bag, bag_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at
SUN3PM, MON1AM, MON8AM, TUE1AM, TUE11AM, TUE5PM, WED1AM, WED2PM, NOW = range(15, 24)

CRAWLED: dict[int, list[tuple[str, str, str]]] = {
    SUN3PM: [("o.com/p", "o.com", "d0")],
    MON8AM: [("a.com/x", "a.com", "d1")],
    TUE11AM: [("a.com/y", "a.com", "d2")],
    TUE5PM: [("b.com/r", "b.com", "d3")],
    WED2PM: [("a.com/z", "a.com", "d4"), ("b.com/s", "b.com", "d5")],
}
SCORED = {
    MON1AM: {("a.com", 18): 1, ("o.com", 1): 1},
    TUE1AM: {("a.com", 18): -1, ("a.com", 21): 1, ("b.com", 7): 1},
    WED1AM: {("a.com", 21): -1, ("a.com", 22): 1, ("b.com", 7): -1, ("b.com", 14): 1},
}
SNAPSHOTS = {
    MON1AM: bag(("a.com", 18), ("o.com", 1)),
    TUE1AM: bag(("a.com", 21), ("b.com", 7), ("o.com", 1)),
    WED1AM: bag(("a.com", 22), ("b.com", 14), ("o.com", 1)),
}
PRIOR = ("o.com/p", "d0", 1)

TABLE_2 = {
    MON8AM: {("a.com/x", "d1", 18): 1},
    TUE11AM: {("a.com/x", "d1", 18): -1, ("a.com/x", "d1", 21): 1, ("a.com/y", "d2", 21): 1},
    TUE5PM: {("b.com/r", "d3", 7): 1},
    WED2PM: {
        ("a.com/x", "d1", 21): -1, ("a.com/x", "d1", 22): 1, ("a.com/y", "d2", 21): -1, ("a.com/y", "d2", 22): 1,
        ("b.com/r", "d3", 7): -1, ("b.com/r", "d3", 14): 1, ("a.com/z", "d4", 22): 1, ("b.com/s", "d5", 14): 1,
    },
}  # fmt: skip
ACCUMULATED_2 = {
    MON8AM: bag(PRIOR, ("a.com/x", "d1", 18)),
    TUE11AM: bag(PRIOR, ("a.com/x", "d1", 21), ("a.com/y", "d2", 21)),
    TUE5PM: bag(PRIOR, ("a.com/x", "d1", 21), ("a.com/y", "d2", 21), ("b.com/r", "d3", 7)),
    WED2PM: bag(
        PRIOR, ("a.com/x", "d1", 22), ("a.com/y", "d2", 22), ("b.com/r", "d3", 14), ("a.com/z", "d4", 22),
        ("b.com/s", "d5", 14),
    ),
}  # fmt: skip
TABLE_3 = {
    MON8AM: {("a.com/x", "d1", 18): 1},
    TUE11AM: {("a.com/y", "d2", 21): 1},
    TUE5PM: {("b.com/r", "d3", 7): 1},
    WED2PM: {("a.com/z", "d4", 22): 1, ("b.com/s", "d5", 14): 1},
}
ACCUMULATED_3 = {
    MON8AM: bag(PRIOR, ("a.com/x", "d1", 18)),
    TUE11AM: bag(PRIOR, ("a.com/x", "d1", 18), ("a.com/y", "d2", 21)),
    TUE5PM: bag(PRIOR, ("a.com/x", "d1", 18), ("a.com/y", "d2", 21), ("b.com/r", "d3", 7)),
    WED2PM: bag(
        PRIOR, ("a.com/x", "d1", 18), ("a.com/y", "d2", 21), ("b.com/r", "d3", 7), ("a.com/z", "d4", 22),
        ("b.com/s", "d5", 14),
    ),
}  # fmt: skip
PROVENANCE_2 = {
    MON8AM: T(MON8AM, MON1AM),
    TUE11AM: T(TUE11AM, TUE1AM),
    TUE5PM: T(TUE5PM, TUE1AM),
    WED2PM: T(WED2PM, WED1AM),
}
PROVENANCE_3 = {
    MON8AM: T(MON8AM, MON1AM),
    TUE11AM: sets([TUE11AM], [MON1AM, TUE1AM]),
    TUE5PM: sets([TUE5PM], [MON1AM, TUE1AM]),
    WED2PM: sets([WED2PM], [MON1AM, TUE1AM, WED1AM]),
}
STEPS = [(SUN3PM, MON8AM), (MON8AM, TUE11AM), (TUE11AM, TUE5PM), (TUE5PM, WED2PM)]
LATEST_SCORES = {SUN3PM: MON1AM, MON8AM: MON1AM, TUE11AM: TUE1AM, TUE5PM: TUE1AM, WED2PM: WED1AM}
HISTORY = History({"crawl": Timeline("crawl", CRAWLED), "scores": Timeline("scores", SCORED)}, NOW)


class Example:
    """The data of Table 1, and the join output before Monday 8am."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.pages = self.arrive("crawl", {t: dict.fromkeys(rows, 1) for t, rows in CRAWLED.items()})
        self.changes = self.arrive("scores", SCORED)
        self.crawl, self.scores = self.snapshots("crawl", self.pages), self.snapshots("scores", self.changes)
        self.start = lake.run("output.async_batch", [self.crawl[SUN3PM], self.scores[MON1AM]], T(SUN3PM, MON1AM))

    def arrive(self, channel: str, waves: Mapping[int, Mapping[Any, int]]) -> dict[int, Stored]:
        found, before = {}, 0
        for stamp, weights in waves.items():
            rows = [(*row, weight) for row, weight in weights.items()]
            found[stamp], before = self.lake.arrive(channel, rows, stamp, before, "delta"), stamp
        return found

    def snapshots(self, channel: str, deltas: dict[int, Stored]) -> dict[int, Stored]:
        found, held = {}, self.lake.nothing(channel)
        for stamp, delta in deltas.items():
            found[stamp] = held = self.lake.apply(held, delta)
        return found

    def shown(self, stored: Stored) -> Rows:
        """In the order of the paper's columns: URL, digest, score."""
        order = ["url", "digest", "score", *(["_weight"] if stored.block.kind != BASE else [])]
        return bag_of(self.lake.frame_of(stored).select(*order))


@pytest.fixture(scope="module")
def example(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Example:
    wf = ol.Workflow("search")
    crawl = wf.source("crawl", "url string, site string, digest string")
    crawl.join("output", wf.source("scores", "site string, score int"), on="site")
    return Example(Lake(spark, tmp_path_factory.mktemp("search"), wf))


def test_table_1_arrives_as_strong_deltas_and_the_snapshots_follow(example: Example) -> None:
    assert {t: example.lake.rows(s) for t, s in example.scores.items()} == SNAPSHOTS
    assert {s.block.kind for s in example.pages.values()} == {MONOTONE}
    assert [s.block.kind for s in example.changes.values()] == [MONOTONE, DELTA, DELTA]
    assert example.scores[MON1AM].block.target == T(MON1AM), "2.1: of the snapshot in the top-right cell"


def test_table_2_the_synchronous_incremental_join(example: Example) -> None:
    """After each injection of crawled data, the join takes in what is new on both sides and ends consistent."""
    held = example.start
    for before, after in STEPS:
        old, new = LATEST_SCORES[before], LATEST_SCORES[after]
        source, target = T(before, old), T(after, new)
        if old == new:  # nothing new on the right: the one-sided variant is the cheap synchronous way
            made = example.lake.run("output.async_left", [example.pages[after], example.scores[new]], target, source)
        else:
            operands = [example.crawl[before], example.pages[after], example.scores[old], example.changes[new]]
            made = example.lake.run("output.incremental", operands, target, source)
        assert example.shown(made) == TABLE_2[after]
        held = example.lake.apply(held, made)
        assert example.shown(held) == ACCUMULATED_2[after]
        assert held.block.target == PROVENANCE_2[after]
        assert HISTORY.consistent(held.block.target, ("crawl", "scores"))


def test_table_3_the_asynchronous_incremental_join(example: Example) -> None:
    """New pages meet the scores of the day; pages crawled before keep those they met."""
    held = example.start
    for before, after in STEPS:
        scores = LATEST_SCORES[after]
        operands = [example.pages[after], example.scores[scores]]
        made = example.lake.run("output.async_left", operands, T(after, scores), T(before, scores))
        assert made.block.kind == MONOTONE
        assert example.shown(made) == TABLE_3[after]
        held = example.lake.apply(held, made)
        assert example.shown(held) == ACCUMULATED_3[after]
        assert held.block.target == PROVENANCE_3[after]
        assert HISTORY.consistent(held.block.target, ("crawl", "scores")) == (after == MON8AM)


def test_a_batch_join_repairs_what_the_asynchronous_one_left_behind(example: Example) -> None:
    operands = [example.crawl[WED2PM], example.scores[WED1AM]]
    repaired = example.lake.run("output.batch", operands, T(WED2PM, WED1AM))
    assert example.shown(repaired) == ACCUMULATED_2[WED2PM]
    assert PROVENANCE_3[WED2PM].precedes(repaired.block.target), "which is progress"
