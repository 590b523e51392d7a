"""extract: the newest row of a key wins, then a function of it (crawled links, upserts) [4.2]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from olston.block import BASE, MONOTONE, Block, Kind
from olston.operators import bag
from olston.operators.columns import ARRIVAL, DELETED, ORDER, PREFIX, WEIGHT, View, col, conjunction, public, quoted
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.replace import tombstones
from olston.operators.signature import BASES, Reads, Signature

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_BEST = f"{PREFIX}best"


@dataclass(frozen=True)
class Newest:
    """The newest row of each key: the greatest `order_by`, then the later arrival, then the greatest row.

    `ordered`: a later block may bring an older row, so the order of each key is kept beside its rows. Where blocks
    can only come in order of arrival that is not needed. `whole`: arrival alone does not tell rows of different
    blocks apart, so that order includes the row.
    """

    function: Callable[[Any], Any] = lambda rows: rows
    key: tuple[str, ...] = ()
    order_by: str | None = None
    ordered: bool = False
    whole: bool = False

    def of(self, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
        """What the function makes of the newest rows, and the keys with their order."""
        from pyspark.sql import functions as F

        columns = public(rows.columns)
        order = [col(c) for c in (self.order_by, ARRIVAL) if c and c in rows.columns]
        whole = F.struct(*map(col, columns))
        best = rows.groupBy(*map(col, self.key)).agg(F.max(F.struct(*order, whole.alias(_BEST))).alias(_BEST))
        newest = best.select(*[F.col(f"{_BEST}.{_BEST}").getField(c).alias(c) for c in columns])
        rank = F.col(_BEST) if self.whole else F.struct(
            *[F.col(_BEST).getField(c).alias(c) for c in (self.order_by, ARRIVAL) if c and c in rows.columns]
        )  # fmt: skip
        ranks = best.select(*map(col, self.key), *([rank.alias(ORDER)] if self.ordered else []))
        return self.function(newest), ranks

    def with_order(self, made: DataFrame, ranks: DataFrame) -> DataFrame:
        """The rows made, each with the order of its key; a key of which nothing was made leaves a tombstone."""
        from pyspark.sql import functions as F

        names = [f"{PREFIX}k{i}" for i in range(len(self.key))]
        marked = made.select(
            *map(col, made.columns), *[col(c).alias(n) for c, n in zip(self.key, names, strict=True)],
            F.lit(False).alias(DELETED),
        ).drop(*self.key)  # fmt: skip
        same = conjunction(f"{quoted(c)} <=> {n}" for c, n in zip(self.key, names, strict=True))
        met = ranks.join(marked, F.expr(same), "left")
        return met.select(*map(col, made.columns), F.coalesce(col(DELETED), F.lit(True)).alias(DELETED), col(ORDER))


@dataclass(frozen=True)
class BatchExtract:
    """Keep the newest row of each key of a base, then apply the function.

    B(T) → B(T)
    """

    newest: Newest = Newest()
    name = "batch"
    signature = Signature((BASES,), BASE)
    view = View.ARRIVAL

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(base=rows, shuffled=rows, written=(statistics.distinct(rows),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        made, ranks = self.newest.of(operands[0].rows)
        return (self.newest.with_order(made, ranks) if self.newest.ordered else made,)


@dataclass(frozen=True)
class IncrementalExtract:
    """Keep the newest new row of each key, then apply the function: its rows supersede the key's old ones.

    Δ⁺(T₁ ▷ T₂) → δ_replace(T₁ ▷ T₂). Not linear: which row is the newest depends on all inputs, so where several
    pathways meet before it, it fits the base it was made for only.
    """

    kind: Kind
    newest: Newest = Newest()
    name = "incremental"
    view = View.ARRIVAL

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((MONOTONE,)),), self.kind)

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, shuffled=rows, written=(statistics.distinct(rows),))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        from pyspark.sql import functions as F

        made, ranks = self.newest.of(operands[0].rows.drop(WEIGHT))
        if self.newest.ordered:
            return (self.newest.with_order(made, ranks),)
        marked = made.withColumn(DELETED, F.lit(False))
        return (bag.union(marked, tombstones(ranks, marked)),)
