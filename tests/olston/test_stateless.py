"""DESIGN 5: stateless means `f(a ⊎ b) = f(a) ⊎ f(b)`, with a checker for users' own tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.stateless import check_stateless

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([(k % 3, k % 5) for k in range(20)], "k int, v int")


@pytest.mark.parametrize(
    "function",
    [lambda df: df.selectExpr("k", "v + 1 AS v"), lambda df: df.where("v > 2"), lambda df: df.union(df)],
    ids=["map", "filter", "flat_map"],
)
def test_functions_of_one_row_at_a_time_pass(rows: DataFrame, function: Callable[[Any], Any]) -> None:
    check_stateless(function, rows)


@pytest.mark.parametrize(
    "function",
    [
        lambda df: df.distinct(),
        lambda df: df.groupBy("k").count(),
        lambda df: df.orderBy("v", "k").limit(3),
        lambda df: df.selectExpr("k", "row_number() OVER (PARTITION BY k ORDER BY v) AS n"),
    ],
    ids=["distinct", "count", "limit", "window"],
)
def test_functions_that_look_at_several_rows_are_told_apart(rows: DataFrame, function: Callable[[Any], Any]) -> None:
    with pytest.raises(ol.WorkflowError, match=r"\[NOT_STATELESS\].*fewer at once|more at once"):
        check_stateless(function, rows)
