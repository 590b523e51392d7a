"""Published tables: plain Delta tables, each delivery one numbered commit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston import table
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, Block, Kind, weak
from olston.content import LITTLE
from olston.errors import BlockError, StepError, StoreError
from olston.operators import bag as bags
from olston.operators.columns import DELETED, WEIGHT
from olston.operators.operand import Operand
from olston.provenance import Provenance
from olston.published import Delivery, Published
from olston.scheduler.ways import CHANGING, Way
from tests.lake import Lake, at_once, bag, bag_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at
REPLACE = weak("replace(url)")


def workflow() -> ol.Workflow:
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string, n int, `a.b` string")
    keyed = wf.source("keyed", "url string, n int, `a.b` string", key="url")
    wf.output(pages.map("plain", lambda df: df))
    wf.output(keyed.filter("by/key", "n >= 0"))
    wf.output(pages.map("named", lambda df: df), table="shop.named", cluster_by=["url"])
    wf.output(pages.map("clustered", lambda df: df), cluster_by=["a.b", "n"])
    wf.output(pages.distinct("once"))
    wf.output(pages.aggregate("counts", by="url", n=ol.count()))
    wf.output(pages.map("raced", lambda df: df))
    wf.output(pages.map("timed", lambda df: df))
    wf.output(pages.map("other", lambda df: df))
    wf.output(pages.map("tidied", lambda df: df))
    wf.output(pages.map("failing", lambda df: df))
    return wf


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    return Lake(spark, f"{tmp_path_factory.mktemp('home')}/ü w", workflow())


class Consumer:
    """The table of one output, and what is delivered to it."""

    def __init__(self, lake: Lake, output: str) -> None:
        self.lake, self.output, self.table = lake, output, Published(lake.store, output)

    def block(self, kind: Kind, number: int) -> Block:
        source = None if kind == BASE else T(number - 1)
        return Block(self.output, kind, T(number), source, id=f"block {number}")

    def operand(self, kind: Kind, rows: Mapping[tuple[Any, ...], int] | list[tuple[Any, ...]]) -> Operand:
        if isinstance(rows, Mapping):
            given = [(*row, weight) for row, weight in rows.items()]
            frame = self.lake.frame(self.output, given, f"{WEIGHT} bigint")
        else:
            frame = self.lake.frame(self.output, rows, "" if kind == BASE else f"{DELETED} boolean")
        return Operand(frame, kind, 1000, f"{self.output}: {kind}, made by test.step")

    def deliver(
        self,
        kind: Kind,
        rows: Any,
        number: int,
        *,
        attempt: str | None = None,
        own: Any = None,
        ways: tuple[Way, ...] = CHANGING,
    ) -> Delivery:
        session = own or self.lake.session
        given, held = self.operand(kind, rows), self.table.held(session)
        return self.table.deliver(
            session, self.block(kind, number), given, T(number), number, attempt or new_attempt(),
            ways=ways, held=held.held if held else 0,
        )  # fmt: skip

    def rows(self) -> Any:
        return bag_of(self.table.read(self.lake.session))

    def number(self) -> int:
        held = self.table.held(self.lake.session)
        return held.number if held else 0

    def last_operation(self) -> str:
        """What the log calls the newest commit."""
        log = Path(str(self.table.path(self.lake.session)), "_delta_log")
        newest = max(log.glob("*.json"))
        actions = map(json.loads, newest.read_text().splitlines())
        return next(str(a["commitInfo"]["operation"]) for a in actions if "commitInfo" in a)


@pytest.fixture(params=[0, LITTLE], ids=["looked up", "counted as one"])
def rewriting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to find what is left of a table that is written anew."""
    monkeypatch.setattr("olston.content.LITTLE", request.param)
    return f"rewriting {request.param}"


def test_before_the_first_delivery_nothing_is_held(lake: Lake) -> None:
    for output in ("other", "named"):
        consumer = Consumer(lake, output)
        assert consumer.table.held(lake.session) is None
        with pytest.raises(StoreError, match=f"{output}: nothing was delivered yet; refresh it"):
            consumer.rows()
    assert not lake.session.catalog.tableExists("shop.named"), "asking makes no table"


