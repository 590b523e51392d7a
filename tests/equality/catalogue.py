"""The functions that random workflows are made of, each with two readings: for Spark, and in plain Python.

The reading for Spark is SQL text, or a function of DataFrames that imports PySpark when it is called.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import isnan
from typing import Any, TypeAlias

from tests.equality.bags import Bag, Table, plain, rank

Python: TypeAlias = Callable[[Mapping[str, Any]], Any]
"""A value computed from the columns of one row."""

ARRAY, STRUCT, DECIMAL = "array<int>", "struct<x:int,y:string>", "decimal(10,2)"
DOUBLES, LONG_DECIMAL = "array<double>", "decimal(38,4)"


@dataclass(frozen=True)
class Column:
    """A column and its Spark type.

    `approximate`: its doubles depend on the order in which others were added. `coarse`: its doubles are multiples of
    a not too small power of two, so that their sums do not.
    """

    name: str
    type: str
    approximate: bool = False
    coarse: bool = False


@dataclass(frozen=True)
class Expression:
    """A value computed from one row, of the Spark type `type`; as a condition it is of type boolean."""

    sql: str
    type: str
    python: Python = field(compare=False, repr=False)
    approximate: bool = False
    coarse: bool = False


@dataclass(frozen=True)
class Rowwise:
    """A stateless function: of the rows that meet `where`, for each element of the array `each`, the columns `select`.

    The element is a column too, named by `each`.
    """

    select: tuple[tuple[str, Expression], ...]
    where: Expression | None = None
    each: tuple[str, Expression] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name, e.type, e.approximate, e.coarse) for name, e in self.select)

    def spark(self, rows: Any) -> Any:
        from pyspark.sql import functions as F

        if self.where is not None:
            rows = rows.where(self.where.sql)
        if self.each is not None:
            rows = rows.withColumn(self.each[0], F.explode(F.expr(self.each[1].sql)))
        return rows.select(*[F.expr(e.sql).alias(name) for name, e in self.select])

    def python(self, row: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
        if self.where is not None and self.where.python(row) is not True:
            return
        for element in ((),) if self.each is None else self.each[1].python(row) or ():
            seen = row if self.each is None else {**row, self.each[0]: element}
            yield tuple(plain(e.python(seen)) for _, e in self.select)


@dataclass(frozen=True)
class Whole:
    """A function of whole tables, which may keep columns of its first input only."""

    text: str
    spark: Callable[..., Any] = field(compare=False, repr=False)
    python: Callable[..., Bag] = field(compare=False, repr=False)


def kept(column: Column) -> Expression:
    """The column itself."""
    return Expression(column.name, column.type, operator.itemgetter(column.name), column.approximate, column.coarse)


Template: TypeAlias = tuple[str, str, Callable[[Any], Any]]

_EXPRESSIONS: dict[str, list[Template]] = {
    "int": [
        ("{} * 2", "int", lambda v: v * 2),
        ("{} + 1", "int", lambda v: v + 1),
        ("cast({} as string)", "string", str),
    ],
    "tinyint": [("{} * 2", "int", lambda v: v * 2), ("cast({} as smallint)", "smallint", lambda v: v)],
    "smallint": [("{} + 1", "int", lambda v: v + 1), ("cast({} as float)", "float", float)],
    "bigint": [("{} * 2", "bigint", lambda v: v * 2)],
    "float": [
        ("cast({} * 0.5D as float)", "float", lambda v: v * 0.5),
        ("cast({} as double)", "double", lambda v: v),
    ],
    "double": [("{} * 0.5D", "double", lambda v: v * 0.5)],
    DECIMAL: [(f"cast({{}} + 1.50 as {DECIMAL})", DECIMAL, lambda v: v + Decimal("1.50"))],
    LONG_DECIMAL: [("abs({})", LONG_DECIMAL, Decimal.copy_abs)],
    "string": [
        ("upper({})", "string", str.upper),
        ("substring({}, 1, 2)", "string", lambda v: v[:2]),
        ("length({})", "int", len),
        ("concat({0}, '|', {0})", "string", lambda v: f"{v}|{v}"),
    ],
    "date": [
        ("date_add({}, 1)", "date", lambda v: v + timedelta(days=1)),
        ("year({})", "int", lambda v: v.year),
    ],
    "timestamp": [
        ("{} + interval 90 minutes", "timestamp", lambda v: v + timedelta(minutes=90)),
        ("cast({} as date)", "date", datetime.date),
    ],
    "timestamp_ntz": [
        ("{} + interval 90 minutes", "timestamp_ntz", lambda v: v + timedelta(minutes=90)),
        ("cast({} as date)", "date", datetime.date),
    ],
    "binary": [
        ("concat({0}, {0})", "binary", lambda v: v + v),
        ("hex({})", "string", lambda v: v.hex().upper()),
        ("length({})", "int", len),
    ],
    "boolean": [("NOT {}", "boolean", operator.not_)],
    ARRAY: [
        ("size({})", "int", len),
        ("get({}, 0)", "int", lambda v: v[0] if v else None),
        ("sort_array({})", ARRAY, lambda v: tuple(sorted(v, key=rank))),
    ],
    DOUBLES: [
        ("get({}, 0)", "double", lambda v: v[0] if v else None),
        ("sort_array({})", DOUBLES, lambda v: tuple(sorted(v, key=rank))),
    ],
    STRUCT: [("{}.x", "int", lambda v: v[0]), ("{}.y", "string", lambda v: v[1])],
}

_CONDITIONS: dict[str, list[tuple[str, Callable[[Any], bool | None]]]] = {
    "int": [("{} > 1", lambda v: v > 1), ("{} % 2 = 0", lambda v: v % 2 == 0)],
    "tinyint": [("{} > 1", lambda v: v > 1)],
    "smallint": [("{} < 1", lambda v: v < 1)],
    "bigint": [("{} > 1", lambda v: v > 1)],
    "float": [("{} > 0.5D", lambda v: isnan(v) or v > 0.5)],
    "double": [("{} > 0.5D", lambda v: isnan(v) or v > 0.5)],
    DECIMAL: [("{} >= 1.00", lambda v: v >= 1)],
    LONG_DECIMAL: [("{} > 0", lambda v: v > 0)],
    "string": [("{} like 'a%'", lambda v: v.startswith("a")), ("{} = ''", lambda v: v == "")],
    "date": [("{} > date'2024-01-31'", lambda v: v > date(2024, 1, 31))],
    "timestamp": [("{} < timestamp'2024-02-01 00:00:00'", lambda v: v < datetime(2024, 2, 1))],
    "timestamp_ntz": [("{} < timestamp_ntz'2024-02-01 00:00:00'", lambda v: v < datetime(2024, 2, 1))],
    "binary": [("{} > X'61'", lambda v: v > b"a")],
    "boolean": [("{}", lambda v: v)],
    ARRAY: [("size({}) > 1", lambda v: len(v) > 1)],
    DOUBLES: [("size({}) > 1", lambda v: len(v) > 1)],
    STRUCT: [("{}.x > 1", lambda v: None if v[0] is None else v[0] > 1)],
}

_ARRAYS: dict[str, list[Template]] = {
    ARRAY: [("{}", "int", lambda v: v)],
    DOUBLES: [("{}", "double", lambda v: v)],
    "string": [("split({}, ',')", "string", lambda v: tuple(v.split(",")))],
    "int": [("array_repeat({0}, if({0} > 3, 3, {0}))", "int", lambda v: (v,) * min(v, 3))],
}


def expressions(column: Column) -> list[Expression]:
    """What can be computed from one column; null of null, but for the test for it."""
    known = [] if column.approximate else _EXPRESSIONS.get(column.type, [])
    made = [
        Expression(sql.format(column.name), kind, _strict(column.name, f), coarse=column.coarse and kind == column.type)
        for sql, kind, f in known
    ]
    return [*made, Expression(f"{column.name} is null", "boolean", lambda row: row[column.name] is None)]


def conditions(column: Column) -> list[Expression]:
    """Conditions on one column, most of them null where it is."""
    known = [] if column.approximate else _CONDITIONS.get(column.type, [])
    made = [Expression(sql.format(column.name), "boolean", _strict(column.name, f)) for sql, f in known]
    return [*made, Expression(f"{column.name} is null", "boolean", lambda row: row[column.name] is None)]


def arrays(column: Column) -> list[tuple[Expression, str]]:
    """Arrays to explode that can be made of one column, each with the type of its elements."""
    known = [] if column.approximate else _ARRAYS.get(column.type, [])
    return [(Expression(s.format(column.name), ARRAY, _strict(column.name, f)), element) for s, element, f in known]


def negated(condition: Expression) -> Expression:
    """NOT in three-valued logic."""

    def python(row: Mapping[str, Any]) -> bool | None:
        value = condition.python(row)
        return None if value is None else not value

    return Expression(f"NOT ({condition.sql})", "boolean", python)


def either(one: Expression, other: Expression) -> Expression:
    """OR in three-valued logic."""

    def python(row: Mapping[str, Any]) -> bool | None:
        values = one.python(row), other.python(row)
        return True if True in values else None if None in values else False

    return Expression(f"({one.sql}) OR ({other.sql})", "boolean", python)


def top(k: int, by: str, within: tuple[str, ...] = ("c",)) -> Whole:
    """The `k` rows with the greatest `by`, then the greatest rows, of each value of `within`."""

    def spark(rows: Any) -> Any:
        from pyspark.sql import Window
        from pyspark.sql import functions as F

        order = Window.partitionBy(*within).orderBy(*[F.desc(c) for c in (by, *rows.columns)])
        return rows.withColumn("n", F.row_number().over(order)).where(f"n <= {k}").drop("n")

    def python(table: Table) -> Bag:
        parts: dict[Any, list[Any]] = {}
        for row in table.rows.elements():
            parts.setdefault(table.at(row, within), []).append(row)
        made: Bag = Counter()
        for rows in parts.values():
            rows.sort(key=lambda row: (rank(table.at(row, (by,))), rank(row)), reverse=True)
            made.update(rows[:k])
        return made

    return Whole(f"top({k}, {by!r}, {within!r})", spark, python)


def missing(on: tuple[str, ...]) -> Whole:
    """The rows of the first table that meet none of the second in `on`; null meets nothing."""

    def spark(rows: Any, others: Any) -> Any:
        return rows.join(others, on=list(on), how="left_anti").select(*rows.columns)

    def python(table: Table, others: Table) -> Bag:
        there = {others.at(row, on) for row in others.rows}
        return Counter(
            {row: n for row, n in table.rows.items() if None in table.at(row, on) or table.at(row, on) not in there}
        )

    return Whole(f"missing({on!r})", spark, python)


def _strict(name: str, f: Callable[[Any], Any]) -> Python:
    return lambda row: None if row[name] is None else f(row[name])
