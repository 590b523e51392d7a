"""Joins, inner and left [2.3, 3.2]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from olston.block import BASE, DELTA, Block, Kind
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import BASE_AND_DELTA, BASES, DELTAS, Reads, Relaxed, Signature


@dataclass(frozen=True)
class BatchJoin:
    """Join two bases that reflect one moment.

    B(T₁); B(T₂) → B(T₁ ⊕ T₂), T₁ ⊕ T₂ consistent
    """

    name = "batch"
    signature = Signature((BASES, BASES), BASE, sync=True)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, right = operands[0].rows, operands[1].rows
        return Work(base=left + right, shuffled=left + right, written=(statistics.out(left),))


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

    name = "incremental"
    signature = Signature(
        (BASE_AND_DELTA, BASE_AND_DELTA), DELTA, sync=True, monotone=True, relaxed=Relaxed.IF_MONOTONE
    )

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, new_left, right, new_right = (b.rows for b in operands)
        written = statistics.out(new_left) + matches(left, new_right, statistics)
        return Work(left + right, new_left + new_right, new_left + new_right, (written,))


@dataclass(frozen=True)
class AsyncLeftJoin:
    """Join new rows on the left with whatever the right holds today.

    Rows joined earlier keep the right-hand values they met, so the output drifts; bound the
    drift with `bound_inconsistency` and let `BatchJoin` repair it.

        Δ(T₁ ▷ T₂); B(T₃)  →  Δ(T₁ ⊕ T₃ ▷ T₂ ⊕ T₃)

    With deletions it fits the base it was made for only; also the cheap synchronous way when the right is idle.
    """

    name = "async_left"
    signature = Signature((DELTAS, BASES), DELTA, monotone=True, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        new_left, right = operands[0].rows, operands[1].rows
        return Work(right, new_left, new_left, (statistics.out(new_left),))


@dataclass(frozen=True)
class ReplaceLeftJoin:
    """Join rows that supersede others on the left with whatever the right holds today.

        δ_replace(T₁ ▷ T₂); B(T₃)  →  δ_replace(T₁ ⊕ T₃ ▷ T₂ ⊕ T₃)

    All rows of a key go when it is replaced, whichever right-hand values they met, so it may be applied relaxed.
    """

    kind: Kind
    name = "replace_left"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((self.kind,)), BASES), self.kind, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return AsyncLeftJoin().estimate(operands, statistics)


@dataclass(frozen=True)
class AsyncRightJoin:
    """Join new rows on the right with whatever the left holds today; mirrors `AsyncLeftJoin`. Inner joins only.

    B(T₁); Δ(T₂ ▷ T₃) → Δ(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃)
    """

    name = "async_right"
    signature = Signature((BASES, DELTAS), DELTA, monotone=True, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, new_right = operands[0].rows, operands[1].rows
        return Work(left, new_right, new_right, (matches(left, new_right, statistics),))


@dataclass(frozen=True)
class ReplaceRightJoin:
    """Join rows that supersede others on the right with whatever the left holds; mirrors `ReplaceLeftJoin`.

    B(T₁); δ_replace(T₂ ▷ T₃) → δ_replace(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃)
    """

    kind: Kind
    name = "replace_right"

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASES, Reads((self.kind,))), self.kind, relaxed=Relaxed.IF_MONOTONE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return AsyncRightJoin().estimate(operands, statistics)


@dataclass(frozen=True)
class TouchedKeysJoin:
    """Join anew the left rows whose key changed on the right; for left joins, where a match may come or go.

    B(T₁); B(T₂), Δ(T₂ ▷ T₃) → Δ(T₁ ⊕ T₂ ▷ T₁ ⊕ T₃). It fits the base it was made for only.
    """

    name = "async_right"
    signature = Signature((BASES, BASE_AND_DELTA), DELTA)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        left, right, new_right = (b.rows for b in operands)
        return Work(left + right, new_right, new_right, (2 * matches(left, new_right, statistics),))


@dataclass(frozen=True)
class IncrementalLeftJoin(IncrementalJoin):
    """`IncrementalJoin` for left joins: a new match on the right deletes the row without one.

    B(T₁), Δ(T₁ ▷ T₂); B(T₃), Δ(T₃ ▷ T₄) → Δ(T₁ ⊕ T₃ ▷ T₂ ⊕ T₄), both ends consistent
    """

    signature = Signature((BASE_AND_DELTA, BASE_AND_DELTA), DELTA, sync=True)


def matches(left: float, new_right: float, statistics: Statistics) -> float:
    """Rows that new rows on the right find on the left: an even share of it, twice where all keys changed."""
    if statistics.keys is None:
        return statistics.out(new_right)
    return statistics.out(left) * min(2.0, new_right / statistics.keys)
