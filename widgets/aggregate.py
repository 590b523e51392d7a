"""Aggregates by group, and distinct [3.1].

count and sum travel as increments. avg, var and stddev keep counts and sums on an internal channel and
map them. min, max and user aggregates recompute the groups touched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from olston.errors import WorkflowError
from olston.operators.aggregate import BatchAggregate, IncrementAggregate, TouchedGroupsAggregate
from olston.operators.weak import WeakDelta, increment, replace
from olston.widgets.map import stateless
from olston.widgets.widget import Makes, Operation, Widget

DISTRIBUTIVE = frozenset({"count", "sum"})
ALGEBRAIC = DISTRIBUTIVE | {"avg", "var", "stddev"}


@dataclass(frozen=True)
class Aggregation:
    """One aggregated column: `count`, `sum`, `avg`, `min`, `max`, `var`, `stddev`, or any Spark aggregate `agg`."""

    function: str
    argument: Any = None


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

    def _weak(self) -> WeakDelta:
        if self.functions <= ALGEBRAIC:
            return increment(self.by, [name for name, _ in self.columns])
        return replace(self.by)

    def makes(self) -> tuple[Makes, ...]:
        if self._nested:
            return Makes(f"{self.name}#sums", self.by, (self._weak(),), internal=True), Makes(self.name, self.by)
        return (Makes(self.name, self.by, (self._weak(),)),)

    def operations(self) -> tuple[Operation, ...]:
        source, kind = self.inputs[0].name, self._weak().kind
        if self._nested:
            return nested(source, f"{self.name}#sums", self.name, self._weak())
        if self.functions <= DISTRIBUTIVE:
            return (Operation((source,), (self.name,), (BatchAggregate(), IncrementAggregate(kind))),)
        return (Operation((source,), (self.name,), (BatchAggregate(), TouchedGroupsAggregate(kind))),)


@dataclass(frozen=True)
class Distinct(Widget):
    """Every row once: counts on an internal channel, then a map. The key is all columns."""

    def makes(self) -> tuple[Makes, ...]:
        return Makes(f"{self.name}#counts", ("*",), (self._weak,), internal=True), Makes(self.name, ("*",))

    def operations(self) -> tuple[Operation, ...]:
        return nested(self.inputs[0].name, f"{self.name}#counts", self.name, self._weak)

    @property
    def _weak(self) -> WeakDelta:
        return increment(("*",), ("count",))


def nested(source: str, internal: str, public: str, weak: WeakDelta) -> tuple[Operation, ...]:
    """Increments on an internal channel, then a map to the public one."""
    return (
        Operation((source,), (internal,), (BatchAggregate(), IncrementAggregate(weak.kind)), role=internal),
        Operation((internal,), (public,), stateless(())),
    )
