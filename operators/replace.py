"""`replace(key, order)` on Spark: all rows of a key are superseded by the rows given [2.4, 4.2].

Rows are those that now stand for their keys, with `_deleted` where a row only says that its key is gone.
A key may be given both ways: then the rows stand. With an order, a late older row loses, and bases keep
the tombstones, since a late row may lose to them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.operators import bag
from olston.operators.columns import DELETED, PART, PREFIX, WEIGHT, anti, col, semi

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, WindowSpec

_NEW, _CHANGES = f"{PREFIX}new", f"{PREFIX}changes"


def latest(chain: DataFrame, key: Sequence[str], order: str | None) -> DataFrame:
    """Of a chain of replacements, told apart by `__part`, those that stand: the later, or the greater order."""
    from pyspark.sql import functions as F

    rank = F.struct(*([col(order)] if order else []), col(PART))
    best = F.max(rank).over(_of(key))
    return chain.withColumn(_NEW, best).where(rank == col(_NEW)).drop(PART, _NEW)


def apply(base: DataFrame, weak: DataFrame, key: Sequence[str], order: str | None, *, small: bool) -> DataFrame:
    """`c^{δB}`: the base with the rows of the keys given superseded."""
    if order is None:
        return bag.union(anti(base, _keys(weak, key), key, small), _standing(weak))
    contest = _contest(base, weak, key, order, small)
    standing = contest.where((col(WEIGHT) > 0) == col(_CHANGES)).drop(WEIGHT, _CHANGES)
    return bag.union(anti(base, weak, key, small), standing)


def strengthen(base: DataFrame, weak: DataFrame, key: Sequence[str], order: str | None, *, small: bool) -> DataFrame:
    """`c^{δΔ}`: the old rows of the keys given deleted, the new ones added, netted. Reads the base once."""
    if order is None:
        return bag.difference(semi(base, _keys(weak, key), key, small), _standing(weak))
    return bag.turned(_contest(base, weak, key, order, small).where(_CHANGES).drop(_CHANGES))


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


def _contest(base: DataFrame, weak: DataFrame, key: Sequence[str], order: str, small: bool) -> DataFrame:
    """The rows of the keys given: the old ones with weight −1 and whether they go, the new ones with 1 and whether
    they come. The greater order stands, of equal ones the new."""
    from pyspark.sql import functions as F

    rows = bag.union(bag.weigh(semi(base, weak, key, small), -1), bag.weigh(weak))
    rank = F.struct(col(order))
    old, new = (F.max(F.when(col(WEIGHT) == sign, rank)).over(_of(key)) for sign in (-1, 1))
    changes = F.when(col(WEIGHT) < 0, rank <= new).otherwise(F.coalesce(old <= rank, F.lit(True)))
    return rows.withColumn(_CHANGES, changes)


def _of(key: Sequence[str]) -> WindowSpec:
    """All rows of one key together."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    return Window.partitionBy(*map(col, key)) if key else Window.partitionBy(F.lit(0))
