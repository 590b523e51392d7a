"""The shape of an operator variant: a signature, an estimate and, on Spark, a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from olston.block import Block
from olston.operators.columns import View
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.signature import Signature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Operator(Protocol):
    """One variant of an operation. The planner uses its signature and estimate only, and needs no Spark."""

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> Signature: ...

    @property
    def view(self) -> View:
        """What it sees of the rows that its operands are stored as."""
        ...

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        """The expected work on `operands`, in the order of the signature."""
        ...

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        """The rows of each result, in the form of the kind that the signature writes. Nothing is computed yet."""
        ...