def test_a_table_without_a_key_is_filled_appended_to_changed_and_replaced(lake: Lake, rewriting: str) -> None:
    consumer = Consumer(Lake(lake.session, f"{lake.store.home}/{rewriting}", lake.store.workflow), "plain")
    first = consumer.deliver(BASE, [("a", 1, None), ("a", 1, None), (None, None, "x")], 1)
    assert (first.number, first.version, first.content, first.block) == (1, 0, T(1), "block 1")
    assert consumer.table.held(lake.session) == first
    assert consumer.rows() == bag(("a", 1, None), ("a", 1, None), (None, None, "x"))

    consumer.deliver("Δ⁺", {("b", 2, None): 2}, 2)
    assert consumer.rows() == bag(("a", 1, None), ("a", 1, None), (None, None, "x"), ("b", 2, None), ("b", 2, None))
    files = lake.session.read.format("delta").load(str(consumer.table.path(lake.session))).inputFiles()
    assert len(files) >= 2, "nothing was written anew"

    changed = consumer.deliver(DELTA, {("a", 1, None): -1, (None, None, "x"): -1, ("c", 3, None): 1}, 3)
    held = bag(("a", 1, None), ("b", 2, None), ("b", 2, None), ("c", 3, None))
    assert consumer.rows() == held
    assert consumer.table.held(lake.session) == changed

    with pytest.raises(BlockError) as raised:
        consumer.deliver(DELTA, {("a", 1, None): -2, ("d", 4, None): 1}, 4)
    assert raised.value.code == bags.MISSING
    assert "plain: delivery 4" in str(raised.value)
    assert "plain: Δ, made by test.step deletes a row that is not there: {a, 1, null}" in str(raised.value)
    assert consumer.rows() == held
    assert consumer.table.held(lake.session) == changed

    consumer.deliver(BASE, [("z", 9, "y")], 4)
    assert consumer.rows() == bag(("z", 9, "y"))
    assert bag_of(consumer.table.read(lake.session, changed.version)) == held, "what was held can still be asked for"


def test_a_table_with_a_key_is_changed_in_place(lake: Lake) -> None:
    consumer = Consumer(lake, "by/key")
    consumer.deliver(BASE, [("a", 1, "x"), ("b", 2, None), (None, 3, "z"), ("d", 4, "w")], 1)
    consumer.deliver(DELTA, {("a", 1, "x"): -1, ("a", 9, None): 1, (None, 3, "z"): -1}, 2)
    assert consumer.last_operation() == "MERGE"
    held = bag(("a", 9, None), ("b", 2, None), ("d", 4, "w"))
    assert consumer.rows() == held

    consumer.deliver(DELTA, {}, 3)
    assert consumer.rows() == held
    assert consumer.number() == 3, "a delta without rows is a delivery too"

    with pytest.raises(BlockError, match=r"made by test\.step deletes a row that is not there: .*'b'") as raised:
        consumer.deliver(DELTA, {("b", 7, None): -1, ("b", 8, None): 1}, 4)
    assert raised.value.code == bags.MISSING
    assert consumer.rows() == held

    consumer.deliver(REPLACE, [("b", 5, "v", False), ("d", None, None, True)], 4)
    assert consumer.last_operation() == "MERGE"
    assert consumer.rows() == bag(("a", 9, None), ("b", 5, "v"))

    made = consumer.deliver(REPLACE, [("b", 6, "v", False), (None, 1, "n", False), ("q", None, None, True)], 5)
    assert (made.way, made.allows, made.held) == ("upsert", "upsert", 3), "a key is new"
    assert consumer.last_operation() == "MERGE"
    assert consumer.rows() == bag(("a", 9, None), ("b", 6, "v"), (None, 1, "n"))


