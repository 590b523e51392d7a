"""What an operator reads on Spark: the rows of a block, and what was recorded of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, TypeAlias

from olston.block import BASE, MONOTONE, Kind, is_weak
from olston.operators.columns import WEIGHT, View, see, semi

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Keep: TypeAlias = "Callable[[DataFrame], DataFrame]"
"""Leaves the rows out of which some columns say that they are not needed."""

FEW = 16 * 2**20
"""Bytes on disk up to which rows are sent to every task rather than shuffled."""


@dataclass(frozen=True)
class Operand:
    """Rows of a base, or of a delta with `_weight`, or in the form of a weak representation.

    `size` is the recorded number of bytes, or the expected one while nothing is recorded; `label` is how
    errors call the block. `among` gives what a choice by some columns keeps of a base, where that takes less than
    reading all of it: rows are left out before changes to the base are counted. It is `None` if it cannot. `plain`:
    it is known of a delta that it adds every row once.
    """

    rows: DataFrame
    kind: Kind = BASE
    size: float = inf
    label: str = ""
    among: Callable[[Sequence[str], Keep], DataFrame | None] | None = None
    plain: bool = False

    @property
    def small(self) -> bool:
        return self.size <= FEW

    @property
    def monotone(self) -> bool:
        return self.kind == MONOTONE

    def seen(self, view: View) -> Operand:
        """As a reader with `view` sees it."""
        among = self.among

        def shown(on: Sequence[str], keep: Keep) -> DataFrame | None:
            found = among(on, keep) if among is not None else None
            return None if found is None else see(found, view)

        rows = see(self.rows, view, tombstones=is_weak(self.kind))
        return replace(self, rows=rows, among=None if among is None else shown)

    def met_by(self, keys: DataFrame, on: Sequence[str], small: bool, *, sql: bool = False) -> DataFrame:
        """The rows of a base whose columns `on` occur in `keys`, which are `small`; nulls are equal unless `sql`."""

        def keep(rows: DataFrame) -> DataFrame:
            return semi(rows, keys, on, small, sql=sql)

        found = self.among(on, keep) if self.among is not None and small else None
        return keep(self.rows) if found is None else found

    def added(self) -> DataFrame:
        """The rows that a strong delta adds, each as often as it does."""
        from olston.operators.bag import copies

        if self.plain:
            return self.rows.drop(WEIGHT)
        return copies(self.rows if self.monotone else self.rows.where(f"{WEIGHT} > 0"))

    def deleted(self) -> DataFrame:
        """The rows that a strong delta deletes, each as often as it does."""
        from olston.operators.bag import copies, negate

        return copies(negate(self.rows.where(f"{WEIGHT} < 0")))
