"""The files of a table, as the end of its log tells them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest

from olston import listing, table
from olston.listing import listed
from olston.transaction import IN_PLACE
from tests.lake import bag, bag_of, jobs
from tests.olston.test_table import SERIES, deliver, held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of more files than a checksum lists, some with rows that were deleted in place."""
    place = tmp_path_factory.mktemp("many") / "t"
    writer = spark.range(0, 120, 1, 60).selectExpr("string(id) AS x").write.format("delta")
    writer.option(IN_PLACE, "true").save(str(place))
    spark.sql(f"DELETE FROM delta.`{place}` WHERE x IN ('0', '1', '4')")  # all of the first file, a row of the third
    deliver(spark, str(place), 1, "one")
    return place


@pytest.fixture
def path(made: Path, tmp_path: Path) -> str:
    shutil.copytree(made, tmp_path / "t")
    return str(tmp_path / "t")


def test_all_files_are_told_as_delta_tells_them(spark: SparkSession, path: str) -> None:
    delta = {Path(unquote(f)).name for f in spark.read.format("delta").load(path).inputFiles()}
    told = listed(spark, path, 2, len(delta))
    assert told is not None
    assert {file["path"] for file in told} == delta
    assert len(told) == len(delta) == 60
    assert [file["deletionVector"]["cardinality"] for file in told if file.get("deletionVector")] == [1]


def test_files_are_told_from_the_newest_checksum_that_lists_them(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path / "t")
    spark.range(0, 98, 1, 49).selectExpr("string(id) AS x").write.format("delta").save(path)
    for number in (1, 2, 3):
        deliver(spark, path, number, f"a{number}")
    monkeypatch.setattr(listing, "FAR", 3)
    told = listed(spark, path, 3, 52)
    assert told is not None
    assert len(told) == 52
    monkeypatch.setattr(listing, "FAR", 2)
    assert listed(spark, path, 3, 52) is None, "it would have to read further back"


def test_nothing_is_told_where_the_log_is_not_whole_or_counts_otherwise(spark: SparkSession, path: str) -> None:
    assert listed(spark, path, 2, 61) is None
    Path(path, f"_delta_log/{1:020d}.json").unlink()
    assert listed(spark, path, 2, 60) is None


def test_a_table_of_many_files_is_overwritten_in_one_job(spark: SparkSession, path: str) -> None:
    spark.read.format("delta").load(path)
    before = jobs(spark)
    deliver(spark, path, 2, "two", "overwrite")
    assert jobs(spark) == before + 1
    assert held(spark, path) == bag(("two",))
    assert table.last_number(spark, path, SERIES) == 2
    assert len(spark.read.format("delta").load(path).inputFiles()) == 1
    assert bag_of(spark.read.format("delta").option("versionAsOf", 0).load(path)) == bag(
        *((str(i),) for i in range(120))
    )