@pytest.mark.parametrize("way", [pytest.param("merge", marks=pytest.mark.long), "upsert", "rewrite"])
def test_each_way_gives_the_same_table(lake: Lake, spark: SparkSession, way: Way) -> None:
    wf = ol.Workflow("w")
    # `there` is what a MERGE might call something of its own
    wf.output(wf.source("s", "url string, there int, `a.b` string", key="url").map("o", lambda df: df, key="url"))
    consumer = Consumer(Lake(spark, f"{lake.store.home}/{way}", wf), "o")
    consumer.deliver(BASE, [("a", 1, "x"), ("b", 2, None), (None, 3, "z"), ("d", 4, "w")], 1)
    changes = {("a", 1, "x"): -1, ("a", 9, None): 1, (None, 3, "z"): -1}
    made = consumer.deliver(DELTA, changes, 2, ways=(way,))
    assert (made.way, made.held) == (way, 3)
    assert consumer.rows() == bag(("a", 9, None), ("b", 2, None), ("d", 4, "w"))
    new = {("d", 4, "w"): -1, ("d", None, "w"): 1, ("e'\\`", 5, "e"): 1, (None, None, None): 1}
    made = consumer.deliver(DELTA, new, 3, ways=(way, "rewrite"))
    assert made.way == ("rewrite" if way == "merge" else way), "a MERGE without insertions does not do"
    assert made.allows == (None if way == "rewrite" else "upsert"), "who rewrites does not look"
    assert made.held == 5
    assert consumer.rows() == bag(
        ("a", 9, None), ("b", 2, None), ("d", None, "w"), ("e'\\`", 5, "e"), (None, None, None)
    )
    made = consumer.deliver("Δ⁺", {("f", 6, "f"): 1}, 4, ways=(way,))
    assert (made.way, made.held, made.rows) == ("append", 6, 1)
    with pytest.raises(BlockError, match="deletes a row that is not there"):
        consumer.deliver(DELTA, {("f", 7, "f"): -1, ("f", 8, "f"): 1}, 5, ways=(way,))


def test_of_a_partitioned_table_only_what_is_touched_is_written_anew(
    lake: Lake, spark: SparkSession, rewriting: str
) -> None:
    wf = ol.Workflow("w")
    rows = wf.source("s", "day date, `a.b` string, n int").map("parted", lambda df: df)
    wf.output(rows, table="shop.parted")
    consumer = Consumer(Lake(spark, f"{lake.store.home}/{rewriting}/parted", wf), "parted")
    spark.sql("CREATE TABLE shop.parted (day date, `a.b` string, n int) USING delta PARTITIONED BY (DAY, `a.b`)")
    first, other = date(2024, 1, 1), date(2024, 1, 2)
    held = [(first, "it's \\ `x`", 1), (first, "it's \\ `x`", 1), (first, None, 2), (other, "y", 3), (None, "y", 4)]
    consumer.deliver(BASE, held, 1)
    files = set(spark.table("shop.parted").where("n = 3").inputFiles())
    made = consumer.deliver(DELTA, {(first, "it's \\ `x`", 1): -1, (first, None, 2): -1, (None, "z", 5): 1}, 2)
    assert (made.way, made.held) == ("rewrite", 4)
    assert consumer.rows() == bag((first, "it's \\ `x`", 1), (other, "y", 3), (None, "y", 4), (None, "z", 5))
    assert files == set(spark.table("shop.parted").where("n = 3").inputFiles())
    assert made.rows == 2, "one row stayed in its partition, one is new"
    own = spark.newSession()
    own.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    consumer.deliver(BASE, [(first, "z", 6)], 3, own=own)
    assert consumer.rows() == bag((first, "z", 6)), "whatever the session says of partitions that get no rows"
    consumer.deliver(BASE, [(first, "", 7), (first, "z", 7)], 4)
    assert consumer.rows() == bag((first, None, 7), (first, "z", 7)), "Delta has no empty text in a partition"
    made = consumer.deliver(DELTA, {(first, "", 7): -1, (other, "", 8): 1}, 5)
    assert (made.way, made.held) == ("rewrite", 2)
    assert consumer.rows() == bag((other, None, 8), (first, "z", 7))
    spark.sql("DROP TABLE shop.parted")


