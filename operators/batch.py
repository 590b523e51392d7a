"""batch: any user function of whole bases, such as top-k, a periodic job, or model training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from olston.block import BASE, Block
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import BASES, Signature


@dataclass(frozen=True)
class Batch:
    """Call the function on one base per input; entries are concatenated.

    B(T₁); …; B(Tₙ) → B(T₁ ⊕ … ⊕ Tₙ), consistent if `sync`
    """

    inputs: int
    sync: bool = False
    name = "batch"

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASES,) * self.inputs, BASE, sync=self.sync)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = sum(b.rows for b in operands)
        return Work(base=rows, shuffled=rows, written=(statistics.out(rows),))
