"""`increment(key, columns)` on Spark: amounts to be added by key, with creation and retirement of groups [2.4].

Rows are a key, the amounts, and hidden beside them the number of rows (`__rows`), by which a group comes
and goes, and of each sum the number of values (`__n_<column>`), without which it is null. Bases of the
channel have the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.operators import bag
from olston.operators.columns import ALL, PREFIX, ROWS, WEIGHT, anti, col, key_columns, semi

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

VALUES = f"{PREFIX}n_"
"""Prefix of the number of values behind a sum."""
_BEFORE = f"{PREFIX}before"
"""The amounts that a group had; prefix of each of them."""


def total(rows: DataFrame, key: Sequence[str], *, label: str | None = None) -> DataFrame:
    """The amounts added up by key.

    With `label` they are a base's: a sum without values is null, and it is an error of the delta called `label` if a
    group ends with fewer rows than none.
    """
    of, amounts = key_columns(key, rows.columns), _amounts(rows, key)
    added = _added(rows, of, amounts)
    shown = set(amounts) if label else set()
    return added.select(*[_shown(c, amounts, of, label=label) if c in shown else col(c) for c in rows.columns])


def apply(base: DataFrame, weak: DataFrame, key: Sequence[str], *, small: bool, label: str) -> DataFrame:
    """`c^{δB}`: the groups given with their amounts added; new ones are created, those left without rows retire.

    Groups that are not given pass without a shuffle.
    """
    of = key_columns(key, base.columns)
    touched = semi(base, weak, of, small)
    return bag.union(anti(base, weak, of, small), added_up(bag.union(touched, weak), key, label=label))


def added_up(pieces: DataFrame, key: Sequence[str], *, label: str) -> DataFrame:
    """`c^{δB}` with all groups added up, from the rows of the base and of the increments to it, side by side."""
    return _living(total(pieces, key, label=label), key)


def strengthen(
    base: DataFrame, weak: DataFrame, key: Sequence[str], *, small: bool, label: str, among: str = ""
) -> DataFrame:
    """`c^{δΔ}`: the old groups deleted, the new ones added, netted.

    Reads the base once. Its rows may have increments among them that are not added up yet; `among` is how errors call
    those.
    """
    from pyspark.sql import functions as F

    of, amounts = key_columns(key, base.columns), _amounts(base, key)
    had = [_BEFORE + c for c in amounts]
    old = semi(base, weak, of, small).select(*map(col, [*of, *amounts]), *[col(c).alias(_BEFORE + c) for c in amounts])
    nothing = [F.lit(None).cast(old.schema[c].dataType).alias(c) for c in had]
    new = weak.select(*map(col, [*of, *amounts]), *nothing)
    added = _added(bag.union(old, new), of, [*amounts, *had])
    after = F.struct(*[_shown(c, amounts, of, label=label) for c in amounts])
    before = F.struct(*[_shown(c, amounts, of, prefix=_BEFORE, label=among) for c in amounts])
    lives = col(ROWS) != 0 if key else F.lit(True)
    lived = F.coalesce(col(_BEFORE + ROWS) != 0, F.lit(False)) if key else F.lit(True)
    ends = F.array(
        F.struct(F.lit(1).cast("bigint").alias(WEIGHT), F.when(lives, after).alias(_BEFORE)),
        F.struct(F.lit(-1).cast("bigint").alias(WEIGHT), F.when(lived, before).alias(_BEFORE)),
    )
    changed = added.where(~(lived & after.eqNullSafe(before)))
    end = changed.select(*map(col, of), F.inline(ends)).where(col(_BEFORE).isNotNull())
    columns = [col(_BEFORE).getField(c).alias(c) if c in amounts else col(c) for c in base.columns]
    return end.select(*columns, col(WEIGHT))


def weaken(delta: DataFrame, key: Sequence[str]) -> DataFrame:
    """`c^{Δδ}`: what the groups added have more than the groups deleted."""
    from pyspark.sql import functions as F

    signed = bag.signed_copies(delta)
    amounts = _amounts(signed.drop(WEIGHT), key)
    columns = [c for c in signed.columns if c != WEIGHT]
    negated = signed.select(
        *[(F.when(col(WEIGHT) < 0, -col(c)).otherwise(col(c)).alias(c) if c in amounts else col(c)) for c in columns]
    )
    return total(negated, key)


def _added(rows: DataFrame, of: Sequence[str], amounts: Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as F

    types = {f.name: f.dataType for f in rows.schema.fields}
    added = rows.groupBy(*map(col, of)).agg(*[F.sum(col(c)).cast(types[c]).alias(c) for c in amounts])
    if of:
        return added
    # the only group is there even if nothing came
    return added.select(*[F.coalesce(col(c), F.lit(0).cast(types[c])).alias(c) for c in amounts])


def _amounts(rows: DataFrame, key: Sequence[str]) -> list[str]:
    of = key_columns(key, rows.columns)
    return [ROWS] if tuple(key) == ALL else [c for c in rows.columns if c not in of]


def _shown(
    name: str, amounts: Sequence[str], of: Sequence[str], *, prefix: str = "", label: str | None = None
) -> Column:
    """An amount as bases have it; with `label` it is an error of what is called so if a group has too few rows."""
    from pyspark.sql import functions as F

    amount = col(prefix + name)
    if VALUES + name in amounts:
        return F.when(col(prefix + VALUES + name) != 0, amount).alias(name)
    if name == ROWS and label:
        text = F.lit(f"[{bag.MISSING}] {label} takes more rows from a group than it has")
        if of:
            group = F.struct(*map(col, of)).cast("string")
            text = F.concat(text, F.lit(": "), F.substring(group, 1, 200))
        return F.when(amount < 0, F.raise_error(text).cast("bigint")).otherwise(amount).alias(ROWS)
    return amount.alias(name)


def _living(groups: DataFrame, key: Sequence[str]) -> DataFrame:
    """Without the groups that have no rows; a global aggregate always has its one."""
    return groups.where(f"{ROWS} <> 0") if key else groups
