"""The shape of an operator variant: a signature, an estimate and, on Spark, a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from olston.block import Block
from olston.operators.estimate import Statistics, Work
from olston.operators.signature import Signature


class Operator(Protocol):
    """One variant of an operation. The planner uses its signature and estimate only."""

    @property
    def name(self) -> str: ...

    @property
    def signature(self) -> Signature: ...

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        """The expected work on `operands`, in the order of the signature."""
        ...
