"""Aggregates by group, and distinct [3.1].

count and sum travel as increments. avg, var and stddev keep counts and sums on an internal channel and
map them. min, max and user aggregates recompute the groups touched; of one global row that is everything.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olston.errors import WorkflowError
from olston.operators.aggregate import BatchAggregate, Groups, IncrementAggregate, TouchedGroupsAggregate
from olston.operators.columns import ALL, col, public
from olston.operators.map import Project
from olston.operators.operator import Operator
from olston.operators.states import ALGEBRAIC, DISTRIBUTIVE, Aggregation, finished
from olston.operators.weak import WeakDelta, increment, replace
from olston.widgets.expression import GroupsBy
from olston.widgets.map import stateless
from olston.widgets.widget import Makes, Operation, Widget

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Aggregate(Widget):
    """One row per group of `by`; `by=()` is one global row. The key is `by`."""

    by: tuple[str, ...] = ()
    columns: tuple[tuple[str, Aggregation], ...] = ()

    def __post_init__(self) -> None:
        if not self.columns:
            raise WorkflowError(f"{self.name}: nothing to aggregate; write for example aggregate(…, n=ol.count()).")
        for column, aggregation in self.columns:
            if not isinstance(aggregation, Aggregation):
                raise WorkflowError(
                    f"{self.name}: column {column!r} is {aggregation!r}; give an aggregate such as ol.count() "
                    "or ol.agg(expr)."
                )
            if column in self.by:
                raise WorkflowError(f"{self.name}: {column!r} is grouped by already; name the aggregate otherwise.")

    @property
    def functions(self) -> frozenset[str]:
        return frozenset(a.function for _, a in self.columns)

    @property
    def _nested(self) -> bool:
        return self.functions <= ALGEBRAIC and not self.functions <= DISTRIBUTIVE

    @property
    def _weak(self) -> tuple[WeakDelta, ...]:
        if self.functions <= {"count"}:
            return (increment(self.by, [name for name, _ in self.columns]),)
        if self.functions <= ALGEBRAIC:  # which of the two depends on the types of the columns
            return increment(self.by, [name for name, _ in self.columns]), replace(self.by)
        return (replace(self.by),)

    def makes(self) -> tuple[Makes, ...]:
        if self._nested:
            return Makes(f"{self.name}#sums", self.by, self._weak, internal=True), Makes(self.name, self.by)
        return (Makes(self.name, self.by, self._weak),)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        source = self.inputs[0].name
        if not self._nested:
            return (Operation((source,), (self.name,), self._variants(drifting)),)
        by, columns, sums = self.by, self.columns, f"{self.name}#sums"
        finish = Project(lambda rows: finished(rows, by, columns))
        return (
            Operation((source,), (sums,), self._variants(drifting), role=sums),
            Operation((sums,), (self.name,), stateless(finish, ())),
        )

    def _variants(self, drifting: Collection[str]) -> tuple[Operator, ...]:
        increments = self.functions <= ALGEBRAIC and self.name not in drifting
        groups = GroupsBy(self.by, self.columns, increments)
        if increments:
            return BatchAggregate(groups), IncrementAggregate(self._weak[0].kind, groups)
        if not self.by:  # the one group is touched by every row, and made of all: that is batch
            return (BatchAggregate(groups),)
        return BatchAggregate(groups), TouchedGroupsAggregate(self._weak[-1].kind, groups)


@dataclass(frozen=True)
class Distinct(Widget):
    """Every row once: counts on an internal channel, then a map. The key is all columns."""

    def makes(self) -> tuple[Makes, ...]:
        return Makes(f"{self.name}#counts", ALL, (self._weak,), internal=True), Makes(self.name, ALL)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        counts, groups = f"{self.name}#counts", Groups(ALL)
        variants = (BatchAggregate(groups), IncrementAggregate(self._weak.kind, groups))
        return (
            Operation((self.inputs[0].name,), (counts,), variants, role=counts),
            Operation((counts,), (self.name,), stateless(Project(_without_counts), ())),
        )

    @property
    def _weak(self) -> WeakDelta:
        return increment(ALL, ("count",))


def _without_counts(counts: DataFrame) -> list[Column]:
    return [*map(col, public(counts.columns))]
