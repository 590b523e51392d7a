"""Types that may meet in a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from olston.alike import alike

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ALIKE = [
    ("int", "bigint"),
    ("int", "double"),
    ("smallint", "float"),
    ("float", "double"),
    ("bigint", "decimal(38,0)"),
    ("decimal(10,2)", "decimal(30,10)"),
    ("date", "timestamp"),
    ("date", "timestamp_ntz"),
    ("array<int>", "array<bigint>"),
    ("struct<a: int, b: string>", "struct<a: double, b: string>"),
]
UNLIKE = [
    ("bigint", "double"),
    ("bigint", "float"),
    ("int", "float"),
    ("decimal(10,2)", "double"),
    ("decimal(38,0)", "decimal(38,10)"),
    ("bigint", "decimal(38,20)"),
    ("string", "int"),
    ("date", "string"),
    ("timestamp", "timestamp_ntz"),
    ("array<bigint>", "array<double>"),
    ("struct<a: int, b: bigint>", "struct<a: int, b: double>"),
]


def said(spark: SparkSession, one: str, other: str) -> set[bool]:
    """What is said of both orders; types can be read only where Spark runs."""
    from pyspark.sql.types import StructType

    parsed = StructType.fromDDL(f"one {one}, other {other}")
    assert isinstance(parsed, StructType)
    kinds = [f.dataType for f in parsed.fields]
    return {alike(*kinds), alike(*reversed(kinds))}


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_values_that_spark_compares_without_loss_may_meet(spark: SparkSession, one: str, other: str) -> None:
    assert said(spark, one, other) == {True}


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_values_of_which_several_would_count_as_one_may_not(spark: SparkSession, one: str, other: str) -> None:
    assert said(spark, one, other) == {False}
