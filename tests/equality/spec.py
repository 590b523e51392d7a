"""Workflows as plain declarations, which can be read twice: by olston (`build`) and by the evaluator.

All tables of random workflows start with a column `c`, the case, which is part of every key, group and join:
so one run on Spark tests as many small data sets as there are cases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import olston as ol
from olston.block import BASE, DELTA, MONOTONE
from olston.channel import Channel
from olston.operators.states import Aggregation
from tests.equality.catalogue import Column, Expression, Rowwise, Whole

CASE = Column("c", "int")


@dataclass(frozen=True)
class Source:
    """An input channel."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] | None = None
    order: str | None = None


@dataclass(frozen=True)
class Map:
    """`map`, or with `flat` `flat_map`; the key is told if it is kept."""

    name: str
    input: str
    f: Rowwise
    key: tuple[str, ...] | None = None
    flat: bool = False


@dataclass(frozen=True)
class Filter:
    """`filter` by SQL text."""

    name: str
    input: str
    condition: Expression


@dataclass(frozen=True)
class Split:
    """`split`: one name for each condition, and one more for the rest if it is wanted."""

    names: tuple[str, ...]
    input: str
    conditions: tuple[Expression, ...]


@dataclass(frozen=True)
class Extract:
    """`extract`; the function keeps the columns of the key."""

    name: str
    input: str
    f: Rowwise
    key: tuple[str, ...]
    order_by: str | None = None


@dataclass(frozen=True)
class Measure:
    """One aggregated column: a function of olston's by name, or `count_values` or `count_distinct` by `ol.agg`."""

    function: str
    column: str | None = None

    def spark(self) -> Aggregation:
        if self.function == "count":
            return ol.count()
        if self.function in _BY_TEXT:
            return ol.agg(_BY_TEXT[self.function].format(self.column))
        made: Aggregation = getattr(ol, self.function)(self.column)
        return made

    def of(self, name: str, columns: Sequence[Column]) -> Column:
        """The column that it makes, called `name`."""
        if self.function in ("count", *_BY_TEXT):
            return Column(name, "bigint")
        given = next(c for c in columns if c.name == self.column)
        if self.function in ("min", "max"):
            return Column(name, given.type, given.approximate, given.coarse)
        decimal = re.fullmatch(r"decimal\((\d+),(\d+)\)", given.type)
        if self.function == "sum" and given.type in ("tinyint", "smallint", "int", "bigint"):
            return Column(name, "bigint")
        if self.function in ("sum", "avg") and decimal is not None:
            more, digits = (10, 0) if self.function == "sum" else (4, 4)
            return Column(name, f"decimal({min(38, int(decimal[1]) + more)},{int(decimal[2]) + digits})")
        exact = self.function == "sum" and given.coarse
        return Column(name, "double", approximate=not exact, coarse=exact)


_BY_TEXT = {"count_values": "count({})", "count_distinct": "count(distinct {})"}


@dataclass(frozen=True)
class Aggregate:
    """`aggregate`; `by=()` is one global row."""

    name: str
    input: str
    by: tuple[str, ...]
    columns: tuple[tuple[str, Measure], ...]


@dataclass(frozen=True)
class Distinct:
    """`distinct`."""

    name: str
    input: str


@dataclass(frozen=True)
class Join:
    """`join`, inner or left."""

    name: str
    left: str
    right: str
    on: tuple[str, ...]
    how: str = "inner"


@dataclass(frozen=True)
class Union:
    """`union` of two channels or more, of the same columns in any order."""

    name: str
    inputs: tuple[str, ...]


@dataclass(frozen=True)
class Batch:
    """`batch`: a function of whole tables that keeps the columns of the first."""

    name: str
    inputs: tuple[str, ...]
    f: Whole
    sync: bool = False


Node: TypeAlias = Source | Map | Filter | Split | Extract | Aggregate | Distinct | Join | Union | Batch


