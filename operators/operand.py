"""What an operator reads on Spark: the rows of a block, and what was recorded of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from olston.block import BASE, MONOTONE, Kind
from olston.operators.columns import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FEW = 16 * 2**20
"""Bytes on disk up to which rows are sent to every task rather than shuffled."""


@dataclass(frozen=True)
class Operand:
    """Rows of a base, or of a delta with `_weight`, or in the form of a weak representation.

    `size` is the recorded number of bytes, or the expected one while nothing is recorded; `label` is how
    errors call the block.
    """

    rows: DataFrame
    kind: Kind = BASE
    size: float = inf
    label: str = ""

    @property
    def small(self) -> bool:
        return self.size <= FEW

    @property
    def monotone(self) -> bool:
        return self.kind == MONOTONE

    def added(self) -> DataFrame:
        """The rows that a strong delta adds, each as often as it does."""
        from olston.operators.bag import copies

        return copies(self.rows if self.monotone else self.rows.where(f"{WEIGHT} > 0"))

    def deleted(self) -> DataFrame:
        """The rows that a strong delta deletes, each as often as it does."""
        from olston.operators.bag import copies, negate

        return copies(negate(self.rows.where(f"{WEIGHT} < 0")))
