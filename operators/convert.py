"""Converters between block kinds, on every channel [2.4].

`c^{ΔB}` and `c^{BΔ}` are built in; those of a weak representation come with it. They act just like any
other operator, but read and write the same channel, so declared bounds do not bind on what they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from olston.block import BASE, DELTA, MONOTONE, Block
from olston.operators import bag
from olston.operators.columns import View, col, key_columns
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.signature import Link, Reads, Relaxed, Signature
from olston.operators.weak import WeakDelta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHANGED = 0.1
"""The part of the groups of a channel that is taken to differ between two bases."""


@dataclass(frozen=True)
class Apply:
    """`c^{ΔB}`: B(T₁), Δ(T₂ ▷ T₃) → B((T₁ \\ T₂) ∪ T₃)."""

    name = "c.ΔB"
    view = View.STORED
    signature = Signature((Reads((BASE, DELTA), Link.RELAXED),), BASE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        base, delta = operands
        if delta.kind == MONOTONE:
            return Work.of_each(operands, 0.0, (base.rows + delta.rows,))
        return Work(base.rows, delta.rows, delta.rows, (base.rows + statistics.growth * delta.rows,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        base, delta = operands
        if delta.monotone:
            return (bag.union(base.rows, delta.added()),)
        return (bag.apply(base.rows, delta.rows, small=delta.small, label=delta.label),)


@dataclass(frozen=True)
class Difference:
    """`c^{BΔ}`: B(T₁), B(T₂) with T₁ ≺ T₂ → Δ(T₁ ▷ T₂). It fits the first base only."""

    name = "c.BΔ"
    view = View.STORED
    signature = Signature((Reads((BASE, BASE), Link.PRECEDES),), DELTA)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        old, new = operands[0].rows, operands[1].rows
        return Work(base=old + new, shuffled=old + new, written=(_differing(old, new, statistics),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (bag.difference(operands[0].rows, operands[1].rows),)


@dataclass(frozen=True)
class Complete:
    """B(T), one-sided Δ → Δ(T ▷ T′): free, so that readers of `B,Δ` pairs can follow a one-sided union."""

    name = "complete"
    view = View.STORED
    signature = Signature((Reads((BASE, DELTA), Link.COMPLETES),), DELTA, monotone=True, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return Work(written=(operands[1].rows,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (operands[1].rows,)


@dataclass(frozen=True)
class ApplyWeak:
    """`c^{δB}`: B(T₁), δ(T₂ ▷ T₃) → B((T₁ \\ T₂) ∪ T₃)."""

    weak: WeakDelta
    view = View.STORED

    @property
    def name(self) -> str:
        return f"c.{self.weak.kind}B"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((BASE, self.weak.kind), Link.RELAXED),), BASE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        base, delta = operands[0].rows, operands[1].rows
        return Work(base, delta, delta, (base + delta * (1 - statistics.known(base)),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (self.weak.applied(operands[0].rows, operands[1]),)


@dataclass(frozen=True)
class Strengthen:
    """`c^{δΔ}`: B(T₁), δ(T₁ ▷ T₂) → Δ(T₁ ▷ T₂). It reads what the base holds, so the result fits that base only."""

    weak: WeakDelta
    view = View.STORED

    @property
    def name(self) -> str:
        return f"c.{self.weak.kind}Δ"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((BASE, self.weak.kind)),), DELTA)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        base, delta = operands[0].rows, operands[1].rows
        return Work(base, delta, delta, (delta * (1 + statistics.known(base)),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        base, weak = operands
        key = key_columns(self.weak.key, weak.rows.columns) if self.weak.rows_of_channel else []
        if not key or base.among is None:
            return (self.weak.strengthened(base.rows, weak),)
        return (self.weak.strengthened(base.met_by(weak.rows.select(*map(col, key)), key, weak.small), weak),)


@dataclass(frozen=True)
class Weaken:
    """`c^{Δδ}`: Δ(T₁ ▷ T₂) → δ(T₁ ▷ T₂), without reference to the old base."""

    weak: WeakDelta
    view = View.STORED

    @property
    def name(self) -> str:
        return f"c.Δ{self.weak.kind}"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((DELTA,)),), self.weak.kind, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, shuffled=rows, written=(rows / self.weak.expand,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (self.weak.weakened(operands[0]),)


@dataclass(frozen=True)
class WeakDifference:
    """`c^{Bδ}`: B(T₁), B(T₂) with T₁ ≺ T₂ → δ(T₁ ▷ T₂)."""

    weak: WeakDelta
    view = View.STORED

    @property
    def name(self) -> str:
        return f"c.B{self.weak.kind}"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((BASE, BASE), Link.PRECEDES),), self.weak.kind)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        old, new = operands[0].rows, operands[1].rows
        return Work(base=old + new, shuffled=old + new, written=(_differing(old, new, statistics) / self.weak.expand,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (self.weak.compared(operands[0].rows, operands[1].rows),)


def _differing(old: float, new: float, statistics: Statistics) -> float:
    """Rows in which two bases differ: those that one has more, but groups change while there are as many of them."""
    more = abs(new - old)
    return more if statistics.groups is None else max(more, CHANGED * min(old, new))