@pytest.mark.parametrize("kind", ["timestamp", "binary"])
def test_what_a_partition_does_not_keep_as_it_is_is_refused(lake: Lake, spark: SparkSession, kind: str) -> None:
    """Delta keeps it as text: of the hour that comes twice when clocks are set back, of bytes, others would be read."""
    wf = ol.Workflow("w")
    wf.output(wf.source("s", f"p {kind}, n int").map("kept", lambda df: df), table=f"shop.{kind}s")
    consumer = Consumer(Lake(spark, f"{lake.store.home}/{kind}", wf), "kept")
    spark.sql(f"CREATE TABLE shop.{kind}s (p {kind}, n int) USING delta PARTITIONED BY (p)")
    berlin = spark.newSession()
    berlin.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    once: Any = {"timestamp": datetime(2024, 10, 26, tzinfo=UTC), "binary": b"a"}[kind]
    again: Any = {"timestamp": datetime(2024, 10, 27, 1, 30, tzinfo=UTC), "binary": b"\xff"}[kind]
    consumer.deliver(BASE, [(once, 1), (None, 2)], 1, own=berlin)
    with pytest.raises(StepError, match=r"is partitioned by 'p', where Delta does not keep the value .* as it is"):
        consumer.deliver(DELTA, {(again, 3): 1, (None, 2): -1}, 2, own=berlin)
    assert consumer.number() == 1
    if kind == "timestamp":
        consumer.deliver(DELTA, {(again, 3): 1, (None, 2): -1}, 2)
    spark.sql(f"DROP TABLE shop.{kind}s")


def test_where_a_key_has_several_rows_only_the_deleted_one_goes(
    lake: Lake, spark: SparkSession, rewriting: str
) -> None:
    # a join whose sides reflect different snapshots: b is delivered twice under one key
    wf = ol.Workflow("w")
    wf.output(wf.source("s", "url string, n int, `a.b` string", key="url").map("met", lambda df: df, key="url"))
    consumer = Consumer(Lake(spark, f"{lake.store.home}/{rewriting}/met", wf), "met")
    consumer.deliver(BASE, [("a", 1, "x"), ("b", 2, "x"), ("b", 3, "x")], 1)
    consumer.deliver(DELTA, {("b", 2, "x"): -1, ("b", 9, "y"): 1}, 2)
    assert consumer.rows() == bag(("a", 1, "x"), ("b", 3, "x"), ("b", 9, "y"))
    made = consumer.deliver(REPLACE, [("b", 4, "z", False)], 3)
    assert (made.way, made.allows) == ("rewrite", "rewrite")
    assert consumer.rows() == bag(("a", 1, "x"), ("b", 4, "z"))


def test_a_delta_that_turns_out_to_delete_nothing_is_appended(lake: Lake) -> None:
    consumer = Consumer(lake, "other")
    consumer.deliver(BASE, [("a", 1, None)], 1)
    given = Operand(consumer.operand(DELTA, {("b", 2, None): 1}).rows, "Δ⁺", 1000, "")
    consumer.table.deliver(lake.session, consumer.block(DELTA, 2), given, T(2), 2, new_attempt())
    assert consumer.rows() == bag(("a", 1, None), ("b", 2, None))
    path = consumer.table.path(lake.session)
    assert path is not None
    assert table.read_back(lake.session, path, 1).rows == 1, "only what is new was written"


def test_a_table_in_which_every_row_is_unique(lake: Lake) -> None:
    """Its key is all columns, so whatever changes goes and comes."""
    consumer = Consumer(lake, "once")
    consumer.deliver(BASE, [("a", 1, None), ("b", 2, None), (None, None, None)], 1)
    consumer.deliver(DELTA, {("a", 1, None): -1, (None, None, None): -1}, 2)
    assert consumer.last_operation() == "MERGE"
    consumer.deliver(DELTA, {("b", 2, None): -1, ("b", 3, None): 1}, 3)
    assert consumer.rows() == bag(("b", 3, None))


def test_what_a_table_cannot_apply_is_refused(lake: Lake) -> None:
    """Increments need the hidden counts that a published table does not have."""
    consumer = Consumer(lake, "counts")
    consumer.deliver(BASE, [("a", 1)], 1)
    given = Operand(lake.frame("counts", [("a", 1)]), weak("increment(url)"), 1000, "")
    block = consumer.block(weak("increment(url)"), 2)
    with pytest.raises(StoreError, match=r"counts: δ_increment.url. needs columns that a published table does not"):
        consumer.table.deliver(lake.session, block, given, T(2), 2, new_attempt())


