"""Lists travel for the sites that changed, and add up to the batch result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from olston.examples.custom_weak_delta.__main__ import tell
from olston.examples.custom_weak_delta.workflow import from_lists, to_lists

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = "site string, rank int, url string"


def test_the_converters_take_an_old_base_to_the_new_one_also_where_a_site_goes(spark: SparkSession) -> None:
    old = spark.createDataFrame([("a", 1, "/x"), ("a", 2, "/y"), ("b", 1, "/z"), ("c", 1, "/w")], COLUMNS)
    new = spark.createDataFrame([("a", 1, "/y"), ("c", 1, "/w"), ("d", 1, "/v")], COLUMNS)
    lists = to_lists(old, new)
    assert {row["site"]: row["urls"] for row in lists.collect()} == {"a": ["/y"], "b": [], "d": ["/v"]}
    assert sorted(from_lists(old, lists).collect()) == sorted(new.collect())


def test_the_cache_gets_the_lists_that_changed_and_holds_the_batch_result(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell(str(tmp_path / "lake"), spark)
    told, errors = capsys.readouterr()
    assert not errors
    assert "delivery 1, δ_toplist: 40 lists" in told
    assert "delivery 2, δ_toplist: 2 lists; site07 is now /new" in told
    assert "delivery 3, δ_toplist: 0 lists" in told
    assert "equals the batch result: 40 sites" in told
