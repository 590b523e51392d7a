"""Stateless operators: map, filter, flat_map and split.

`f(a ⊎ b) = f(a) ⊎ f(b)`, so `f` on the added and on the deleted rows of a delta, apart, is the delta of
the result. One function serves all of them; a split has one output per condition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from olston.block import BASE, DELTA, Block, Kind
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import BASES, DELTAS, Reads, Relaxed, Signature


@dataclass(frozen=True)
class BatchMap:
    """Apply the function to a whole base.

    B(T) → B(T)
    """

    outputs: int = 1
    name = "batch"
    signature = Signature((BASES,), BASE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(base=rows, written=_written(rows, self.outputs, statistics))


@dataclass(frozen=True)
class IncrementalMap:
    """Apply the function to the added and to the deleted rows of a delta.

    Δ(T₁ ▷ T₂) → Δ(T₁ ▷ T₂), and of a Δ⁺ a Δ⁺
    """

    outputs: int = 1
    name = "incremental"
    signature = Signature((DELTAS,), DELTA, monotone=True, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, written=_written(rows, self.outputs, statistics))


@dataclass(frozen=True)
class ReplaceMap:
    """Apply the function to the rows that supersede others by a key it keeps.

    δ_replace(T₁ ▷ T₂) → δ_replace(T₁ ▷ T₂)
    """

    kind: Kind
    outputs: int = 1
    name = "replace"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((self.kind,)),), self.kind, relaxed=Relaxed.KEEPS)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, written=_written(rows, self.outputs, statistics))


def _written(rows: float, outputs: int, statistics: Statistics) -> tuple[float, ...]:
    shares = statistics.shares or (statistics.rows / outputs,) * outputs
    return tuple(rows * share for share in shares)
