"""Conditions and aggregates as functions, which need no Spark session where a workflow is declared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import olston as ol

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_conditions_and_aggregates_may_be_functions_of_the_rows(spark: SparkSession, tmp_path: Path) -> None:
    """They see the user's columns, of whole tables, deltas and replacements; text may stand beside."""
    from pyspark.sql import functions as F

    seen: set[tuple[str, ...]] = set()

    def at_least_two(df):  # type: ignore[no-untyped-def]
        seen.add(tuple(df.columns))
        return df.x >= 2

    wf = ol.Workflow("w")
    source = wf.source("a", "id int, x int, y int", key="id")
    high, low = source.filter("c", at_least_two).split({"high": lambda df: "x > 4"}, rest="low")
    best = low.aggregate(
        "best", by="y", x=ol.agg(lambda df: F.max_by("x", "id")), n=ol.agg("count(*)"), top=ol.max(lambda df: df.x * 10)
    )
    sums = low.aggregate("sums", by="y", s=ol.sum(lambda df: df.x * df.y), a=ol.avg(lambda df: df["x"] + 1))
    for channel in (high, best, sums):
        wf.output(channel)
    with ol.Engine(wf, str(tmp_path), spark=spark) as engine:
        engine.ingest("a", spark.createDataFrame([(1, 1, 7), (2, 2, 7), (3, 3, 7), (4, 5, 7)], "id int, x int, y int"))
        engine.refresh("high", "best", "sums")
        engine.ingest("a", spark.createDataFrame([(3, 4, 7), (5, 9, 7), (6, 2, 8)], "id int, x int, y int"))
        engine.refresh("high", "best", "sums")
        assert sorted(map(tuple, engine.read("high").collect())) == [(4, 5, 7), (5, 9, 7)]
        assert sorted(map(tuple, engine.read("best").collect())) == [(7, 4, 2, 40), (8, 2, 1, 20)]
        assert sorted(map(tuple, engine.read("sums").collect())) == [(7, 42, 4.0), (8, 16, 3.0)]
    assert seen == {("id", "x", "y")}


def test_a_function_counts_in_the_definition_by_its_code() -> None:
    def digest(condition: object) -> str:
        wf = ol.Workflow("w")
        wf.source("a", "x int").filter("c", condition)
        return ol.definition.digests(wf)["c"]

    assert digest(lambda df: df.x > 1) == digest(lambda df: df.x > 1)
    assert digest(lambda df: df.x > 1) != digest(lambda df: df.x > 2)
