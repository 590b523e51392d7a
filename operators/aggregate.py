"""Aggregates: count and sum as increments, everything else by the groups touched [3.1]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from olston.block import BASE, Block, Kind
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import BASE_AND_DELTA, BASES, DELTAS, Relaxed, Signature


@dataclass(frozen=True)
class BatchAggregate:
    """Aggregate a whole base.

    B(T) → B(T)
    """

    name = "batch"
    signature = Signature((BASES,), BASE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(base=rows, shuffled=rows, written=(statistics.distinct(rows),))


@dataclass(frozen=True)
class IncrementAggregate:
    """Counts and sums of a delta, to be added to the old ones; a group retires at count 0.

    Δ(T₁ ▷ T₂) → δ_increment(T₁ ▷ T₂). Linear, so it may be applied relaxed where its input may.
    """

    kind: Kind
    name = "increment"

    @cached_property
    def signature(self) -> Signature:
        return Signature((DELTAS,), self.kind, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, shuffled=rows, written=(statistics.distinct(rows),))


@dataclass(frozen=True)
class TouchedGroupsAggregate:
    """Aggregate anew the groups that a delta touches, and replace those.

    B(T₁), Δ(T₁ ▷ T₂) → δ_replace(T₁ ▷ T₂). For min, max and user aggregates, which have no increments.
    """

    kind: Kind
    name = "touched_groups"

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASE_AND_DELTA,), self.kind)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        base, delta = operands[0].rows, operands[1].rows
        groups = statistics.distinct(delta)
        share = min(1.0, groups / max(1.0, statistics.distinct(base)))
        return Work(base=base, delta=delta, shuffled=delta + share * base, written=(groups,))
