"""Columns of any name, number and value are data, never errors (DESIGN 5)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

import olston as ol
from olston.operators import bag as bags
from olston.operators.aggregate import BatchAggregate
from olston.operators.columns import is_reserved
from olston.operators.estimate import Work
from olston.provenance import Provenance
from tests.lake import Lake, bag, bag_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at


@pytest.mark.parametrize(("kind", "least"), [("tinyint", -(2**7)), ("smallint", -(2**15)), ("int", -(2**31))])
def test_the_least_integer_of_a_type_can_be_taken_out_of_a_sum(
    spark: SparkSession, tmp_path: Path, kind: str, least: int
) -> None:
    wf = ol.Workflow("w")
    wf.source("s", f"k string, v {kind}").aggregate("sums", by="k", v=ol.sum("v"))
    lake = Lake(spark, tmp_path, wf)
    first = lake.run("sums.batch", [lake.arrive("s", [("a", least), ("a", 5)], 1, kind="base")], T(1))
    gone = lake.arrive("s", [("a", least, -1)], 2, after=1, kind="delta")
    assert lake.rows(lake.apply(first, lake.run("sums.increment", [gone], T(2), T(1)))) == bag(("a", 5))


def test_a_global_aggregate_may_be_named_with_dots_and_backticks(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    odd: dict[str, Any] = {"n.x": ol.count(), "s`u": ol.sum("v"), "a.v": ol.avg("v")}
    wf.source("s", "v int").aggregate("all", by=[], **odd)
    lake = Lake(spark, tmp_path, wf)
    sums = lake.run("all#sums.batch", [lake.nothing("s")], T(0))
    assert lake.rows(lake.run("all.batch", [sums], T(0))) == bag((0, None, None))


def test_rows_may_have_hundreds_of_columns(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    row = [F.lit(i).alias(f"c{i}") for i in range(300)]
    base = spark.range(3).select("id", *row)
    gone = bags.weigh(spark.range(1).select("id", *row), -1)
    # that Spark takes the plan is what is tested: to run it takes a minute of compiling
    applied = bags.apply(base, gone, small=True, label="the delta")
    assert applied.columns == base.columns


def test_sides_of_a_union_may_spell_a_column_differently(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    wf.source("a", "Site string, n int").union("both", wf.source("b", "n bigint, site string"))
    lake = Lake(spark, tmp_path, wf)
    right = lake.arrive("b", [(1, "x")], 1)
    none = Provenance([frozenset()])
    alone = lake.run("both.async_right", [right], none + T(1), none + T(0))
    assert bag_of(lake.frame_of(alone)) == bag(("x", 1))
    assert lake.frame_of(alone).schema["Site"].dataType.simpleString() == "string"


@pytest.mark.parametrize("name", ["_weight", "_Weight", "_DELETED", "_Block", "__x"])
def test_names_that_olston_keeps_are_kept_in_any_case(name: str) -> None:
    assert is_reserved(name)
    assert not is_reserved(name.strip("_"))


def test_no_function_can_tell_the_sign_of_a_zero(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that differ in it are equal, so which of them a base holds would depend on how it was made."""
    wf = ol.Workflow("w")
    source = wf.source("s", "k int, x double, p struct<`a.b`:array<float>>", key="k")
    source.map("texts", lambda rows: rows.selectExpr("k", "cast(x as string) AS x", "cast(p as string) AS p"), key="k")
    lake = Lake(spark, tmp_path, wf)
    first = lake.arrive("s", [(1, 0.0, ([0.0],)), (2, -0.0, ([-0.0, None],)), (3, None, None)], 1, kind="base")
    then = lake.arrive("s", [(1, -0.0, ([-0.0],), False)], 2, after=1, kind="replace")
    strong = lake.run("s.c.δ_replace(k)Δ", [first, then], T(2), T(1))
    changed = lake.run("texts.incremental", [strong], T(2), T(1))
    by_delta = lake.apply(lake.run("texts.batch", [first], T(1)), changed)
    in_full = lake.run("texts.batch", [lake.apply(first, then)], T(2))
    wanted = bag((1, "0.0", "{[0.0]}"), (2, "0.0", "{[0.0, null]}"), (3, None, None))
    assert lake.rows(by_delta) == lake.rows(in_full) == wanted


def test_the_least_bigint_is_taken_out_of_a_sum_by_recomputing_it(spark: SparkSession, tmp_path: Path) -> None:
    """The increment fails, as no bigint is its opposite; the plan made after that does without."""
    wf = ol.Workflow("w")
    wf.output(wf.source("s", "k string, v bigint").aggregate("sums", by="k", v=ol.sum("v")))
    wf.bound_staleness("sums", 0, 0)
    dear = mock.patch.object(BatchAggregate, "estimate", return_value=Work(base=1e9, written=(2.0,)))
    with ol.Engine(wf, home=str(tmp_path), spark=spark) as engine, dear:
        engine.ingest("s", spark.createDataFrame([("a", -(2**63)), ("a", 5), ("b", 7)], "k string, v bigint"))
        engine.refresh()
        steps = []
        for row in (("b", 7, -1), ("a", -(2**63), -1)):
            gone = spark.createDataFrame([row], "k string, v bigint, _weight int")
            engine.ingest("s", gone, kind="delta")
            steps.append({step[0] for step in engine.refresh().steps})
        assert "sums.increment" in steps[0]
        assert "sums.batch" in steps[1]
        assert bag_of(engine.read("sums")) == bag(("a", 5))


@pytest.mark.parametrize("small", [True, False])
def test_a_delta_may_spell_a_column_otherwise_than_its_base(spark: SparkSession, small: bool) -> None:
    base = spark.createDataFrame([("a", 1), ("b", 2)], "Url string, n int")
    delta = spark.createDataFrame([("a", 1, -1), ("c", 3, 1)], "url string, n int, _weight bigint")
    left = bags.apply(base, delta, small=small, label="the delta")
    assert sorted(map(tuple, left.collect())) == [("b", 2), ("c", 3)]


@pytest.mark.parametrize("small", [True, False])
def test_changes_that_cancel_out_leave_a_base_as_it_was(spark: SparkSession, small: bool) -> None:
    base = spark.createDataFrame([("a", None), ("a", None), (None, None)], "state string, step int")
    rows = [("a", None, 1), ("a", None, -1), ("z", 1, -1), ("z", 1, 1), (None, None, 1)]
    delta = spark.createDataFrame(rows, "state string, step int, _weight bigint")
    left = bags.apply(base, delta, small=small, label="the delta")
    assert bag_of(left) == bag(("a", None), ("a", None), (None, None), (None, None))
