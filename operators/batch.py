"""batch: any user function of whole bases, such as top-k, a periodic job, or model training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from olston.block import BASE, Block
from olston.operators.columns import View
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.signature import BASES, Signature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Batch:
    """Call the function on one base per input; entries are concatenated.

    B(T₁); …; B(Tₙ) → B(T₁ ⊕ … ⊕ Tₙ), consistent if `sync`
    """

    inputs: int
    sync: bool = False
    function: Callable[..., Any] = lambda rows: rows
    name = "batch"
    view = View.PUBLIC

    @cached_property
    def signature(self) -> Signature:
        return Signature((BASES,) * self.inputs, BASE, sync=self.sync)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = sum(b.rows for b in operands)
        return Work(base=rows, shuffled=rows, written=(statistics.out(rows),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return (self.function(*[o.rows for o in operands]),)
