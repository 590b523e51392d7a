"""`replace(key, order)` on Spark: all rows of a key are superseded by the rows given [2.4, 4.2].

Rows are those that now stand for their keys, with `_deleted` where a row only says that its key is gone.
A key may be given both ways: then the rows stand. With an order, a late older row loses, and bases keep
the tombstones, since a late row may lose to them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.operators import bag
from olston.operators.columns import DELETED, PART, PREFIX, WEIGHT, anti, col, conjunction, few, semi

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_NEW = f"{PREFIX}new"


def latest(chain: DataFrame, key: Sequence[str], order: str | None) -> DataFrame:
    """Of a chain of replacements, told apart by `__part`, those that stand: the later, or the greater order."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    rank = F.struct(*([col(order)] if order else []), col(PART))
    of_key = Window.partitionBy(*map(col, key)) if key else Window.partitionBy(F.lit(0))
    best = F.max(rank).over(of_key)
    return chain.withColumn(_NEW, best).where(rank == col(_NEW)).drop(PART, _NEW)


def apply(base: DataFrame, weak: DataFrame, key: Sequence[str], order: str | None, *, small: bool) -> DataFrame:
    """`c^{δB}`: the base with the rows of the keys given superseded."""
    if order is None:
        return bag.union(anti(base, _keys(weak, key), key, small), _standing(weak))
    kept, _ = _contest(base, weak, key, order, small)
    new = _winning(base, weak, key, order, small)
    return bag.union(kept, new)


def strengthen(base: DataFrame, weak: DataFrame, key: Sequence[str], order: str | None, *, small: bool) -> DataFrame:
    """`c^{δΔ}`: the old rows of the keys given deleted, the new ones added, netted."""
    if order is None:
        old, new = semi(base, _keys(weak, key), key, small), _standing(weak)
    else:
        _, old = _contest(base, weak, key, order, small)
        new = _winning(base, weak, key, order, small)
    return bag.difference(old, new)


def weaken(delta: DataFrame, key: Sequence[str]) -> DataFrame:
    """`c^{Δδ}`, where the key is unique: the rows added stand, and keys with deletions only are gone."""
    return _replacing(delta, bag.copies(delta.where(f"{WEIGHT} > 0")), key)


def from_bases(old: DataFrame, new: DataFrame, key: Sequence[str]) -> DataFrame:
    """`c^{Bδ}`: all rows of every key that changed between two bases, and what is gone."""
    delta = bag.difference(old, new)
    return _replacing(delta, semi(new, _keys(delta, key), key, False), key)


def _replacing(delta: DataFrame, rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """`rows`, and a tombstone for each key of which the delta deletes and no row is left."""
    from pyspark.sql import functions as F

    lost = anti(delta.where(f"{WEIGHT} < 0"), rows, key, False)
    gone = lost.select(*map(col, key)).distinct() if key else lost.select(F.lit(True).alias(DELETED)).limit(1)
    marked = rows.withColumn(DELETED, F.lit(False))
    return bag.union(marked, tombstones(gone, marked))


def tombstones(keys: DataFrame, like: DataFrame) -> DataFrame:
    """A row with `_deleted` for each of `keys`, with the columns of `like`; what `keys` does not have is null."""
    from pyspark.sql import functions as F

    def column(name: str) -> Column:
        if name == DELETED:
            return F.lit(True).alias(name)
        return col(name) if name in keys.columns else F.lit(None).cast(like.schema[name].dataType).alias(name)

    return keys.select(*[column(c) for c in like.columns])


def _keys(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """The keys given, once each; of the empty key, one row if there is any."""
    from pyspark.sql import functions as F

    return rows.select(*map(col, key)).distinct() if key else rows.select(F.lit(0).alias(f"{PREFIX}any")).limit(1)


def _standing(weak: DataFrame) -> DataFrame:
    return weak.where(f"NOT {DELETED}").drop(DELETED)


def _contest(
    base: DataFrame, weak: DataFrame, key: Sequence[str], order: str, small: bool
) -> tuple[DataFrame, DataFrame]:
    """The rows of the base that stay, and those that lose to a row given."""
    from pyspark.sql import functions as F

    names = [f"{PREFIX}k{i}" for i in range(len(key))]
    given = weak.select(
        *[col(c).alias(n) for c, n in zip(key, names, strict=True)], F.struct(col(order)).alias(_NEW)
    ).distinct()
    same = conjunction(col(c).eqNullSafe(col(n)) for c, n in zip(key, names, strict=True))
    met = base.join(few(given, small), same, "left")
    stays = col(_NEW).isNull() | (F.struct(col(order)) > col(_NEW))
    columns = [col(c) for c in base.columns]
    return met.where(stays).select(*columns), met.where(~stays).select(*columns)


def _winning(base: DataFrame, weak: DataFrame, key: Sequence[str], order: str, small: bool) -> DataFrame:
    """The rows given that do not lose to the base."""
    from pyspark.sql import functions as F

    names = [f"{PREFIX}k{i}" for i in range(len(key))]
    rivals = semi(base, weak, key, small).select(
        *[col(c).alias(n) for c, n in zip(key, names, strict=True)], F.struct(col(order)).alias(_NEW)
    ).distinct()  # fmt: skip
    same = conjunction(col(c).eqNullSafe(col(n)) for c, n in zip(key, names, strict=True))
    return weak.join(rivals, same & (col(_NEW) > F.struct(col(order))), "left_anti")
