"""What the equality was found to be broken by, as the smallest workflow and history that show it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston.block import BASE as B
from tests.equality.catalogue import Rowwise, kept
from tests.equality.handwritten import G, K, V
from tests.equality.laboratory import Laboratory
from tests.equality.shelf import Shelf
from tests.equality.snapshots import APPEND, DELTA, REPLACE, Arrival, Arrivals, Wave
from tests.equality.spec import CASE, Extract, Join, Map, Source, Spec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEMS = Source("items", (CASE, K, V))
EVERYTHING = Rowwise(tuple((c.name, kept(c)) for c in ITEMS.columns))


def arrived(source: Source, *waves: Wave) -> Arrivals:
    """Waves at the stamps 10, 20, …"""
    return Arrivals(tuple(Arrival(10 * i, {source.name: wave}) for i, wave in enumerate(waves, 1)))


@pytest.mark.parametrize("converter", ["c.Bδ_replace(c,k; v)", "c.Δδ_replace(c,k; v)"])
def test_a_deletion_that_brings_back_a_lesser_order_is_no_replacement(spark: SparkSession, converter: str) -> None:
    newest = Extract("out", "items", EVERYTHING, ("c", "k"), "v")
    waves = Wave(APPEND, ((0, 1, 5), (0, 1, 3))), Wave(DELTA, (), ((0, 1, 5),))
    spec = Spec((ITEMS, newest), feeds=True)
    lab = Laboratory(spark, "", spec, arrived(ITEMS, *waves), kept_in=Shelf)
    first = lab.make("items.c.ΔB", lab.block("items", B, 0), lab.block("items", "Δ⁺", 10, after=[0]))
    second = lab.make("items.c.ΔB", first, lab.block("items", "Δ", 20, after=[10]))
    old, new = lab.make("out.batch", first), lab.make("out.batch", second)
    strong = lab.make("out.c.BΔ", old, new)
    with pytest.raises(LookupError):
        lab.make(f"out.{converter}", *((old, new) if "B" in converter else (strong,)))


def test_where_snapshots_mix_a_join_may_hold_a_key_twice(spark: SparkSession) -> None:
    """So a strong delta does not show all rows of a key: one deletion is no tombstone for it."""
    left = Source("left", (CASE, K, V), key=("c", "k"))
    right = Source("right", (CASE, V, G), key=("c", "v"))
    spec = Spec((left, right, Join("out", "left", "right", ("c", "v"))), feeds=True)
    arrivals = Arrivals((
        Arrival(10, {"left": Wave(APPEND, ((0, 1, 1),)), "right": Wave(APPEND, ((0, 2, "a"),))}),
        Arrival(20, {"left": Wave(REPLACE, ((0, 1, 2),))}),
        Arrival(30, {"right": Wave(APPEND, ((0, 1, "b"),))}),
    ))  # fmt: skip
    lab = Laboratory(spark, "", spec, arrivals, kept_in=Shelf)
    left_10 = lab.make("left.c.ΔB", lab.block("left", B, 0), lab.block("left", "Δ⁺", 10, after=[0]))
    left_20 = lab.make("left.c.δ_replace(c,k)B", left_10, lab.block("left", "δ_replace(c,k)", 20, after=[10]))
    right_10 = lab.make("right.c.ΔB", lab.block("right", B, 0), lab.block("right", "Δ⁺", 10, after=[0]))
    right_30 = lab.make("right.c.ΔB", right_10, lab.block("right", "Δ⁺", 30, after=[10]))
    before = lab.make("out.async_batch", left_20, right_10)
    late = lab.make("out.async_right", left_10, lab.block("right", "Δ⁺", 30, after=[10]))
    mixed = lab.make("out.c.ΔB", before, late)
    repaired = lab.make("out.c.BΔ", mixed, lab.make("out.batch", left_20, right_30))
    with pytest.raises(LookupError):
        lab.make("out.c.Δδ_replace(c,k)", repaired)


def test_where_snapshots_mix_provenance_does_not_tell_the_content(spark: SparkSession) -> None:
    """So a delta that fits one base only stays on its channel: elsewhere equal provenance may be other content."""
    left, right = Source("left", (CASE, K, V)), Source("right", (CASE, K, G))
    same = Rowwise(tuple((c.name, kept(c)) for c in (CASE, K, V, G)))
    spec = Spec((left, right, Join("out", "left", "right", ("c", "k")), Map("after", "out", same)), feeds=True)
    arrivals = Arrivals((
        Arrival(10, {"left": Wave(APPEND, ((0, 1, 1),)), "right": Wave(APPEND, ((0, 1, "old"),))}),
        Arrival(20, {"left": Wave(APPEND, ((0, 1, 2),))}),
        Arrival(30, {"right": Wave(DELTA, ((0, 1, "new"),), ((0, 1, "old"),))}),
    ))  # fmt: skip
    lab = Laboratory(spark, "", spec, arrivals, kept_in=Shelf)
    new_left = lab.block("left", "Δ⁺", 20, after=[10])
    left_10 = lab.make("left.c.ΔB", lab.block("left", B, 0), lab.block("left", "Δ⁺", 10, after=[0]))
    left_20 = lab.make("left.c.ΔB", left_10, new_left)
    right_10 = lab.make("right.c.ΔB", lab.block("right", B, 0), lab.block("right", "Δ⁺", 10, after=[0]))
    right_30 = lab.make("right.c.ΔB", right_10, lab.block("right", "Δ", 30, after=[10]))
    old_row_old = lab.make("out.async_batch", left_10, right_10)
    old_row_new = lab.make("out.async_batch", left_10, right_30)
    new_row_old = lab.make("out.async_left", new_left, right_10)
    new_row_new = lab.make("out.async_left", new_left, right_30)
    mixed = lab.make("out.c.ΔB", old_row_old, new_row_new)
    otherwise = lab.make("after.c.ΔB", lab.make("after.batch", old_row_new), lab.make("after.incremental", new_row_old))
    assert mixed.block.target == otherwise.block.target
    repair = lab.make("out.c.BΔ", mixed, lab.make("out.batch", left_20, right_30))
    assert repair.block.obscure
    with pytest.raises(LookupError):
        lab.make("after.incremental", repair)


ROWS = "k int, g string, v int"


@pytest.fixture
def clock() -> ol.ManualClock:
    return ol.ManualClock(1_000_000_000)


def newest(engine: ol.Engine) -> set[tuple[object, ...]]:
    return {tuple(row) for row in engine.read("newest").collect()}


def test_a_row_that_came_and_went_is_not_the_newest(spark: SparkSession, tmp_path: Path, clock: ol.ManualClock) -> None:
    """A netted delta has it with weight 0, like one that is there and arrived again: it is no `Δ⁺`."""
    wf = ol.Workflow("w")
    kept = wf.source("rows", ROWS).filter("kept", "v >= 0", policy="incremental", keep=True)
    wf.output(kept, feed={"B", "Δ"})
    wf.output(kept.extract("newest", lambda rows: rows, key="g", policy="incremental"))
    for output in wf.outputs:
        wf.bound_staleness(output, 0, 0)
    with ol.Engine(wf, str(tmp_path), clock=clock, spark=spark) as engine:
        engine.ingest("rows", spark.createDataFrame([(1, "a", 0), (2, "b", 1)], ROWS), "base")
        engine.refresh()
        clock.advance("1 hour")
        for weight in (1, -1):
            engine.ingest("rows", spark.createDataFrame([(9, "a", 9, weight)], f"{ROWS}, _weight int"), "delta")
        engine.refresh("kept")
        engine.refresh()
        assert newest(engine) == {(1, "a", 0), (2, "b", 1)}


def test_a_row_that_went_and_came_back_is_the_newest(
    spark: SparkSession, tmp_path: Path, clock: ol.ManualClock
) -> None:
    """A netted chain of strong deltas, as replacements, would forget it."""
    wf = ol.Workflow("w")
    kept = wf.source("rows", ROWS, key="k").filter("kept", "v >= 0", policy="incremental")
    wf.output(kept.extract("newest", lambda rows: rows, key="g", policy="full"))
    wf.bound_staleness("newest", 0, 0)
    with ol.Engine(wf, str(tmp_path), clock=clock, spark=spark) as engine:
        engine.ingest("rows", spark.createDataFrame([(1, "a", 0), (2, "b", 1)], ROWS), "base")
        engine.refresh()
        clock.advance("1 hour")
        engine.ingest("rows", spark.createDataFrame([(5, "c", 1)], ROWS), "replace")
        for changes in ([(1, "a", 0, -1), (3, "a", 9, 1)], [(1, "a", 0, 1)]):
            engine.ingest("rows", spark.createDataFrame(changes, f"{ROWS}, _weight int"), "delta")
        engine.refresh()
        assert newest(engine) == {(1, "a", 0), (2, "b", 1), (5, "c", 1)}
        engine.refresh("newest", full=True)
        assert newest(engine) == {(1, "a", 0), (2, "b", 1), (5, "c", 1)}


def test_a_key_that_a_map_gives_other_values_is_found_again_when_its_row_goes(
    spark: SparkSession, tmp_path: Path, clock: ol.ManualClock
) -> None:
    """A tombstone has the key as it was before the map, so replacements cannot cross it."""
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string, v int", key="url")
    wf.output(pages.map("great", lambda df: df.selectExpr("upper(url) AS url", "v"), key="url", policy="incremental"))
    wf.bound_staleness("great", 0, 0)
    with ol.Engine(wf, str(tmp_path), clock=clock, spark=spark) as engine:
        engine.ingest("pages", spark.createDataFrame([("a", 1), ("b", 2)], "url string, v int"))
        engine.refresh()
        clock.advance("1 hour")
        engine.ingest("pages", spark.createDataFrame([("a", None, True)], "url string, v int, _deleted boolean"))
        engine.refresh()
        assert {tuple(row) for row in engine.read("great").collect()} == {("B", 2)}


def test_keys_that_a_partitioned_table_does_not_tell_apart_keep_their_rows(
    spark: SparkSession, tmp_path: Path, clock: ol.ManualClock
) -> None:
    """Delta keeps an empty text in a partition column as null, so what replaces the one must not delete the other."""
    columns = "g string, v int"
    spark.sql("CREATE DATABASE IF NOT EXISTS blurred")
    try:
        spark.sql(f"CREATE TABLE blurred.kept ({columns}) USING delta PARTITIONED BY (g)")
        wf = ol.Workflow("w")
        kept = wf.source("rows", columns, key="g").filter("kept", "v > 0", policy="incremental")
        wf.output(kept, table="blurred.kept")
        wf.bound_staleness("kept", 0, 0)
        with ol.Engine(wf, str(tmp_path), clock=clock, spark=spark) as engine:
            engine.ingest("rows", spark.createDataFrame([("", 1), (None, 2), ("a", 3), ("b", 4)], columns), "base")
            engine.refresh()
            clock.advance("1 hour")
            engine.ingest("rows", spark.createDataFrame([("", 5)], columns), "replace")
            engine.refresh()
            found = [tuple(row) for row in engine.read("kept").collect()]
        assert sorted(found, key=str) == sorted([(None, 5), (None, 2), ("a", 3), ("b", 4)], key=str)
    finally:
        spark.sql("DROP DATABASE blurred CASCADE")
