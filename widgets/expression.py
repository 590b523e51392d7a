"""Conditions and aggregates as users write them: SQL text, a Column, or a function of the rows that returns either.

A Column can be made only where a Spark session is, and there is none while a workflow is declared; a function is called
when there are rows. It sees the user's columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from olston.operators.aggregate import Groups
from olston.operators.columns import public, quoted
from olston.operators.map import Choose
from olston.operators.states import Aggregation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Columns = tuple[tuple[str, Aggregation], ...]


def of_rows(given: Any, rows: DataFrame) -> Any:
    """What `given` says about `rows`: text or a Column."""
    return given(rows.selectExpr(*map(quoted, public(rows.columns)))) if callable(given) else given


def aggregations(columns: Columns, rows: DataFrame) -> Columns:
    """The aggregates of `rows`, functions replaced by what they return."""
    return tuple((name, replace(a, argument=of_rows(a.argument, rows))) for name, a in columns)


@dataclass(frozen=True)
class ChooseBy(Choose):
    """`Choose` by conditions of which some are functions."""

    def rows(self, rows: DataFrame) -> tuple[DataFrame, ...]:
        return Choose(tuple(of_rows(c, rows) for c in self.conditions), self.rest).rows(rows)


@dataclass(frozen=True)
class GroupsBy(Groups):
    """`Groups` with aggregates of which some are functions."""

    def of(self, rows: DataFrame) -> DataFrame:
        return Groups(self.by, aggregations(self.columns, rows), self.incremented).of(rows)
