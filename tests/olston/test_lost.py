"""What is gone is known to be gone: a log that is damaged, and not one that could not be looked at just now."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston.errors import StoreError
from olston.lost import gone, places
from olston.step import Stored
from tests.lake import Lake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    wf = ol.Workflow("w")
    wf.source("pages", "url string, n int")
    return Lake(spark, tmp_path, wf)


@pytest.fixture
def waves(lake: Lake) -> list[Stored]:
    return [lake.arrive("pages", [("a", n)], n, n - 1) for n in (1, 2, 3)]


def forget_logs(spark: SparkSession) -> None:
    """As in a process that has not looked at any table yet."""
    assert spark._jvm is not None
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


@contextmanager
def cancelled(spark: SparkSession) -> Iterator[None]:
    """Every job of this thread is cancelled."""
    context = spark.sparkContext
    context.setJobGroup("cancelled", "", interruptOnCancel=True)
    context._jsc.sc().cancelJobGroupAndFutureJobs("cancelled")
    try:
        yield
    finally:
        for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
            context.setLocalProperty(name, None)  # type: ignore[arg-type]


def cut(file: Path) -> None:
    file.write_text(file.read_text()[:50])


def cut_without_checksum(file: Path) -> None:
    cut(file)
    file.with_name(f".{file.name}.crc").unlink()


@pytest.mark.spark
@pytest.mark.parametrize("damage", [Path.unlink, cut, cut_without_checksum])
@pytest.mark.parametrize("version", [0, 1])
def test_nothing_is_there_by_a_damaged_log(
    lake: Lake, waves: list[Stored], damage: Callable[[Path], None], version: int
) -> None:
    wanted = {p for wave in waves for p in places(wave.content)}
    assert gone(lake.store, lake.session, wanted) == set()
    (log,) = Path(lake.store.home).rglob(f"_delta_log/{version:020d}.json")
    damage(log)
    forget_logs(lake.session)
    assert gone(lake.store, lake.session, wanted) == wanted


@pytest.mark.spark
def test_what_cannot_be_looked_at_is_not_taken_for_lost(lake: Lake, waves: list[Stored]) -> None:
    wanted = {p for wave in waves for p in places(wave.content)}
    forget_logs(lake.session)
    with cancelled(lake.session), pytest.raises(StoreError, match=r"pages.*could not be seen.*cancelled"):
        gone(lake.store, lake.session, wanted)
    assert gone(lake.store, lake.session, wanted) == set()
