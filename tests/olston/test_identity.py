"""Identity: a home belongs to one catalog, and whoever comes with another is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from tests.pretended import Pretended, arrive, engine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def counting() -> ol.Workflow:
    wf = ol.Workflow("counting")
    wf.output(wf.source("rows", "k string").aggregate("n", by="k", n=ol.count()))
    wf.bound_staleness("n", 0, 0)
    return wf


def opened(tmp_path: Path, catalog: str, spark: SparkSession) -> ol.Engine:
    return ol.Engine(counting(), home=f"{tmp_path}/home", catalog=f"sqlite:///{tmp_path}/{catalog}.db", spark=spark)


def test_two_catalogs_that_begin_with_one_empty_home_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.createDataFrame([("a",)], "k string")
    first, second = opened(tmp_path, "first", spark), opened(tmp_path, "second", spark)
    for made in (first, second):
        made.pause()  # known to its catalog, and nothing is in the home
        made.resume()
    _ = first.store
    with pytest.raises(ol.CatalogError, match=r"CATALOG_LOST.*home of another catalog.*recover\(\)"):
        _ = second.store
    first.ingest("rows", rows)
    first.refresh()
    with pytest.raises(ol.CatalogError, match="CATALOG_LOST"):
        second.ingest("rows", rows)
    assert [tuple(r) for r in first.read("n").collect()] == [("a", 1)]
    first.close()
    second.close()


def test_a_catalog_that_was_rebuilt_is_the_one_and_the_old_one_is_not_any_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([("a",)], "k string")
    with opened(tmp_path, "old", spark) as old:
        old.ingest("rows", rows)
        old.refresh()
    with opened(tmp_path, "new", spark) as new:
        new.recover()
        assert not new.status().outputs[0].due
        new.ingest("rows", rows)
    with opened(tmp_path, "old", spark) as old, pytest.raises(ol.CatalogError, match="CATALOG_LOST"):
        old.status()
    with opened(tmp_path, "new", spark) as new:
        new.refresh()
        assert [tuple(r) for r in new.read("n").collect()] == [("a", 2)]


def test_an_engine_that_is_open_on_the_old_catalog_writes_nothing_once_another_was_rebuilt(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([("a",)], "k string")
    old = opened(tmp_path, "old", spark)
    old.ingest("rows", rows)
    old.refresh()
    with opened(tmp_path, "new", spark) as new:
        new.recover()
        for ask in (lambda: old.ingest("rows", rows), old.refresh, old.status):
            with pytest.raises(ol.CatalogError, match="CATALOG_LOST"):
                ask()
        new.refresh()
        assert [tuple(r) for r in new.read("n").collect()] == [("a", 1)]
    old.close()


def test_a_home_with_nothing_of_what_the_catalog_knows_is_not_taken_for_the_right_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = spark.createDataFrame([("a",)], "k string")
    with opened(tmp_path, "one", spark) as right:
        right.ingest("rows", rows)
        right.refresh()
    url = f"sqlite:///{tmp_path}/one.db"
    with ol.Engine(counting(), home=f"{tmp_path}/hmoe", catalog=url, spark=spark) as wrong:
        for ask in (lambda: wrong.ingest("rows", rows), lambda: wrong.refresh("n", full=True)):
            with pytest.raises(ol.CatalogError, match=r"HOME_EMPTY.*Is that the right home"):
                ask()
    with opened(tmp_path, "one", spark) as right:
        right.ingest("rows", rows)
        right.refresh()
        assert [tuple(r) for r in right.read("n").collect()] == [("a", 2)]


def test_an_older_copy_of_the_catalog_is_noticed_though_nothing_is_due(tmp_path: Path) -> None:
    folder = tmp_path / "home" / "arrivals" / "counting"
    made = engine(counting(), str(tmp_path / "home"), Pretended())
    arrive(made, "rows")
    made.refresh()
    made.close()
    shutil.copy(tmp_path / "home" / "catalog.db", tmp_path / "copy.db")
    made = engine(counting(), str(tmp_path / "home"), Pretended())
    (block,) = arrive(made, "rows")
    made.close()
    folder.mkdir(parents=True)
    (folder / f"{int(block.stamp):020d}.json").write_text("{}")
    shutil.copy(tmp_path / "copy.db", tmp_path / "home" / "catalog.db")
    made = engine(counting(), str(tmp_path / "home"), Pretended())
    questions = (made.history, made.costs, lambda: made.provenance("n"), lambda: made.trace("n", "true"))
    for ask in (made.status, made.plan, made.refresh, *questions):
        with pytest.raises(
            ol.CatalogError, match=r"CATALOG_LOST.*files of arrivals, 1 in number.*recover\(force=True\)"
        ):
            ask()
    made.close()


def test_a_closed_engine_says_so(tmp_path: Path) -> None:
    made = engine(counting(), str(tmp_path / "home"), Pretended())
    made.close()
    with pytest.raises(ol.CatalogError, match="was closed"):
        made.status()