def test_a_table_of_the_catalog_is_clustered_and_stays_so(lake: Lake) -> None:
    consumer = Consumer(lake, "named")
    consumer.deliver(BASE, [("a", 1, None)], 1)
    consumer.deliver("Δ⁺", {("b", 2, None): 1}, 2)
    consumer.deliver(BASE, [("c", 3, None)], 3)
    assert bag_of(lake.session.table("shop.named")) == bag(("c", 3, None))
    assert consumer.number() == 3
    assert clustering(lake, "shop.named") == ["url"]


def clustering(lake: Lake, name: str) -> list[str]:
    (found,) = lake.session.sql(f"DESCRIBE DETAIL {name}").select("clusteringColumns").collect()
    return [c.strip("`") for c in found[0]]


@pytest.mark.parametrize("by", [["a.b"], ["b`c", "n"]])
def test_a_table_that_is_clustered_as_declared_is_not_clustered_again(
    lake: Lake, spark: SparkSession, by: list[str]
) -> None:
    wf = ol.Workflow("w")
    wf.output(wf.source("s", "`b``c` string, `a.b` string, n int").map("o", lambda df: df), cluster_by=by)
    consumer = Consumer(Lake(spark, f"{lake.store.home}/clustered by {len(by)}", wf), "o")
    made = [consumer.deliver(BASE, [("x", "y", n)], n) for n in (1, 2, 3)]
    assert [d.version for d in made] == [1, 2, 3], "one commit makes the table, and each delivery is one"


def test_columns_change_with_the_definition_and_the_table_is_clustered_again(lake: Lake, spark: SparkSession) -> None:
    consumer = Consumer(lake, "clustered")
    consumer.deliver(BASE, [("a", 1, "x")], 1)
    path = consumer.table.path(spark)
    assert clustering(lake, f"delta.`{path}`") == ["a.b", "n"]

    wf = ol.Workflow("w")
    wf.output(wf.source("pages", "url string, n bigint").map("clustered", lambda df: df), cluster_by="n")
    newer = Consumer(Lake(spark, lake.store.home, wf), "clustered")
    newer.deliver(BASE, [("a", 2**40)], 2)
    assert newer.rows() == bag(("a", 2**40))
    newer.deliver("Δ⁺", {("b", 1): 1}, 3)
    assert clustering(lake, f"delta.`{path}`") == ["n"]
    assert newer.number() == 3


def test_a_table_is_clustered_by_columns_of_which_delta_has_no_statistics_by_itself(
    spark: SparkSession, tmp_path: Path
) -> None:
    numbers = [f"c{i} int" for i in range(40)]

    def consumer(columns: list[str], *by: str) -> Consumer:
        wf = ol.Workflow("w")
        wf.output(wf.source("pages", ", ".join(columns)).map("wide", lambda df: df), cluster_by=by)
        return Consumer(Lake(spark, tmp_path, wf), "wide")

    first = consumer(numbers, "c33", "c0")
    first.deliver(BASE, [tuple(range(40))], 1)
    first.deliver("Δ⁺", {tuple(range(1, 41)): 1}, 2)
    place = f"delta.`{first.table.path(spark)}`"
    assert clustering(first.lake, place) == ["c33", "c0"]
    # and a table that is there, with more columns than one in a struct
    nested = [f"s struct<{', '.join(f'f{i}: int' for i in range(30))}>", *numbers]
    second = consumer(nested, "c39")
    second.deliver(BASE, [(None, *range(40))], 3)
    second.deliver("Δ⁺", {(None, *range(1, 41)): 1}, 4)
    assert clustering(first.lake, place) == ["c39"]
    spark.sql(f"OPTIMIZE {place}")
    assert second.rows() == bag((None, *range(40)), (None, *range(1, 41)))


