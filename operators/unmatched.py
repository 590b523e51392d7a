"""Rows without a match: what a left join sees when rows on its right come and go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.block import DELTA
from olston.operators import bag
from olston.operators.columns import PREFIX, WEIGHT, col, conjunction, quoted
from olston.operators.operand import Operand
from olston.operators.replace import tombstones

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def with_unmatched(right: Operand, new_right: Operand, on: Sequence[str]) -> Operand:
    """The changes on the right as a left join sees them.

    A key that gets its first row on the right takes back the row without a match, and a key that loses its
    last one brings it back: to the delta are added rows of nulls with weight −1 and 1.
    """
    from pyspark.sql import functions as F

    old, new = f"{PREFIX}old", f"{PREFIX}new"
    changes = new_right.rows.where(matchable(on)).groupBy(*map(col, on)).agg(F.sum(WEIGHT).alias(new))
    had = right.met_by(changes, on, new_right.small, sql=True).groupBy(*map(col, on)).agg(F.count("*").alias(old))
    zero = F.lit(0).cast("bigint")
    both = bag.union(had.withColumn(new, zero), changes.withColumn(old, zero).select(*had.columns, new))
    counts = both.groupBy(*map(col, on)).agg(F.sum(old).alias(old), F.sum(new).alias(new))
    after = _not_negative(col(old) + col(new), new_right.label)
    weight = (after == 0).cast("bigint") - (col(old) == 0).cast("bigint")
    unmatched = tombstones(counts.select(*map(col, on), weight.alias(WEIGHT)), new_right.rows).where(f"{WEIGHT} <> 0")
    return Operand(bag.union(new_right.rows, unmatched), DELTA, new_right.size, new_right.label)


def met(right: Operand, new_left: Operand, new_right: Operand, on: Sequence[str]) -> tuple[Operand, Operand]:
    """What rows of the keys that changed on either side meet on the right, in one scan of its base.

    The rows there were, the changes, and for each key a row of nulls, which is met where there is no other. First with
    the weight by which old rows on the left meet it more often than before, then with that by which new rows meet it.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    had, more, nothing = f"{PREFIX}had", f"{PREFIX}more", f"{PREFIX}nothing"

    def marked(rows: DataFrame, before: Column | int, change: Column | int, unmatched: bool) -> DataFrame:
        marks = {had: before, more: change}
        counts = {name: (F.lit(n) if isinstance(n, int) else n).cast("bigint") for name, n in marks.items()}
        return rows.withColumns({**counts, nothing: F.lit(unmatched)})

    sides = [side.rows.select(*map(col, on)) for side in (new_left, new_right)]
    keys = bag.union(*sides).where(matchable(on)).distinct()
    there = right.met_by(keys, on, new_left.small and new_right.small, sql=True)
    rows = bag.union(
        marked(there, 1, 0, False),
        marked(new_right.rows.where(matchable(on)), 0, col(WEIGHT), False).drop(WEIGHT),
        marked(tombstones(keys, right.rows), 0, 0, True),
    )
    of_key = Window.partitionBy(*map(col, on))
    before, change = F.sum(had).over(of_key), F.sum(more).over(of_key)
    after = _not_negative(before + change, new_right.label)
    lonely, was = (after == 0).cast("bigint"), (before == 0).cast("bigint")
    changed = F.when(col(nothing), lonely - was).otherwise(col(more))
    now = F.when(col(nothing), lonely).otherwise(col(had) + col(more))

    def weighed(weight: Column) -> DataFrame:
        # by columns that both weights need: so Spark scans and shuffles the rows once for the two joins that read them
        return rows.withColumn(WEIGHT, weight).drop(had, more, nothing).where(f"{WEIGHT} <> 0")

    return Operand(weighed(changed), DELTA, new_right.size), Operand(weighed(now), DELTA)


def matchable(on: Sequence[str]) -> Column:
    """Whether a row may meet others: null equals nothing."""
    from pyspark.sql import functions as F

    return F.expr(conjunction(f"{quoted(c)} IS NOT NULL" for c in on))


def _not_negative(rows: Column, label: str) -> Column:
    from pyspark.sql import functions as F

    text = f"[{bag.MISSING}] {label} deletes more rows of a key than there are"
    return F.when(rows < 0, F.raise_error(F.lit(text)).cast("bigint")).otherwise(rows)
