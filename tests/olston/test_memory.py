"""Little bases that are read again: from files twice, then from memory, with the same rows."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from sqlmodel import select

import olston as ol
from olston import filesystem, memory, session
from olston.catalog.records import StepRecord
from olston.content import LITTLE
from olston.memory import KEPT
from olston.scheduler.outcome import Outcome
from olston.step import Stored
from olston.store import DEEP
from tests.lake import Lake, bag

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    wf = ol.Workflow("w")
    wf.source("rates", "site string, rate int")
    return Lake(spark, tmp_path, wf)


def changed(lake: Lake) -> Stored:
    base = lake.arrive("rates", [("a", 1), ("b", 2)], 1, kind="base")
    return lake.apply(base, lake.arrive("rates", [("a", 1, -1), ("c", 3, 2)], 2, 1, kind="delta"))


def kept(lake: Lake, stored: Stored) -> bool:
    return lake.store.memory.has(stored.block.channel, stored.content)


def test_a_base_is_kept_when_it_is_read_for_the_second_time(lake: Lake) -> None:
    base = changed(lake)
    for before in (False, False, True, True):
        assert kept(lake, base) == before
        assert lake.rows(base) == bag(("b", 2), ("c", 3), ("c", 3))


def test_what_is_kept_needs_no_files_and_is_read_in_any_session(lake: Lake) -> None:
    base = changed(lake)
    for _ in range(2):
        lake.rows(base)
    for part in base.content.parts:
        filesystem.drop(lake.session, lake.store.path(part.table))
    lake.session = session.clone(lake.session)
    assert lake.rows(base) == bag(("b", 2), ("c", 3), ("c", 3))


def test_a_base_that_is_kept_can_meet_itself(lake: Lake) -> None:
    base = changed(lake)
    for _ in range(3):
        first, second = lake.frame_of(base), lake.frame_of(base).withColumnRenamed("rate", "other")
        found = first.join(second, "site").where("rate = other").count()
    assert kept(lake, base)
    assert found == 1 + 4


def test_a_base_that_is_kept_can_meet_itself_by_columns_of_either_side(lake: Lake) -> None:
    base = changed(lake)
    for _ in range(4):
        first, second = lake.frame_of(base), lake.frame_of(base)
        found = first.join(second, (first.rate < second.rate)).count()
        assert found == 2, "b below both of c"


def test_a_value_that_is_no_number_is_found_by_conditions(spark: SparkSession, tmp_path: Path) -> None:
    """Spark orders NaN above all numbers, and leaves it out of the bounds that it notes of what it caches."""
    wf = ol.Workflow("w")
    wf.source("m", "id int, `x.y` double, z float")
    lake, nan = Lake(spark, tmp_path, wf), float("nan")
    base = lake.arrive("m", [(1, 1.0, 1.0), (2, nan, nan)], 1, kind="base")
    for _ in range(4):
        rows = lake.frame_of(base)
        assert rows.columns == ["id", "x.y", "z"]
        for condition in ("`x.y` > 5", "z > 5", "isnan(`x.y`)", "`x.y` = double('NaN')"):
            assert [r["id"] for r in rows.where(condition).collect()] == [2]
    assert kept(lake, base)


def test_a_base_with_a_checkpoint_on_its_way_is_not_kept(spark: SparkSession, tmp_path: Path) -> None:
    """What a checkpoint holds goes with its executor, and would be missed for ever."""
    wf = ol.Workflow("w")
    wf.source("keyed", "k int, v int", key="k")
    lake = Lake(spark, tmp_path, wf)
    base, last = lake.arrive("keyed", [(1, 1), (2, 2)], 1, kind="base"), DEEP + 2
    for stamp in range(2, last + 1):  # one kind after the other, so that none are read together
        change = [(1, stamp - 1, -1), (1, stamp, 1)] if stamp % 2 else [(1, stamp, False)]
        kind = "delta" if stamp % 2 else "replace"
        base = lake.apply(base, lake.arrive("keyed", change, stamp, stamp - 1, kind=kind))
        for _ in range(3):
            assert lake.rows(base) == bag((1, stamp), (2, 2))
        assert kept(lake, base) == (stamp < last)


def test_what_follows_what_was_read_from_memory_is_kept_at_once_and_what_is_kept_for_nothing_ends_that(
    lake: Lake,
) -> None:
    base = changed(lake)
    for _ in range(3):
        lake.rows(base)
    for stamp, keeps in ((3, True), (4, False)):  # of the third nothing was read from memory
        base = lake.apply(base, lake.arrive("rates", [("d", stamp)], stamp, stamp - 1))
        lake.rows(base)
        assert kept(lake, base) == keeps
    lake.rows(base)
    assert kept(lake, base), "read for the second time"


def test_those_read_last_are_kept(lake: Lake) -> None:
    bases = [lake.arrive("rates", [("a", i)], 1, kind="base") for i in range(KEPT + 1)]
    for base in bases:
        for _ in range(2):
            lake.rows(base)
        assert kept(lake, base)
    assert [kept(lake, base) for base in bases] == [False] + [True] * KEPT
    assert lake.rows(bases[0]) == bag(("a", 0))


def held_by_spark(spark: SparkSession) -> int:
    return int(spark._jsparkSession.sharedState().cacheManager().numCachedEntries())


def test_a_base_that_several_threads_read_at_once_is_kept_once(lake: Lake) -> None:
    lake.session.catalog.clearCache()
    base = lake.apply(lake.arrive("rates", [("a", 1)], 1), lake.arrive("rates", [("b", 2)], 2, 1))
    lake.rows(base)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: lake.rows(base), range(12)))
    assert all(rows == bag(("a", 1), ("b", 2)) for rows in found)
    assert held_by_spark(lake.session) == 1
    lake.store.memory.forget()
    assert held_by_spark(lake.session) == 0


def test_what_somebody_else_clears_is_kept_anew(lake: Lake) -> None:
    base = changed(lake)
    for cleared in (False, True, True):
        for _ in range(3):
            lake.rows(base)
        assert kept(lake, base)
        if cleared:
            lake.session.catalog.clearCache()
            assert not kept(lake, base)
            assert lake.rows(base) == bag(("b", 2), ("c", 3), ("c", 3))
            assert kept(lake, base)


def test_a_base_that_is_to_be_computed_is_not_yet_there(lake: Lake) -> None:
    base = changed(lake)
    lake.rows(base)
    lake.frame_of(base)
    assert not kept(lake, base)
    lake.rows(base)
    assert kept(lake, base)


def test_what_turns_out_to_be_large_is_not_kept(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "BYTES", 10)
    lake.session.catalog.clearCache()
    base = changed(lake)
    for _ in range(5):
        assert lake.rows(base) == bag(("b", 2), ("c", 3), ("c", 3))
    assert not kept(lake, base)
    assert held_by_spark(lake.session) == 0


def test_of_more_little_bases_than_are_kept_some_stay_and_the_others_do_not_take_turns(
    spark: SparkSession, tmp_path: Path
) -> None:
    wf = ol.Workflow("w")
    names = [f"rates{i}" for i in range(KEPT + 2)]
    for name in names:
        wf.source(name, "site string, rate int")
    lake = Lake(spark, tmp_path, wf)
    bases = [lake.arrive(name, [("a", 1)], 1, kind="base") for name in names]
    for _ in range(4):
        for base in bases:
            lake.rows(base)
    stay = [kept(lake, base) for base in bases]
    assert stay.count(True) == KEPT
    for base in bases:
        lake.rows(base)
    assert [kept(lake, base) for base in bases] == stay


def test_what_is_kept_goes_with_the_store(spark: SparkSession, tmp_path: Path) -> None:
    spark.catalog.clearCache()
    wf = ol.Workflow("w")
    wf.source("rates", "site string, rate int")
    lake: Lake | None = Lake(spark, tmp_path, wf)
    assert lake is not None
    base = changed(lake)
    for _ in range(3):
        lake.rows(base)
    assert held_by_spark(spark) == 1
    del lake
    until = time.monotonic() + 30
    while held_by_spark(spark) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.1)
    assert held_by_spark(spark) == 0


def test_spark_that_is_gone_is_no_reason_to_fail(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    base = changed(lake)
    for _ in range(3):
        lake.rows(base)
    [one] = lake.store.memory._kept.values()
    monkeypatch.setattr(type(one.rows), "unpersist", mock.Mock(side_effect=ConnectionRefusedError))
    lake.store.memory.forget()
    monkeypatch.undo()
    one.rows.unpersist()


def test_what_is_not_little_is_not_kept(lake: Lake) -> None:
    rows = lake.session.range(LITTLE + 1).selectExpr("'a' AS site", "cast(id AS int) AS rate")
    content = lake.store.write_base("rates", rows, "many", {})
    for _ in range(3):
        lake.store.read(lake.session, "rates", "B", content)
    assert not lake.store.memory.has("rates", content)


def test_an_engine_that_is_closed_leaves_nothing_in_the_memory_of_a_session_that_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.catalog.clearCache()
    memory = spark._jsparkSession.sharedState().cacheManager()
    wf = ol.Workflow("w")
    sales = wf.source("sales", "site string, amount int")
    rates = wf.source("rates", "site string, rate int")
    wf.output(sales.join("priced", rates, on="site"))
    wf.bound_staleness("priced", 0, 0)
    with ol.Engine(wf, home=str(tmp_path / "lake"), spark=spark) as engine:
        engine.ingest("rates", spark.createDataFrame([("a", 2)], "site string, rate int"))
        for i in range(4):
            engine.ingest("sales", spark.createDataFrame([("a", i)], "site string, amount int"))
            engine.refresh()
        assert not memory.isEmpty()
        assert {tuple(r) for r in engine.read("priced").collect()} == {("a", i, 2) for i in range(4)}
    assert memory.isEmpty()


@pytest.mark.spark
def test_an_engine_can_be_closed_after_its_session(tmp_path: Path) -> None:
    """In a process of its own: the session that tests share goes on."""
    code = """
