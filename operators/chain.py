"""Chaining: abutting deltas act as one, at no cost [2.3, footnote 6]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from olston.block import DELTA, Block, Kind
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import Link, Reads, Relaxed, Signature


@dataclass(frozen=True)
class Chain:
    """Δ(T₁ ▷ T₂), Δ(T₂ ▷ T₃) → Δ(T₁ ▷ T₃); of two `Δ⁺` a `Δ⁺`, of two δ_k a δ_k."""

    kind: Kind
    name = "chain"

    @cached_property
    def signature(self) -> Signature:
        return Signature(
            (Reads((self.kind, self.kind), Link.ABUTS),), self.kind, monotone=self.kind == DELTA, relaxed=Relaxed.KEEPS
        )

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return Work(written=(operands[0].rows + operands[1].rows,))
