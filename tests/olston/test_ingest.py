"""Arrivals: what fits becomes a block, and what does not is refused with what was offered and what is declared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston import ingest
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, MONOTONE, weak
from olston.errors import IngestError, UnknownNameError
from olston.provenance import Provenance
from tests.lake import Lake, at_once, bag

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = Provenance.at
DECLARED = "struct<url:string,size:int,tags:array<string>>"


def workflow() -> ol.Workflow:
    wf = ol.Workflow("w")
    wf.source("pages", "url string, size int, tags array<string>").map("sizes", lambda df: df.select("size"))
    wf.source("keyed", "site string, lang string, rank int", key=["site", "lang"])
    wf.source("ordered", "site string, rank int, at bigint", key="site", order="at")
    return wf


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(spark, tmp_path_factory.mktemp("home"), workflow())


def offer(lake: Lake, channel: str, offered: DataFrame, kind: str = "append") -> ingest.Arrived:
    return ingest.write(lake.store, lake.session, channel, offered, kind, new_attempt())


def test_what_is_appended_is_a_monotone_delta_from_the_newest_snapshot(lake: Lake) -> None:
    arrived = lake.arrive("pages", [("a", 1, ["x"]), ("a", 1, ["x"]), (None, None, None)], 20, 10)
    block = arrived.block
    assert (block.kind, block.source, block.target, block.stamp) == (MONOTONE, T(10), T(20), 20)
    assert block.rows == 3
    assert [p.stamp for p in arrived.content.parts] == [20]


def test_a_delta_is_netted_and_may_be_given_in_any_integer_type(lake: Lake) -> None:
    rows = [("a", 1, None, 1), ("a", 1, None, -2), ("b", 1, None, 1), ("b", 1, None, -1), ("c", 1, None, 3)]
    offered = lake.frame("pages", rows, "_weight int")
    arrived = offer(lake, "pages", offered, "delta").at(2, 1)
    assert arrived.block.kind == DELTA
    assert lake.rows(arrived) == {("a", 1, None): -1, ("c", 1, None): 3}


def test_a_base_is_everything_there_is_from_then_on(lake: Lake) -> None:
    arrived = lake.arrive("pages", [("a", 1, [])], 5, 4, "base")
    assert (arrived.block.kind, arrived.block.source, arrived.block.target) == (BASE, None, T(5))
    assert arrived.content.anchor is not None
    assert arrived.content.anchor.stamp == 5


def test_rows_of_a_keyed_source_replace_those_of_their_keys(lake: Lake) -> None:
    without = lake.frame("keyed", [("a", None, 1), ("a", "en", 2)])
    first = offer(lake, "keyed", without, "replace").at(1, 0)
    assert first.block.kind == weak("replace(site,lang)")
    gone = lake.arrive("keyed", [("a", None, None, True), ("b", "en", 3, None)], 2, 1, "replace")
    held = lake.apply(lake.nothing("keyed"), first, gone)
    assert lake.rows(held) == bag(("a", "en", 2), ("b", "en", 3))


def test_a_keyed_source_also_takes_new_rows_deltas_and_bases(lake: Lake) -> None:
    base = lake.arrive("keyed", [("a", "en", 1)], 1, kind="base")
    added = lake.arrive("keyed", [("b", "en", 2)], 2, 1)
    changed = lake.arrive("keyed", [("a", "en", 1, -1), ("a", "en", 5, 1)], 3, 2, "delta")
    assert lake.rows(lake.apply(base, added, changed)) == bag(("a", "en", 5), ("b", "en", 2))


def test_a_late_older_row_loses_also_to_a_row_that_is_gone(lake: Lake) -> None:
    base = lake.arrive("ordered", [("a", 1, 10), ("b", 1, 10)], 1, kind="base")
    gone = lake.arrive("ordered", [("b", None, 20, True), ("a", 3, 30, False)], 2, 1, "replace")
    late = lake.arrive("ordered", [("b", 2, 15, False), ("a", 2, 20, False), ("c", 1, 1, False)], 3, 2, "replace")
    assert lake.rows(lake.apply(base, gone, late)) == bag(("a", 3, 30), ("c", 1, 1))


def test_columns_in_another_order_are_accepted(lake: Lake) -> None:
    offered = lake.frame("pages", [("a", 1, ["x"])]).select("tags", "url", "size")
    assert lake.rows(offer(lake, "pages", offered).at(1, 0)) == bag(("a", 1, ("x",)))


DRIFT = {
    "missing": ("url string, tags array<string>", ["column 'size' is missing"]),
    "extra": (
        "url string, size int, tags array<string>, more double",
        ["column 'more' is not declared"],
    ),
    "retyped": (
        "url string, size bigint, tags array<string>",
        ["column 'size' is bigint and not int"],
    ),
    "retyped within": (
        "url string, size int, tags array<int>",
        ["column 'tags' is array<int> and not array<string>"],
    ),
    "renamed": (
        "URL string, size int, tags array<string>",
        ["column 'url' is missing", "column 'URL' is not declared"],
    ),
    "all at once": (
        "size string, more int",
        ["'url' is missing", "'tags' is missing", "'more' is not declared", "'size' is string and not int"],
    ),
    "a weight in rows to append": (
        "url string, size int, tags array<string>, _weight bigint",
        ["column '_weight' is not declared"],
    ),
}


@pytest.mark.parametrize(("columns", "faults"), DRIFT.values(), ids=DRIFT)
def test_other_columns_are_refused_with_both_schemas(lake: Lake, columns: str, faults: list[str]) -> None:
    offered = lake.session.createDataFrame([], columns)
    with pytest.raises(IngestError) as raised:
        offer(lake, "pages", offered)
    text = str(raised.value)
    assert raised.value.code == "SCHEMA_DRIFT"
    for fault in faults:
        assert fault in text
    assert f"Offered: {offered.schema.simpleString()}. Declared: {DECLARED}." in text
    assert "pages: " in text
    assert "Rename, cast or drop columns of what you offer" in text


def test_what_may_be_null_makes_no_difference(lake: Lake) -> None:
    columns = "url string not null, size int not null, tags array<string> not null"
    offered = lake.session.createDataFrame([("a", 1, ["x"])], columns)
    assert offer(lake, "pages", offered).rows == 1


def test_a_column_that_is_there_twice_is_named(lake: Lake) -> None:
    rows = lake.frame("pages", [])
    with pytest.raises(IngestError, match=r"pages: column 'size' is there more than once\. Offered: .*Declared: "):
        offer(lake, "pages", rows.select("*", rows.size))


def test_a_delta_says_how_often(lake: Lake) -> None:
    with pytest.raises(IngestError, match="a delta says in '_weight' how often each row is added, or deleted"):
        offer(lake, "pages", lake.frame("pages", []), "delta")
    with pytest.raises(IngestError, match="column '_weight' is double and not bigint"):
        offer(lake, "pages", lake.frame("pages", [], "_weight double"), "delta")
    offered = lake.frame("pages", [("a", 1, None, None)], "_weight bigint")
    with pytest.raises(IngestError, match="pages: a row of the delta has no _weight") as raised:
        offer(lake, "pages", offered, "delta")
    assert raised.value.__cause__ is not None
    assert "Nothing of it has arrived" in str(raised.value)
    often = lake.frame("pages", [("a", 1, None, 2**31 - 1), ("b", 1, None, -(2**31))], "_weight bigint")
    with pytest.raises(IngestError, match="pages: a row of the delta has a _weight beyond ±2,147,483,647: -2147483648"):
        offer(lake, "pages", often, "delta")


def test_several_rows_of_one_key_in_a_wave_are_refused_with_the_rows(lake: Lake) -> None:
    for kind, mark, more in (("replace", "_deleted boolean", False), ("delta", "_weight bigint", 1)):
        rows = [("a", None, 1, more), ("a", None, 2, more), ("b", None, 1, more)]
        with pytest.raises(IngestError, match=r"keyed: one wave has several rows of one key \(site, lang\)") as raised:
            offer(lake, "keyed", lake.frame("keyed", rows, mark), kind)
        assert raised.value.code == "REPEATED_KEY"
        assert "{a, null, 1}" in str(raised.value)
        assert "{a, null, 2}" in str(raised.value)
        assert "{b, null, 1}" not in str(raised.value)


def test_the_same_row_twice_is_a_repeated_key_too(lake: Lake) -> None:
    with pytest.raises(IngestError, match="several rows of one key"):
        offer(lake, "keyed", lake.frame("keyed", [("a", "en", 1, 2)], "_weight bigint"), "delta")


def test_only_sources_take_data_and_only_in_known_ways(lake: Lake) -> None:
    rows = lake.frame("pages", [])
    with pytest.raises(IngestError, match="sizes: is made by 'sizes', and data arrives at sources only: pages"):
        offer(lake, "sizes", rows)
    with pytest.raises(UnknownNameError, match="pagse"):
        offer(lake, "pagse", rows)
    with pytest.raises(UnknownNameError, match="did you mean 'append'"):
        offer(lake, "pages", rows, "appends")
    with pytest.raises(IngestError, match=r"pages: rows are replaced by key, and none is declared; say wf.source"):
        offer(lake, "pages", rows, "replace")


def test_what_is_no_dataframe_of_spark_is_refused_with_the_way_to_make_one(lake: Lake) -> None:
    with pytest.raises(IngestError, match=r"was offered a list, and takes a DataFrame of Spark; make one with"):
        ingest.write(lake.store, lake.session, "pages", [("a", 1)], "append", new_attempt())  # type: ignore[arg-type]


def test_data_that_cannot_be_read_does_not_arrive_and_its_error_is_kept(lake: Lake) -> None:
    from pyspark.sql import functions as F

    def broken(x: int) -> int:
        raise ValueError(f"cannot read {x}")

    offered = lake.frame("pages", [("a", 1, None)]).withColumn("size", F.udf(lambda x: broken(x), "int")("size"))
    with pytest.raises(IngestError, match="pages: what was offered could not be read and written: ValueError: cannot"):
        offer(lake, "pages", offered)


def test_one_session_may_offer_from_several_threads(lake: Lake) -> None:
    """All of them read `lake.session`, and each writes in a session of its own."""
    offers = [lake.frame("pages", [(f"p{i}", i, None)]) for i in range(3)]
    made = at_once(
        lake.session,
        *[lambda own, o=o: ingest.write(lake.store, own, "pages", o, "append", new_attempt()) for o in offers],
    )
    for i, arrived in enumerate(made):
        assert lake.rows(arrived.at(1, 0)) == bag((f"p{i}", i, None))