def test_a_table_takes_times_without_a_zone_once_the_definition_has_them(lake: Lake, spark: SparkSession) -> None:
    Consumer(lake, "timed").deliver(BASE, [("a", 1, "x")], 1)
    wf = ol.Workflow("w")
    wf.output(wf.source("pages", "url string, at timestamp_ntz").map("timed", lambda df: df))
    newer = Consumer(Lake(spark, lake.store.home, wf), "timed")
    newer.deliver(BASE, [("a", datetime(2026, 1, 1))], 2)
    newer.deliver("Δ⁺", {("b", datetime(2026, 1, 2)): 1}, 3)
    assert newer.rows() == bag(("a", datetime(2026, 1, 1)), ("b", datetime(2026, 1, 2)))


def test_of_two_schedulers_that_deliver_the_same_number_one_does(lake: Lake) -> None:
    consumer = Consumer(lake, "raced")
    consumer.deliver(BASE, [("a", 0, None)], 1)
    kinds: list[tuple[Kind, Any]] = [("Δ⁺", {("b", 1, None): 1}), (DELTA, {("a", 0, None): -1, ("c", 2, None): 1})]
    ends = at_once(lake.session, *[lambda own, k=k, r=r: consumer.deliver(k, r, 2, own=own) for k, r in kinds])
    lost = next(i for i, end in enumerate(ends) if isinstance(end, Exception))
    assert isinstance(ends[lost], StoreError), ends
    assert ends[lost].code == "NUMBER_TAKEN"
    assert f"was committed by {ends[1 - lost].attempt}" in str(ends[lost])
    assert "look at what the table holds now, and go on from there" in str(ends[lost])
    assert consumer.table.held(lake.session) == ends[1 - lost]
    expected = [bag(("a", 0, None), ("b", 1, None)), bag(("c", 2, None))]
    assert consumer.rows() == expected[1 - lost]

    with pytest.raises(StoreError, match="has committed number 2 of olston:w:raced already, so this one is void"):
        consumer.deliver("Δ⁺", {("x", 1, None): 1}, 2, attempt=ends[1 - lost].attempt)
    assert consumer.rows() == expected[1 - lost]


def test_what_others_do_to_the_table_does_not_blur_what_is_held(lake: Lake) -> None:
    """OPTIMIZE rewrites files, and somebody's own settings make a commit: the deliveries stay numbered."""
    consumer = Consumer(lake, "tidied")
    consumer.deliver(BASE, [("x", 1, None)], 1)
    path = consumer.table.path(lake.session)
    consumer.deliver("Δ⁺", {("y", 1, None): 1}, 2)
    lake.session.sql(f"OPTIMIZE delta.`{path}`")
    lake.session.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('mine' = 'yes')")
    found = consumer.table.held(lake.session)
    assert found is not None
    assert (found.number, found.content) == (2, T(2))
    consumer.deliver("Δ⁺", {("z", 1, None): 1}, 3)
    assert consumer.number() == 3
    found_columns = lake.session.read.format("delta").load(str(path)).columns
    assert found_columns == ["url", "n", "a.b"], "nothing of olston's is there, so that anybody can read it"


def test_a_delivery_that_fails_leaves_the_table_as_it_was(lake: Lake) -> None:
    from pyspark.sql import functions as F

    def broken(x: str) -> int:
        raise ValueError("no such number")

    consumer = Consumer(lake, "failing")
    consumer.deliver(BASE, [("a", 1, None)], 1)
    consumer.deliver("Δ⁺", {("b", 1, None): 1}, 2)
    before, held = consumer.rows(), consumer.table.held(lake.session)
    assert held is not None
    rows = lake.frame("failing", [("a", 1, None)]).withColumn("n", F.udf(lambda x: broken(x), "int")("url"))
    with pytest.raises(
        StepError, match=r"failing: delivery 3, of B at .*, failed: ValueError: no such number"
    ) as raised:
        consumer.table.deliver(lake.session, consumer.block(BASE, 3), Operand(rows), T(3), 3, new_attempt())
    assert raised.value.__cause__ is not None
    assert (consumer.rows(), consumer.table.held(lake.session)) == (before, held)
    assert consumer.deliver("Δ⁺", {("q", 1, None): 1}, 3).number == 3, "the number is still free"
