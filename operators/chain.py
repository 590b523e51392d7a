"""Chaining: abutting deltas act as one, at no cost [2.3, footnote 6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from olston.block import DELTA, Block, Kind
from olston.errors import WeakDeltaError
from olston.operators import bag
from olston.operators.columns import PART, View
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.signature import Link, Reads, Relaxed, Signature
from olston.operators.weak import WeakDelta

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Chain:
    """Δ(T₁ ▷ T₂), Δ(T₂ ▷ T₃) → Δ(T₁ ▷ T₃); of two `Δ⁺` a `Δ⁺`, of two δ_k a δ_k."""

    kind: Kind
    weak: WeakDelta | None = None
    name = "chain"
    view = View.STORED

    @cached_property
    def signature(self) -> Signature:
        return Signature(
            (Reads((self.kind, self.kind), Link.ABUTS),), self.kind, monotone=self.kind == DELTA, relaxed=Relaxed.KEEPS
        )

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return Work(written=(operands[0].rows + operands[1].rows,))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        from pyspark.sql import functions as F

        if self.weak is None:
            both = bag.union(*[o.rows for o in operands])
            return (both if all(o.monotone for o in operands) else bag.net(both),)
        chained = self.weak.chained(bag.union(*[o.rows.withColumn(PART, F.lit(i)) for i, o in enumerate(operands)]))
        if chained is None:
            raise WeakDeltaError(f"{self.kind}: blocks of this representation act as one on a base only.")
        return (chained,)