import sys, olston as ol
from olston import session
spark = session.start()
wf = ol.Workflow("w")
rates = wf.source("rates", "site string, rate int")
wf.output(wf.source("sales", "site string").join("priced", rates, on="site"))
wf.bound_staleness("priced", 0, 0)
engine = ol.Engine(wf, home=sys.argv[1], spark=spark)
engine.ingest("rates", spark.createDataFrame([("a", 2)], "site string, rate int"))
for _ in range(3):
    engine.ingest("sales", spark.createDataFrame([("a",)], "site string"))
    engine.refresh()
assert engine.store.memory._kept
spark._jsc.sc().stop()
engine.close()
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lake")], check=True, timeout=300)


def test_what_is_read_from_memory_resolves_no_overlay_and_so_gives_no_reason_to_fold(
    spark: SparkSession, tmp_path: Path
) -> None:
    wf = ol.Workflow("w")
    sales = wf.source("sales", "site string, amount int")
    counts = wf.source("visits", "site string").aggregate("counts", by="site", n=ol.count())
    wf.output(sales.join("priced", counts, on="site"))
    wf.bound_staleness("priced", 0, 0)
    wf.bound_staleness("priced", 1, 0)
    with ol.Engine(wf, home=str(tmp_path / "lake"), spark=spark) as engine:

        def overlaid() -> float:
            """What the last step resolved of overlays."""
            with engine._catalog.look() as db:
                last = max(db.exec(select(StepRecord)), key=lambda s: s.attempt)
            return sum(overlay for o in last.outcomes for _, overlay in Outcome.from_dict(o).overlaid)

        for visited in (["a", "b"], ["a"]):
            engine.ingest("visits", spark.createDataFrame([(v,) for v in visited], "site string"))
            engine.refresh()
        found = []
        for i in range(4):
            engine.ingest("sales", spark.createDataFrame([("a", i)], "site string, amount int"))
            engine.refresh()
            found.append(overlaid() > 0)
        assert {tuple(r) for r in engine.read("priced").collect()} == {("a", i, 2) for i in range(4)}
    assert found[-1] is False
    assert True in found
