"""Aggregates as users write them: `aggregate("counts", by="site", clicks=ol.count())`.

A `column` is a name, a Column, or a function of the rows that returns one: `ol.sum(lambda df: df.price * df.pieces)`.
"""

from __future__ import annotations

from typing import Any

from olston.operators.states import Aggregation


def count() -> Aggregation:
    """The number of rows."""
    return Aggregation("count")


def sum(column: Any) -> Aggregation:
    """The sum of `column`; null when no value is left."""
    return Aggregation("sum", column)


def avg(column: Any) -> Aggregation:
    """The mean of `column`."""
    return Aggregation("avg", column)


def min(column: Any) -> Aggregation:
    """The least value of `column`."""
    return Aggregation("min", column)


def max(column: Any) -> Aggregation:
    """The greatest value of `column`."""
    return Aggregation("max", column)


def var(column: Any) -> Aggregation:
    """The sample variance of `column`; null below two values."""
    return Aggregation("var", column)


def stddev(column: Any) -> Aggregation:
    """The sample standard deviation of `column`; null below two values."""
    return Aggregation("stddev", column)


def agg(expression: Any) -> Aggregation:
    """Any Spark aggregate expression, recomputed for the groups touched.

    It is SQL text, a Column, or a function of the rows that returns one: `ol.agg(lambda df: F.max_by("x", "y"))`.
    """
    return Aggregation("agg", expression)
