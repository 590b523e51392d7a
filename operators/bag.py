"""Bags of rows on Spark, and strong deltas: rows with an integer weight [2.2].

Rows are equal when all their columns are, nulls too. Where rows carry when they arrived, equal rows count as
arrived when the newest of them did, also if others were deleted since; so that this does not depend on how a
base was made, a delta keeps the newest arrival of a row even if its weights cancel out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.operators.columns import ARRIVAL, BLOCK, PART, PREFIX, WEIGHT, anti, col, quoted, semi

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_STEP = f"{PREFIX}step_"
"""Prefix of by how much each part of a chain changed a row."""

MISSING = "DELETES_WHAT_IS_NOT_THERE"
"""The code of the error that a reader gets when a delta deletes a row that its base does not have."""


def identity(rows: DataFrame) -> list[str]:
    """The columns by which rows are equal."""
    return [c for c in rows.columns if c not in (WEIGHT, ARRIVAL, BLOCK, PART) and not c.startswith(_STEP)]


def weigh(rows: DataFrame, weight: int = 1) -> DataFrame:
    """Rows of a bag as a delta that adds each of them `weight` times."""
    from pyspark.sql import functions as F

    return rows.withColumn(WEIGHT, F.lit(weight).cast("bigint"))


def negate(delta: DataFrame) -> DataFrame:
    return delta.withColumn(WEIGHT, -col(WEIGHT))


def copies(weighted: DataFrame) -> DataFrame:
    """Each row as often as its weight says, which is at least one."""
    repeated = f"explode(array_repeat(true, CAST({WEIGHT} AS INT))) AS {PREFIX}copy"
    columns = [quoted(c) for c in weighted.columns if c != WEIGHT]
    return weighted.selectExpr(*columns, repeated).drop(f"{PREFIX}copy")


def union(*deltas: DataFrame) -> DataFrame:
    """All rows of all, by the names of their columns."""
    made = deltas[0]
    for other in deltas[1:]:
        made = made.unionByName(other)
    return made


def net(delta: DataFrame) -> DataFrame:
    """The delta with the weights of equal rows added up, and without what cancels out."""
    return _summed(delta).where(_matters(delta))


def difference(old: DataFrame, new: DataFrame) -> DataFrame:
    """`c^{BΔ}`: what turns the bag `old` into `new`, netted."""
    return turned(union(weigh(new), weigh(old, -1)))


def turned(both: DataFrame) -> DataFrame:
    """What turns the rows of weight −1 into those of weight 1, netted."""
    from pyspark.sql import functions as F

    if ARRIVAL not in both.columns:
        return net(both)
    before, after = f"{PREFIX}before", f"{PREFIX}after"
    grouped = both.groupBy(*map(col, identity(both))).agg(
        F.sum(WEIGHT).alias(WEIGHT),
        F.max(F.when(col(WEIGHT) < 0, col(ARRIVAL))).alias(before),
        F.max(F.when(col(WEIGHT) > 0, col(ARRIVAL))).alias(after),
    )
    newer = (col(WEIGHT) > 0) | ~col(before).eqNullSafe(col(after))
    marked = grouped.withColumn(ARRIVAL, F.when(newer, col(after)))
    return marked.where(_matters(both)).select(*map(col, _ordered(both)))


def plus(rows: DataFrame, delta: DataFrame, *, label: str | Sequence[str], little: bool = False) -> DataFrame:
    """`rows ⊎ delta`, with all of `rows` counted, in one task if they are `little`.

    Deleting what is not there is an error that says which delta (`label`) tried. The rows of a chain say in
    `__part` which part they are of; each part has a label, and the error says the first that went too far.
    """
    changes = delta if isinstance(label, str) else _with_steps(delta, len(label))
    pieces = weigh(rows).unionByName(changes, allowMissingColumns=True)
    counted = _checked(_summed(pieces.coalesce(1) if little else pieces), label)
    return copies(counted.where(f"{WEIGHT} <> 0").drop(*_steps(counted)))


def apply(base: DataFrame, delta: DataFrame, *, small: bool, label: str | Sequence[str]) -> DataFrame:
    """`c^{ΔB}`: the base with the changes of a strong delta, with errors as `plus` has them.

    Rows that the delta does not touch pass without a shuffle if it is `small`.
    """
    columns = identity(base)
    touched, untouched = semi(base, delta, columns, small), anti(base, delta, columns, small)
    return union(untouched, plus(touched, delta, label=label))


def signed_copies(delta: DataFrame) -> DataFrame:
    """Each row as often as its weight says in absolute terms, with the sign alone left as weight."""
    from pyspark.sql import functions as F

    sign = F.signum(col(WEIGHT)).cast("bigint").alias(f"{PREFIX}sign")
    columns = [col(c) for c in delta.columns if c != WEIGHT]
    absolute = delta.select(*columns, F.abs(col(WEIGHT)).alias(WEIGHT), sign)
    return copies(absolute).withColumnRenamed(f"{PREFIX}sign", WEIGHT)


def _summed(delta: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    sums = {WEIGHT: f"sum({WEIGHT})", ARRIVAL: f"max({ARRIVAL})"} | {c: f"sum({c})" for c in _steps(delta)}
    made = [F.expr(f"{made} AS {name}") for name, made in sums.items() if name in delta.columns]
    return delta.groupBy(*map(quoted, identity(delta))).agg(*made).selectExpr(*map(quoted, _ordered(delta)))


def _matters(delta: DataFrame) -> str:
    """The condition on a netted row that says anything."""
    return f"{WEIGHT} <> 0 OR {ARRIVAL} IS NOT NULL" if ARRIVAL in delta.columns else f"{WEIGHT} <> 0"


def _ordered(delta: DataFrame) -> Sequence[str]:
    return [*identity(delta), *_steps(delta), *(c for c in (ARRIVAL, WEIGHT) if c in delta.columns)]


def _steps(rows: DataFrame) -> list[str]:
    return [c for c in rows.columns if c.startswith(_STEP)]


def _with_steps(chain: DataFrame, parts: int) -> DataFrame:
    return chain.selectExpr("*", *[f"IF({PART} = {i}, {WEIGHT}, 0L) AS {_STEP}{i}" for i in range(parts)]).drop(PART)


def _checked(counted: DataFrame, label: str | Sequence[str]) -> DataFrame:
    from pyspark.sql import functions as F

    row = F.expr(f"CAST(struct({', '.join(map(quoted, identity(counted)))}) AS STRING)")
    text = F.concat(
        F.lit(f"[{MISSING}] "), F.lit(label) if isinstance(label, str) else _failing(label),
        F.lit(" deletes a row that is not there: "), F.substring(row, 1, 200),
    )  # fmt: skip
    return counted.withColumn(
        WEIGHT, F.when(col(WEIGHT) < 0, F.raise_error(text).cast("bigint")).otherwise(col(WEIGHT))
    )


def _failing(labels: Sequence[str]) -> Column:
    """Of a row that ends below 0, the label of the first part of the chain after which it is below 0."""
    from pyspark.sql import functions as F

    *earlier, last = labels
    found = F.lit(last)
    for i in reversed(range(len(earlier))):
        after = f"{WEIGHT} - ({' + '.join(f'{_STEP}{j}' for j in range(i + 1, len(labels)))})"
        found = F.when(F.expr(f"{after} < 0"), F.lit(earlier[i])).otherwise(found)
    return found