def makes(node: Node) -> tuple[str, ...]:
    """The channels that `node` makes."""
    return node.names if isinstance(node, Split) else (node.name,)


def reads(node: Node) -> tuple[str, ...]:
    """The channels that `node` reads, in order."""
    match node:
        case Source():
            return ()
        case Join():
            return node.left, node.right
        case Union() | Batch():
            return node.inputs
        case _:
            return (node.input,)


@dataclass(frozen=True)
class Spec:
    """A workflow: sources and widgets, each after those it reads. Channels that nobody reads are its outputs.

    With `feeds` they are handed over as feeds of every kind of block, so that every converter has its use.
    """

    nodes: tuple[Node, ...]
    feeds: bool = False

    def node(self, channel: str) -> Node:
        return next(n for n in self.nodes if channel in makes(n))

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple(n for n in self.nodes if isinstance(n, Source))

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(name for n in self.nodes for name in makes(n))

    @property
    def outputs(self) -> tuple[str, ...]:
        read = {name for n in self.nodes for name in (makes(n) if isinstance(n, Source) else reads(n))}
        return tuple(name for name in self.channels if name not in read)

    def pathways(self, channel: str) -> tuple[str, ...]:
        """The source of each pathway of `channel`, in order."""
        node = self.node(channel)
        return (channel,) if isinstance(node, Source) else tuple(s for c in reads(node) for s in self.pathways(c))

    def columns(self, channel: str) -> tuple[Column, ...]:
        node = self.node(channel)
        match node:
            case Source():
                return node.columns
            case Map() | Extract():
                return node.f.columns
            case Aggregate():
                given = self.columns(node.input)
                by = tuple(next(c for c in given if c.name == name) for name in node.by)
                return by + tuple(measure.of(name, given) for name, measure in node.columns)
            case Join():
                left, right = self.columns(node.left), self.columns(node.right)
                on = tuple(next(c for c in left if c.name == name) for name in node.on)
                return on + tuple(c for c in (*left, *right) if c.name not in node.on)
            case _:
                return self.columns(reads(node)[0])


def build(spec: Spec) -> ol.Workflow:
    """The workflow, through the public surface of olston."""
    workflow = ol.Workflow("equality")
    made: dict[str, Channel] = {}
    for node in spec.nodes:
        made.update(zip(makes(node), _place(workflow, node, [made[c] for c in reads(node)]), strict=True))
    for name in spec.outputs:
        every = {BASE, DELTA, MONOTONE, *(w.kind for w in made[name].weak)}
        workflow.output(made[name], feed=every if spec.feeds else None)
    return workflow


def _place(workflow: ol.Workflow, node: Node, inputs: list[Channel]) -> tuple[Channel, ...]:
    match node:
        case Source():
            schema = ", ".join(f"{c.name} {c.type}" for c in node.columns)
            return (workflow.source(node.name, schema, key=node.key, order=node.order),)
        case Map():
            place: Any = inputs[0].flat_map if node.flat else inputs[0].map
            return (place(node.name, node.f.spark, key=node.key),)
        case Filter():
            return (inputs[0].filter(node.name, node.condition.sql),)
        case Split():
            conditions = dict(zip(node.names, (e.sql for e in node.conditions), strict=False))
            rest = node.names[-1] if len(node.names) > len(conditions) else None
            return inputs[0].split(conditions, rest=rest)
        case Extract():
            return (inputs[0].extract(node.name, node.f.spark, key=node.key, order_by=node.order_by),)
        case Aggregate():
            measures: dict[str, Any] = {n: m.spark() for n, m in node.columns}
            return (inputs[0].aggregate(node.name, by=node.by, **measures),)
        case Distinct():
            return (inputs[0].distinct(node.name),)
        case Join():
            return (inputs[0].join(node.name, inputs[1], on=node.on, how=node.how),)
        case Union():
            return (inputs[0].union(node.name, *inputs[1:]),)
        case Batch():
            return (workflow.batch(node.name, inputs, node.f.spark, sync=node.sync),)
