"""Bags of rows on Spark, and strong deltas: rows with an integer weight [2.2].

Rows are equal when all their columns are, nulls too. Of equal rows that arrived at different times the
newest arrival counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.operators.columns import ARRIVAL, BLOCK, PREFIX, WEIGHT, anti, col, semi

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_LABEL = f"{PREFIX}label"

MISSING = "DELETES_WHAT_IS_NOT_THERE"
"""The code of the error that a reader gets when a delta deletes a row that its base does not have."""


def identity(rows: DataFrame) -> list[str]:
    """The columns by which rows are equal."""
    return [c for c in rows.columns if c not in (WEIGHT, ARRIVAL, BLOCK, _LABEL)]


def weigh(rows: DataFrame, weight: int = 1) -> DataFrame:
    """Rows of a bag as a delta that adds each of them `weight` times."""
    from pyspark.sql import functions as F

    return rows.withColumn(WEIGHT, F.lit(weight).cast("bigint"))


def negate(delta: DataFrame) -> DataFrame:
    return delta.withColumn(WEIGHT, -col(WEIGHT))


def copies(weighted: DataFrame) -> DataFrame:
    """Each row as often as its weight says, which is at least one."""
    from pyspark.sql import functions as F

    repeated = F.explode(F.array_repeat(F.lit(True), col(WEIGHT).cast("int"))).alias(f"{PREFIX}copy")
    columns = [c for c in weighted.columns if c != WEIGHT]
    return weighted.select(*map(col, columns), repeated).drop(f"{PREFIX}copy")


def union(*deltas: DataFrame) -> DataFrame:
    """All rows of all, by the names of their columns."""
    made = deltas[0]
    for other in deltas[1:]:
        made = made.unionByName(other)
    return made


def net(delta: DataFrame) -> DataFrame:
    """The delta with the weights of equal rows added up, and without what cancels out."""
    return _summed(delta).where(f"{WEIGHT} <> 0")


def difference(old: DataFrame, new: DataFrame) -> DataFrame:
    """`c^{BΔ}`: what turns the bag `old` into `new`, netted."""
    return net(union(weigh(new), weigh(old, -1)))


def plus(rows: DataFrame, delta: DataFrame, label: str) -> DataFrame:
    """`rows ⊎ delta` where all of `rows` may be shuffled: counted exactly, and an error if a count is below 0."""
    both = union(_labelled(weigh(rows), None), _labelled(delta, label))
    return copies(_checked(_summed(both)).where(f"{WEIGHT} <> 0").drop(_LABEL))


def apply(base: DataFrame, delta: DataFrame, *, small: bool, label: str | Column) -> DataFrame:
    """`c^{ΔB}`: the base with the changes of a strong delta.

    Rows that the delta does not touch pass without a shuffle if it is `small`. The touched ones are counted
    exactly: deleting what is not there is an error that says which delta (`label`) tried; a column may tell it.
    """
    changes = _summed(_labelled(delta, label)).where(f"{WEIGHT} <> 0")
    columns = identity(base)
    touched = semi(base, changes, columns, small)
    untouched = anti(base, changes, columns, small)
    counted = _checked(_summed(union(_labelled(weigh(touched), None), changes)))
    return union(untouched, copies(counted.where(f"{WEIGHT} <> 0").drop(_LABEL)))


def signed_copies(delta: DataFrame) -> DataFrame:
    """Each row as often as its weight says in absolute terms, with the sign alone left as weight."""
    from pyspark.sql import functions as F

    sign = F.signum(col(WEIGHT)).cast("bigint").alias(f"{PREFIX}sign")
    columns = [col(c) for c in delta.columns if c != WEIGHT]
    absolute = delta.select(*columns, F.abs(col(WEIGHT)).alias(WEIGHT), sign)
    return copies(absolute).withColumnRenamed(f"{PREFIX}sign", WEIGHT)


def _summed(delta: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    sums: list[Column] = [F.sum(WEIGHT).alias(WEIGHT)]
    if ARRIVAL in delta.columns:
        sums.append(F.max(ARRIVAL).alias(ARRIVAL))
    if _LABEL in delta.columns:
        sums.append(F.max(_LABEL).alias(_LABEL))
    return delta.groupBy(*map(col, identity(delta))).agg(*sums).select(*map(col, _ordered(delta)))


def _ordered(delta: DataFrame) -> Sequence[str]:
    return [*identity(delta), *(c for c in (ARRIVAL, _LABEL, WEIGHT) if c in delta.columns)]


def _labelled(delta: DataFrame, label: str | Column | None) -> DataFrame:
    """With the name of the delta beside each row that it deletes."""
    from pyspark.sql import functions as F

    if label is None:
        return delta.withColumn(_LABEL, F.lit(None).cast("string"))
    name = F.lit(label) if isinstance(label, str) else label
    return delta.withColumn(_LABEL, F.when(col(WEIGHT) < 0, name))


def _checked(counted: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    row = F.struct(*map(col, identity(counted))).cast("string")
    text = F.concat(
        F.lit(f"[{MISSING}] "), F.coalesce(col(_LABEL), F.lit("a delta")),
        F.lit(" deletes a row that is not there: "), F.substring(row, 1, 200),
    )  # fmt: skip
    return counted.withColumn(
        WEIGHT, F.when(col(WEIGHT) < 0, F.raise_error(text).cast("bigint")).otherwise(col(WEIGHT))
    )
