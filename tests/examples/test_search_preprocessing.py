"""The demo, in a small size: what it tells is true, and ends at the batch result."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from olston.examples.search_preprocessing.demo import tell
from olston.examples.search_preprocessing.recompute import differing
from olston.examples.search_preprocessing.waves import SMALL, rows, waves

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_waves_come_in_order_over_two_weeks() -> None:
    moments = [wave.at for wave in waves(SMALL)]
    assert moments == sorted(set(moments))
    assert timedelta(days=7) < moments[-1] - moments[0] < timedelta(days=14)


def test_a_wave_is_the_same_whenever_it_is_made_and_unlike_the_others(spark: SparkSession) -> None:
    first, second, *_ = (wave for wave in waves(SMALL) if "pages" in wave.rows)
    assert rows(spark, first, "pages", SMALL).collect() == rows(spark, first, "pages", SMALL).collect()
    urls = [row["url"] for wave in (first, second) for row in rows(spark, wave, "pages", SMALL).collect()]
    assert max(Counter(urls).values()) == 1


def test_what_differs_is_counted_with_multiplicity(spark: SparkSession) -> None:
    left = spark.createDataFrame([("a", 1), ("a", 1), ("b", 2)], "x string, y int")
    right = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "y int, x string")
    assert differing(left, left) == 0
    assert differing(left, right) == 2


def test_the_demo_keeps_its_promises_repairs_within_the_week_and_ends_at_the_batch_result(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent = tell(str(tmp_path), spark, SMALL)
    told, errors = capsys.readouterr()
    assert spent.equal
    assert spent.repairs, "no wave was repaired"
    apart = [float(days) for days in re.findall(r"([\d.]+) days apart, 7 allowed", told)]
    assert apart, "no score was older than its page"
    assert max(apart) <= 7
    assert "equals the batch result on the snapshots it names" in told
    assert not errors
    crawls = len([wave for wave in waves(SMALL) if "pages" in wave.rows])
    assert len(spent.refreshing) == len(spent.recomputing) == told.count("output reflects pages of") == crawls
