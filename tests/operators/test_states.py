"""Aggregates that follow from their states."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import TYPE_CHECKING

import pytest

from olston.operators.columns import PREFIX
from olston.operators.states import SUM, Aggregation, finished

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("precision", "scale"), [(18, 0), (18, 18), (18, 9), (9, 2), (1, 1), (18, 13)])
def test_an_average_of_decimals_is_rounded_once(spark: SparkSession, precision: int, scale: int) -> None:
    """50 / 1,000,001 is a little less than 0.00005, which is 0.0000 to four digits; it was 0.0001."""
    random, most = Random(f"{precision} {scale}"), 10**precision - 1
    pairs = [(50, 1_000_001), (-50, 1_000_001), (0, 3), (most, 1), (-most * 10**9, 10**9), (1, 2 * 10**4), (-1, 20_000)]
    for _ in range(60):
        n = random.randint(1, 10 ** random.randint(1, 10))
        pairs.append((random.randint(-most, most) * random.choice((1, n)), n))
    rows = [(i, Decimal(total).scaleb(-scale), n) for i, (total, n) in enumerate(pairs)]
    sums = spark.createDataFrame(rows, f"id int, {SUM}m decimal({precision + 10},{scale}), {PREFIX}n_m bigint")
    found = sums.select(*finished(sums, ["id"], [("m", Aggregation("avg", "v"))]))
    assert found.schema["m"].dataType.simpleString() == f"decimal({precision + 4},{scale + 4})"
    for i, mean in found.collect():
        total, n = pairs[i]
        assert mean == half_up(Fraction(total * 10**4, n)).scaleb(-scale - 4), (total, n)


def half_up(number: Fraction) -> Decimal:
    whole = int(abs(number) + Fraction(1, 2))
    return Decimal(whole if number >= 0 else -whole)
