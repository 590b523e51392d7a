"""Aggregates: count and sum as increments, everything else by the groups touched [3.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from olston.block import BASE, Block, Kind
from olston.operators import bag
from olston.operators.columns import DELETED, View, col, key_columns
from olston.operators.estimate import TASKS, Statistics, Work
from olston.operators.operand import Operand
from olston.operators.replace import tombstones
from olston.operators.signature import BASE_AND_DELTA, BASES, DELTAS, Relaxed, Signature
from olston.operators.states import Aggregation, final, states

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Groups:
    """One row per group of `by`, all columns for `("*",)`; as states that can be incremented, or as final values."""

    by: tuple[str, ...] = ()
    columns: tuple[tuple[str, Aggregation], ...] = ()
    incremented: bool = True

    def of(self, rows: DataFrame) -> DataFrame:
        by = key_columns(self.by, rows.columns)
        if self.incremented:
            return states(rows, by, self.columns)
        return rows.groupBy(*map(col, by)).agg(*final(self.columns))


@dataclass(frozen=True)
class BatchAggregate:
    """Aggregate a whole base.

    B(T) → B(T)
    """

    groups: Groups = Groups()
    name = "batch"
    signature = Signature((BASES,), BASE)
    view = View.PUBLIC

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(base=rows, shuffled=statistics.combined(rows), written=(statistics.distinct(rows),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (self.groups.of(operands[0].rows),)


@dataclass(frozen=True)
class IncrementAggregate:
    """Counts and sums of a delta, to be added to the old ones; a group retires at count 0.

    Δ(T₁ ▷ T₂) → δ_increment(T₁ ▷ T₂). Linear, so it may be applied relaxed where its input may.
    """

    kind: Kind
    groups: Groups = Groups()
    name = "increment"
    view = View.PUBLIC

    @cached_property
    def signature(self) -> Signature:
        return Signature((DELTAS,), self.kind, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work.of_each(operands, statistics.combined(rows), (statistics.distinct(rows),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        delta = operands[0]
        return (self.groups.of(delta.added() if delta.monotone else bag.signed_copies(delta.rows)),)


@dataclass(frozen=True)
class TouchedGroupsAggregate:
    """Aggregate anew the groups that a delta touches, and replace those.

    B(T₁), Δ(T₁ ▷ T₂) → δ_replace(T₁ ▷ T₂). For min, max and user aggregates, which have no increments. There is at
    least one column to group by.
    """

    kind: Kind
    groups: Groups = Groups(incremented=False)
    name = "touched_groups"
    view = View.PUBLIC

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASE_AND_DELTA,), self.kind)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        base, delta = operands[0].rows, operands[1].rows
        groups = statistics.distinct(delta)
        share = min(1.0, groups / max(1.0, statistics.distinct(base)))
        shuffled = min(delta + share * base, TASKS * groups)
        return Work(base=base, delta=delta, shuffled=shuffled, written=(groups,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        from pyspark.sql import functions as F

        base, delta = operands
        by = self.groups.by
        keys = delta.rows.select(*map(col, by)).distinct()
        touched = base.met_by(keys, by, delta.small)
        if delta.monotone:  # every group is left
            return (self.groups.of(bag.union(touched, delta.added())).withColumn(DELETED, F.lit(False)),)
        made = self.groups.of(bag.plus(touched, delta.rows, label=delta.label)).withColumn(DELETED, F.lit(False))
        return (bag.union(made, tombstones(keys, made)),)
