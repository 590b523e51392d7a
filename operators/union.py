"""Bag union [3.3]. Of n inputs it is a cascade of unions of two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olston.block import BASE, DELTA, Block, is_delta
from olston.operators import bag
from olston.operators.columns import View
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.signature import BASES, DELTAS, NOTHING, Relaxed, Signature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class AnyUnion:
    """What all variants have in common."""

    view = View.PUBLIC

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return Work.of_each(operands, 0.0, (sum(b.rows for b in operands),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        both = bag.union(*[o.rows for o in operands])
        deltas = [o for o in operands if is_delta(o.kind)]
        return (bag.net(both) if len(deltas) > 1 and not all(o.monotone for o in deltas) else both,)


@dataclass(frozen=True)
class BatchUnion(AnyUnion):
    """All rows of two bases that reflect one moment.

    B(T₁); B(T₂) → B(T₁ ⊕ T₂), T₁ ⊕ T₂ consistent
    """

    name = "batch"
    signature = Signature((BASES, BASES), BASE, sync=True)


@dataclass(frozen=True)
class AsyncBatchUnion(AnyUnion):
    """All rows of two bases, whatever moments they reflect.

    B(T₁); B(T₂) → B(T₁ ⊕ T₂)
    """

    name = "async_batch"
    signature = Signature((BASES, BASES), BASE)


@dataclass(frozen=True)
class IncrementalUnion(AnyUnion):
    """The deltas of both sides together.

    Δ(T₁ ▷ T₂); Δ(T₃ ▷ T₄) → Δ(T₁ ⊕ T₃ ▷ T₂ ⊕ T₄), both ends consistent
    """

    name = "incremental"
    signature = Signature((DELTAS, DELTAS), DELTA, sync=True, monotone=True, relaxed=Relaxed.KEEPS)


@dataclass(frozen=True)
class AsyncLeftUnion(AnyUnion):
    """Pass on the left alone; the entries of the right are left empty.

    Δ(T₁ ▷ T₂); ∅ → Δ(T₁ ⊕ ⟨{}, …⟩ ▷ T₂ ⊕ ⟨{}, …⟩). It deletes rows of its own side only, so it may be applied relaxed.
    """

    name = "async_left"
    signature = Signature((DELTAS, NOTHING), DELTA, monotone=True, relaxed=Relaxed.KEEPS)


@dataclass(frozen=True)
class AsyncRightUnion(AnyUnion):
    """Pass on the right alone; mirrors `AsyncLeftUnion`.

    ∅; Δ(T₁ ▷ T₂) → Δ(⟨{}, …⟩ ⊕ T₁ ▷ ⟨{}, …⟩ ⊕ T₂)
    """

    name = "async_right"
    signature = Signature((NOTHING, DELTAS), DELTA, monotone=True, relaxed=Relaxed.KEEPS)
