"""What counts, sums, means and variances are made of: amounts that add up [3.1].

Of each aggregated column the state is kept from which it follows: the number of values, their sum, the sum
of their squares. States of a delta are added to those of a base, so they must be exact: integers and
decimals are; sums of doubles drift, and a square needs twice the digits of its value. Where a state would
not be exact, the aggregate is computed anew for the groups touched, by Spark's own function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from olston.operators.columns import PREFIX, ROWS, WEIGHT, col
from olston.operators.increment import VALUES

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

SUM, SQUARES = f"{PREFIX}sum_", f"{PREFIX}squares_"
DISTRIBUTIVE = frozenset({"count", "sum"})
ALGEBRAIC = DISTRIBUTIVE | {"avg", "var", "stddev"}
_SPREAD = frozenset({"var", "stddev"})
_INTEGERS = "decimal(38,0)"
"""The type of sums of integers, which no sum of decimals has that is kept as a state."""
_SUMMED = 10
"""Digits that Spark adds to a decimal when it sums."""


@dataclass(frozen=True)
class Aggregation:
    """One aggregated column: `count`, `sum`, `avg`, `min`, `max`, `var`, `stddev`, or any Spark aggregate `agg`."""

    function: str
    argument: Any = None


Columns = Sequence[tuple[str, Aggregation]]


def final(columns: Columns) -> list[Column]:
    """The aggregates as Spark computes them."""
    from pyspark.sql import functions as F

    functions = {"sum": F.sum, "avg": F.avg, "min": F.min, "max": F.max, "var": F.var_samp, "stddev": F.stddev_samp}

    def one(aggregation: Aggregation) -> Column:
        if aggregation.function == "count":
            return F.count(F.lit(1))
        if aggregation.function == "agg":
            return F.expr(aggregation.argument) if isinstance(aggregation.argument, str) else aggregation.argument
        return functions[aggregation.function](_argument(aggregation))

    return [one(a).alias(name) for name, a in columns]


def states(rows: DataFrame, by: Sequence[str], columns: Columns) -> DataFrame:
    """The states of `columns` by group, of rows each with a weight of 1 or −1, or none for 1."""
    from pyspark.sql import functions as F

    weighted = WEIGHT in rows.columns

    def signed(value: Column) -> Column:
        return F.when(col(WEIGHT) < 0, -value).otherwise(value) if weighted else value

    ones = signed(F.lit(1).cast("bigint"))
    made = []
    for name, aggregation in columns:
        if aggregation.function == "count":
            made.append(F.sum(ones).alias(name))
            continue
        value = _argument(aggregation)
        made.append(F.sum(F.when(value.isNotNull(), ones).otherwise(F.lit(0))).alias(VALUES + name))
        if aggregation.function == "sum":
            made.append(F.sum(signed(_widened(rows, value))).alias(name))
            continue
        made.append(_summed(rows, value, signed, squared=False).alias(SUM + name))
        if aggregation.function in _SPREAD:
            made.append(_summed(rows, value, signed, squared=True).alias(SQUARES + name))
    made.append(F.sum(ones).alias(ROWS))
    grouped = rows.groupBy(*map(col, by)).agg(*made)
    counts = [c for c in grouped.columns if c == ROWS or c.startswith(VALUES)] + [
        n for n, a in columns if a.function == "count"
    ]
    if by:
        return grouped
    # the one global row is there even if no row is
    return grouped.select(*[F.coalesce(col(c), F.lit(0)).alias(c) if c in counts else col(c) for c in grouped.columns])


def finished(sums: DataFrame, by: Sequence[str], columns: Columns) -> list[Column]:
    """The aggregates that follow from their states; those that were computed as such pass."""
    return [*map(col, by), *[_finished(sums, name, a).alias(name) for name, a in columns]]


def _finished(sums: DataFrame, name: str, aggregation: Aggregation) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.types import DecimalType

    if SUM + name not in sums.columns:
        return col(name)
    n, total = col(VALUES + name), col(SUM + name)
    kind = sums.schema[SUM + name].dataType
    assert isinstance(kind, DecimalType)
    integers = kind.simpleString() == _INTEGERS
    if aggregation.function == "avg":
        if integers:
            return F.when(n > 0, total.cast("double") / n)
        return F.when(n > 0, _quotient(total, n.cast("decimal(20,0)"), kind.precision - _SUMMED + 4, kind.scale + 4))
    # (n·Σx² − (Σx)²) / n(n−1), in whole numbers as far as differences go: in doubles, close values far from zero cancel
    unit = 10**kind.scale
    s, q = _whole(total, unit), _whole(col(SQUARES + name), unit * unit)
    spread = (n.cast("decimal(20,0)") * q - s * s).cast("double")
    variance = F.when(n > 1, spread / n / (n - 1) / float(unit * unit))
    return variance if aggregation.function == "var" else F.sqrt(variance)


def _quotient(total: Column, n: Column, precision: int, scale: int) -> Column:
    """`total / n` to `scale` digits, half up: in whole numbers, since Spark would round it twice."""
    from pyspark.sql import functions as F

    whole = _whole(total, 10**scale)
    rest = whole % n
    nearest = (whole - rest) / n + F.when(2 * F.abs(rest) >= n, F.signum(rest)).otherwise(0).cast("decimal(1,0)")
    found, left = nearest.cast(f"decimal({precision},0)"), scale
    while left:  # by steps that lose no digits
        step = min(left, 11)
        left -= step
        found = (found * F.lit(Decimal(1).scaleb(-step))).cast(f"decimal({precision},{scale - left})")
    return found


def _whole(value: Column, unit: int) -> Column:
    from pyspark.sql import functions as F

    return (value * F.lit(Decimal(unit))).cast("decimal(38,0)")


def drifts(rows: DataFrame, columns: Columns) -> bool:
    """Whether states of some of `columns` over such rows would not add up without loss."""
    return any(
        not _exact(a.function, rows.select(_argument(a)).schema[0].dataType)
        for _, a in columns
        if a.argument is not None
    )


def _exact(function: str, kind: DataType) -> bool:
    from pyspark.sql.types import ByteType, DecimalType, IntegerType, LongType, ShortType

    if isinstance(kind, DecimalType):
        return function == "sum" or kind.precision <= (9 if function in _SPREAD else 18)
    if isinstance(kind, LongType):
        return function not in _SPREAD
    return isinstance(kind, ByteType | ShortType | IntegerType)


def _argument(aggregation: Aggregation) -> Column:
    given = aggregation.argument
    return col(given) if isinstance(given, str) else given


def _widened(rows: DataFrame, value: Column) -> Column:
    """Integers as Spark sums them: the least of a type has no opposite in it."""
    from pyspark.sql.types import ByteType, IntegerType, ShortType

    kind = rows.select(value).schema[0].dataType
    return value.cast("bigint") if isinstance(kind, ByteType | ShortType | IntegerType) else value


def _summed(rows: DataFrame, value: Column, signed: Callable[[Column], Column], *, squared: bool) -> Column:
    """The exact sum of the values, or of their squares."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import DecimalType, LongType

    kind = rows.select(value).schema[0].dataType
    number = value if isinstance(kind, DecimalType) else value.cast(f"decimal({20 if kind == LongType() else 10},0)")
    total = F.sum(signed(number * number if squared else number))
    return total if isinstance(kind, DecimalType) else total.cast(_INTEGERS)
