"""What the equality was found to be broken by, as the smallest workflow and history that show it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

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
