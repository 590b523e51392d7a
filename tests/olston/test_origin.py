"""Where the values of a column come from."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from olston.origin import origins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOUND: dict[str, tuple[Callable[[Any], Any], dict[str, str | None]]] = {
    "all rows as they are": (lambda df: df, {"k": "k", "s": "s", "a": "a"}),
    "some rows": (lambda df: df.where("k > 1").select("k"), {"k": "k"}),
    "renamed and back": (lambda df: df.toDF("x", "y", "z").selectExpr("x AS k"), {"k": "k"}),
    "with others for each": (lambda df: df.selectExpr("k", "explode(a) AS e"), {"k": "k"}),
    "computed": (lambda df: df.selectExpr("k + 1 AS k", "upper(s) AS s"), {"k": None, "s": None}),
    "exchanged": (lambda df: df.selectExpr("s AS k", "k AS s"), {"k": "s", "s": "k"}),
    "of several": (lambda df: df.select("s").union(df.selectExpr("upper(s)")), {}),
    "made by Python": (lambda df: df.mapInPandas(lambda parts: parts, "k int"), {}),
}


@pytest.mark.parametrize(("f", "found"), FOUND.values(), ids=FOUND)
def test_a_plan_tells_which_columns_pass_as_they_are(
    spark: SparkSession, f: Callable[[Any], Any], found: dict[str, str | None]
) -> None:
    given = spark.createDataFrame([], "k int, s string, a array<int>")
    assert origins(f(given), given) == found
