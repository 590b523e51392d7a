"""extract: the newest row of a key wins, then a function of it (crawled links, upserts) [4.2]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from olston.block import BASE, MONOTONE, Block, Kind
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import BASES, Reads, Signature


@dataclass(frozen=True)
class BatchExtract:
    """Keep the newest row of each key of a base, then apply the function.

    B(T) → B(T)
    """

    name = "batch"
    signature = Signature((BASES,), BASE)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(base=rows, shuffled=rows, written=(statistics.distinct(rows),))


@dataclass(frozen=True)
class IncrementalExtract:
    """Keep the newest new row of each key, then apply the function: its rows supersede the key's old ones.

    Δ⁺(T₁ ▷ T₂) → δ_replace(T₁ ▷ T₂). Not linear: which row is the newest depends on all inputs, so where several
    pathways meet before it, it fits the base it was made for only.
    """

    kind: Kind
    name = "incremental"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((MONOTONE,)),), self.kind)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, shuffled=rows, written=(statistics.distinct(rows),))
