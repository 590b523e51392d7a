"""Joins, inner and left [2.3, 3.2]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from olston.block import BASE, DELTA, MONOTONE, Block, Kind
from olston.operators import bag, unmatched
from olston.operators.columns import DELETED, PREFIX, WEIGHT, View, col, conjunction, few, quoted
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.operator import Operator
from olston.operators.replace import tombstones
from olston.operators.signature import BASE_AND_DELTA, BASES, DELTAS, Reads, Relaxed, Signature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class BatchJoin:
    """Join two bases that reflect one moment.

    B(T₁); B(T₂) → B(T₁ ⊕ T₂), T₁ ⊕ T₂ consistent
    """

    on: tuple[str, ...] = ()
    how: str = "inner"
    name = "batch"
    view = View.PUBLIC
    signature = Signature((BASES, BASES), BASE, sync=True)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, right = operands[0].rows, operands[1].rows
        return Work(base=left + right, shuffled=left + right, written=(statistics.out(left),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, right = operands
        few_left = few(left.rows, left.small and self.how == "inner")
        return (few_left.join(few(right.rows, right.small), on=list(self.on), how=self.how),)


@dataclass(frozen=True)
class AsyncBatchJoin(BatchJoin):
    """Join two bases, whatever moments they reflect.

    B(T₁); B(T₂) → B(T₁ ⊕ T₂). Missing in the paper's figures; without it a weekly repair can be blocked for ever.
    """

    name = "async_batch"
    signature = Signature((BASES, BASES), BASE)


@dataclass(frozen=True)
class IncrementalJoin:
    """Join new rows on each side with everything on the other.

    B(T₁), Δ(T₁ ▷ T₂); B(T₃), Δ(T₃ ▷ T₄) → Δ(T₁ ⊕ T₃ ▷ T₂ ⊕ T₄), both ends consistent
    """

    on: tuple[str, ...] = ()
    name = "incremental"
    view = View.PUBLIC
    signature = Signature(
        (BASE_AND_DELTA, BASE_AND_DELTA), DELTA, sync=True, monotone=True, relaxed=Relaxed.IF_MONOTONE
    )

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, new_left, right, new_right = (b.rows for b in operands)
        written = statistics.out(new_left) + matches(left, new_right, statistics)
        return Work(left + right, new_left + new_right, new_left + new_right, (written,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, new_left, right, new_right = operands
        made = bag.union(
            joined(new_left, right, self.on), joined(left, new_right, self.on), joined(new_left, new_right, self.on)
        )
        return (made if new_left.monotone and new_right.monotone else bag.net(made),)


@dataclass(frozen=True)
class AsyncLeftJoin:
    """Join new rows on the left with whatever the right holds today.

    Rows joined earlier keep the right-hand values they met, so the output drifts; bound the
    drift with `bound_inconsistency` and let `BatchJoin` repair it.

        Δ(T₁ ▷ T₂); B(T₃)  →  Δ(T₁ ⊕ T₃ ▷ T₂ ⊕ T₃)

    With deletions it fits the base it was made for only; also the cheap synchronous way when the right is idle.
    """

    on: tuple[str, ...] = ()
    how: str = "inner"
    name = "async_left"
    view = View.PUBLIC
    signature = Signature((DELTAS, BASES), DELTA, monotone=True, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        new_left, right = operands[0].rows, operands[1].rows
        return Work(right, new_left, new_left, (statistics.out(new_left),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        new_left, right = operands
        made = joined(new_left, right, self.on) if self.how == "inner" else left_joined(new_left, right, self.on)
        return (made if new_left.monotone else bag.net(made),)


@dataclass(frozen=True)
class ReplaceLeftJoin:
    """Join rows that supersede others on the left with whatever the right holds today.

        δ_replace(T₁ ▷ T₂); B(T₃)  →  δ_replace(T₁ ⊕ T₃ ▷ T₂ ⊕ T₃)

    All rows of a key go when it is replaced, whichever right-hand values they met, so it may be applied relaxed.
    """

    kind: Kind
    on: tuple[str, ...] = ()
    how: str = "inner"
    key: tuple[str, ...] = ()
    name = "replace_left"
    view = View.PUBLIC

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((self.kind,)), BASES), self.kind, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return AsyncLeftJoin().estimate(operands, statistics)

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        new_left, right = operands
        join = joined if self.how == "inner" else left_joined
        return (_replacing(new_left, lambda rows: join(rows, right, self.on), self.key),)


@dataclass(frozen=True)
class AsyncRightJoin:
    """Join new rows on the right with whatever the left holds today; mirrors `AsyncLeftJoin`. Inner joins only.

    B(T₁); Δ(T₂ ▷ T₃) → Δ(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃)
    """

    on: tuple[str, ...] = ()
    name = "async_right"
    view = View.PUBLIC
    signature = Signature((BASES, DELTAS), DELTA, monotone=True, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, new_right = operands[0].rows, operands[1].rows
        return Work(left, new_right, new_right, (matches(left, new_right, statistics),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, new_right = operands
        made = joined(left, new_right, self.on)
        return (made if new_right.monotone else bag.net(made),)


@dataclass(frozen=True)
class ReplaceRightJoin:
    """Join rows that supersede others on the right with whatever the left holds; mirrors `ReplaceLeftJoin`.

    B(T₁); δ_replace(T₂ ▷ T₃) → δ_replace(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃)
    """

    kind: Kind
    on: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    name = "replace_right"
    view = View.PUBLIC

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASES, Reads((self.kind,))), self.kind, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return AsyncRightJoin().estimate(operands, statistics)

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, new_right = operands
        return (_replacing(new_right, lambda rows: joined(left, rows, self.on), self.key),)


@dataclass(frozen=True)
class SupersedingRightJoin:
    """Join what changed on the right, where a key has one row, with whatever the left holds; all rows of its key go.

        B(T₁); Δ(T₂ ▷ T₃)  →  δ_replace(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃)

    What it comes to is `ReplaceRightJoin` of the change as a replacement, which nobody else need read. Of the rows that
    go nothing is read, as `AsyncRightJoin` has to.
    """

    kind: Kind
    on: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    name = "supersede_right"
    view = View.PUBLIC

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASES, DELTAS), self.kind, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return AsyncRightJoin().estimate(operands, statistics)

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, new_right = operands
        given = Operand(self.given(new_right), self.kind, new_right.size, new_right.label)
        return (_replacing(given, lambda rows: joined(left, rows, self.on), self.key),)

    def given(self, new_right: Operand) -> DataFrame:
        """What changed as a replacement: the rows that come, and those that go, which say that their keys are given.

        Null is equal to nothing, so no row has it as its key.
        """
        met = new_right.rows.where(conjunction(f"{quoted(c)} IS NOT NULL" for c in self.key))
        return bag.net(met).withColumn(DELETED, col(WEIGHT) < 0).drop(WEIGHT)


@dataclass(frozen=True)
class TouchedKeysJoin:
    """Join anew the left rows whose key changed on the right; for left joins, where a match may come or go.

    B(T₁); B(T₂), Δ(T₂ ▷ T₃) → Δ(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃). It fits the base it was made for only.
    """

    on: tuple[str, ...] = ()
    name = "async_right"
    view = View.PUBLIC
    signature = Signature((BASES, BASE_AND_DELTA), DELTA)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, right, new_right = (b.rows for b in operands)
        return Work(left + right, new_right, new_right, (2 * matches(left, new_right, statistics),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, right, new_right = operands
        return (bag.net(joined(left, unmatched.with_unmatched(right, new_right, self.on), self.on)),)


@dataclass(frozen=True)
class IncrementalLeftJoin(IncrementalJoin):
    """`IncrementalJoin` for left joins: a new match on the right deletes the row without one.

    B(T₁), Δ(T₁ ▷ T₂); B(T₃), Δ(T₃ ▷ T₄) → Δ(T₁ ⊕ T₃ ▷ T₂ ⊕ T₄), both ends consistent
    """

    signature = Signature((BASE_AND_DELTA, BASE_AND_DELTA), DELTA, sync=True)

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        left, new_left, right, new_right = operands
        changed, now = unmatched.met(right, new_left, new_right, self.on)
        made = bag.union(joined(left, changed, self.on), joined(new_left, now, self.on))
        alone = new_left.rows.where(~unmatched.matchable(self.on))
        return (bag.net(bag.union(made, tombstones(alone, made))),)


def matches(left: float, new_right: float, statistics: Statistics) -> float:
    """Rows that new rows on the right find on the left: an even share of it, twice where all keys changed."""
    if statistics.keys is None:
        return statistics.out(new_right)
    return statistics.out(left) * min(2.0, new_right / statistics.keys)


def keys_at_most(operator: Operator, operands: Sequence[Block]) -> float | None:
    """Rows of the base on the right, as far as a join reads one: so many keys there may be.

    Taken for the number of keys, a new row on the right finds as many on the left as the rows before did on average.
    """
    reads_right = isinstance(operator, BatchJoin | AsyncLeftJoin | ReplaceLeftJoin)
    return operands[1].rows or None if reads_right else None


def joined(left: Operand, right: Operand, on: Sequence[str]) -> DataFrame:
    """The inner join of two operands, of which one at least is a delta; weights multiply."""
    names = [f"{PREFIX}left", f"{PREFIX}right"]
    sides = [
        few(side.rows, side.small).withColumnRenamed(WEIGHT, name)
        if WEIGHT in side.rows.columns
        else _met(side, other, on)
        for side, other, name in zip((left, right), (right, left), names, strict=True)
    ]
    made = sides[0].join(sides[1], on=list(on), how="inner")
    weights = [n for n in names if n in made.columns] or ["1L"]
    # as text, in few words to Spark
    return made.selectExpr(*[quoted(c) for c in made.columns if c not in names], f"{' * '.join(weights)} AS {WEIGHT}")


def _met(base: Operand, delta: Operand, on: Sequence[str]) -> DataFrame:
    """Of a base, what a join needs; what the delta does not meet is left out first only where that saves a scan."""
    if base.among is None or not delta.small:
        return base.rows
    return base.met_by(delta.rows.select(*map(col, on)), on, small=True, sql=True)


def left_joined(left: Operand, right: Operand, on: Sequence[str]) -> DataFrame:
    """The left join of a delta with a base, of which only the rows that it meets are shuffled."""
    keys = left.rows.select(*map(col, on)).distinct()
    met = right.met_by(keys, on, left.small, sql=True)
    made = left.rows.join(met, on=list(on), how="left")
    return made.select(*[col(c) for c in made.columns if c != WEIGHT], col(WEIGHT))


def _replacing(weak: Operand, join: Callable[[Operand], DataFrame], key: Sequence[str]) -> DataFrame:
    """The rows given, joined; every key given is superseded, also where its rows met nothing."""
    from pyspark.sql import functions as F

    rows = bag.weigh(weak.rows.where(f"NOT {DELETED}").drop(DELETED))
    made = join(Operand(rows, MONOTONE, weak.size, weak.label)).drop(WEIGHT).withColumn(DELETED, F.lit(False))
    return bag.union(made, tombstones(weak.rows.select(*map(col, key)).distinct(), made))
