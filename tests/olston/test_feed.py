"""Feeds: blocks of the accepted kinds, in order, to a consumer with a cursor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

import olston as ol
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, MONOTONE, Block, weak
from olston.errors import StoreError
from olston.feed import Feed
from olston.provenance import Provenance
from olston.step import Stored
from tests.lake import Lake, at_once, bag, bag_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string, n int", key="url")
    wf.output(pages.filter("news/é", "n > 0"), feed={"B", "Δ", "δ_replace(url)"})
    wf.output(pages.map("bases", lambda df: df), feed={"B"})
    return Lake(spark, tmp_path_factory.mktemp("home"), wf)


def as_news(stored: Stored) -> Stored:
    """A block of the source as one of the output, which is a copy of it here."""
    b = stored.block
    return Stored(Block("news/é", b.kind, b.target, b.source, b.rows, b.relaxed, b.id), stored.content)


@pytest.fixture(scope="module")
def blocks(lake: Lake) -> list[Stored]:
    return [
        as_news(lake.arrive("pages", [("a", 1), ("b", 2)], 1, kind="base")),
        as_news(lake.arrive("pages", [("c", 3)], 2, 1)),
        as_news(lake.arrive("pages", [("a", 1, -1), ("a", 9, 1)], 3, 2, "delta")),
        as_news(lake.arrive("pages", [("b", None, True), ("d", 4, False)], 4, 3, "replace")),
    ]


def test_a_consumer_takes_the_blocks_in_order_from_where_it_left_off(lake: Lake, blocks: list[Stored]) -> None:
    feed = Feed(lake.store, "news/é")
    assert feed.last(lake.session) == 0
    assert list(feed.after(lake.session)) == []
    for number, block in enumerate(blocks, 1):
        fed = feed.deliver(lake.session, block, T(number), number, new_attempt())
        assert (fed.number, fed.stored) == (number, block)
    assert feed.last(lake.session) == 4

    found = list(Feed(lake.store, "news/é").after(lake.session))
    assert [f.number for f in found] == [1, 2, 3, 4]
    assert [f.stored for f in found] == blocks
    assert [f.stored.block.kind for f in found] == [BASE, MONOTONE, DELTA, weak("replace(url)")]
    assert [f.content for f in found] == [T(1), T(2), T(3), T(4)]
    assert [f.number for f in feed.after(lake.session, 2)] == [3, 4]
    assert list(feed.after(lake.session, 4)) == []

    rows = [bag_of(feed.rows(lake.session, f)) for f in found]
    assert rows == [
        bag(("a", 1), ("b", 2)),
        {("c", 3): 1},
        {("a", 1): -1, ("a", 9): 1},
        bag(("b", None, True), ("d", 4, False)),
    ]


def test_a_block_of_another_kind_is_refused(lake: Lake, blocks: list[Stored]) -> None:
    feed = Feed(lake.store, "bases")
    with pytest.raises(StoreError, match="is none of what its feed accepts: B; convert it"):
        feed.deliver(lake.session, blocks[1], T(1), 1, new_attempt())
    assert feed.last(lake.session) == 0


def test_of_two_that_deliver_the_same_number_one_does(lake: Lake, blocks: list[Stored]) -> None:
    feed = Feed(lake.store, "bases")
    bases = [Stored(Block("bases", BASE, T(t), id=f"b{t}"), blocks[0].content) for t in (1, 2)]
    attempts = [new_attempt(), new_attempt()]
    ends = at_once(
        lake.session,
        *[
            lambda own, b=b, a=a: feed.deliver(own, b, b.block.target, 1, a)
            for b, a in zip(bases, attempts, strict=True)
        ],
    )
    lost = next(i for i, end in enumerate(ends) if isinstance(end, Exception))
    assert isinstance(ends[lost], StoreError), ends
    assert f"number 1 of olston:w:bases was committed by {attempts[1 - lost]}, so attempt {attempts[lost]}" in str(
        ends[lost]
    )
    (fed,) = feed.after(lake.session)
    assert fed.stored.block.id == bases[1 - lost].block.id
    with pytest.raises(StoreError, match="committed number 1 of olston:w:bases already"):
        feed.deliver(lake.session, bases[1 - lost], T(9), 1, attempts[1 - lost])
    assert feed.last(lake.session) == 1


def test_what_changes_only_where_nobody_sees_it_is_not_said(spark: SparkSession, tmp_path: Path) -> None:
    """A sum keeps how many values it has, beside the sum."""
    wf = ol.Workflow("w")
    sums = wf.source("sales", "url string, n int").aggregate("sums", by="url", total=ol.sum("n"))
    wf.output(sums, feed={"Δ"})
    wf.bound_staleness(sums, 0, 0)
    engine = ol.Engine(wf, str(tmp_path), spark=spark)
    for rows in ([("a", 5), ("b", 1)], [("a", 0), ("b", 1)]):
        engine.ingest("sales", spark.createDataFrame(rows, "url string, n int"))
        engine.refresh()
    feed = engine.feed("sums")
    said = [bag_of(given.rows) for given in feed.after()]
    assert said[-1] == {("b", 1): -1, ("b", 2): 1}
    engine.close()


def test_increments_come_with_the_counts_by_which_groups_end(spark: SparkSession, tmp_path: Path) -> None:
    """Who takes them adds them up; a group of which no row is left, `__rows` 0, is gone, and a sum of no value null."""
    wf = ol.Workflow("w")
    sums = wf.source("sales", "url string, n int").aggregate("sums", by="url", total=ol.sum("n"))
    wf.output(sums, feed={"B", "δ_increment(url)"})
    wf.bound_staleness(sums, 0, 0)
    engine = ol.Engine(wf, str(tmp_path), spark=spark)
    engine.ingest("sales", spark.createDataFrame([("a", 5), ("b", 1)], "url string, n int"))
    engine.refresh()
    changes = [("a", 5, -1), ("b", 0, 1), ("c", 1, 1)]
    engine.ingest("sales", spark.createDataFrame(changes, "url string, n int, _weight int"), kind="delta")
    engine.refresh()
    first, second = engine.feed("sums").after()
    assert (first.block.kind, second.block.kind) == (BASE, weak("increment(url)"))
    told: dict[str, list[int]] = {}
    for given in (first, second):
        for row in given.rows.collect():
            sums_, rows = told.setdefault(row.url, [0, 0])
            told[row.url] = [sums_ + row.total, rows + row["__rows"]]
    assert told == {"a": [0, 0], "b": [1, 2], "c": [1, 1]}
    engine.close()


def test_blocks_that_act_as_one_on_a_base_only_are_not_fed_as_one(spark: SparkSession, tmp_path: Path) -> None:
    """Also if the one before was written and could not be delivered."""
    wf = ol.Workflow("w")
    copy = wf.source("rows", "k int").map("copy", lambda df: df, policy="incremental")
    own = ol.WeakDelta(
        "own",
        from_delta=lambda delta: delta.selectExpr("k", "_weight AS n"),
        to_delta=lambda old, given: given.selectExpr("k", "n AS _weight"),
    )
    wf.weak_delta(copy, own)
    wf.output(copy, feed={own.kind})
    wf.bound_staleness(copy, 0, 0)
    with ol.Engine(wf, str(tmp_path), clock=ol.ManualClock(1_000_000_000), spark=spark) as engine:
        engine.ingest("rows", spark.createDataFrame([(1,)], "k int"))
        engine.refresh()
        engine.ingest("rows", spark.createDataFrame([(2,)], "k int"))
        with (
            mock.patch.object(Feed, "deliver", side_effect=OSError("no room")),
            pytest.raises(OSError, match="no room"),
        ):
            engine.refresh()
        engine.ingest("rows", spark.createDataFrame([(3,)], "k int"))
        engine.refresh()
        fed = [bag_of(given.rows) for given in engine.feed("copy").after()]
    assert sum(fed, bag()) == bag((1, 1), (2, 1), (3, 1))
