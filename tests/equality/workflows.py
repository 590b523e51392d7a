"""Random workflows over every widget. Each widget drawn is legal, whatever was drawn before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import TypeVar

from tests.equality.catalogue import (
    ARRAY,
    DECIMAL,
    DOUBLES,
    LONG_DECIMAL,
    STRUCT,
    Column,
    Expression,
    Rowwise,
    arrays,
    conditions,
    either,
    expressions,
    kept,
    missing,
    negated,
    top,
)
from tests.equality.spec import (
    CASE,
    Aggregate,
    Batch,
    Distinct,
    Extract,
    Filter,
    Join,
    Map,
    Measure,
    Node,
    Source,
    Spec,
    Split,
    Union,
    reads,
)

POOL = (
    Column("k", "int"), Column("g", "string"), Column("v", "int"), Column("w", "bigint"), Column("x", "double"),
    Column("y", "double", coarse=True), Column("m", DECIMAL), Column("s", "string"), Column("d", "date"),
    Column("t", "timestamp"), Column("b", "boolean"), Column("a", ARRAY), Column("p", STRUCT),
    Column("i", "tinyint"), Column("j", "smallint"), Column("f", "float", coarse=True), Column("l", LONG_DECIMAL),
    Column("u", "timestamp_ntz"), Column("o", "binary"), Column("q", DOUBLES),
)  # fmt: skip
"""The columns of sources: those of one name have one type, so that any two sources can be joined."""

_PATHWAYS = 4

T = TypeVar("T")


def workflow(random: Random, *, fewest: int = 1, most: int = 5, pathways: int = _PATHWAYS) -> Spec:
    """A workflow of one to three sources and some widgets, none with more than `pathways` pathways."""
    return _Drawing(random, pathways).workflow(random.randint(fewest, most))


class _Drawing:
    def __init__(self, random: Random, pathways: int) -> None:
        self.random, self._most = random, pathways
        self.nodes: list[Node] = []

    def workflow(self, widgets: int) -> Spec:
        schema: tuple[Column, ...] = ()
        for i in range(self.random.randint(1, 3)):
            if not schema or self._maybe():
                schema = (CASE, *self._some(POOL, 1, 5))
            self.nodes.append(self._source(f"s{i}", schema))
        for i in range(widgets):
            self.random.choice(_WIDGETS)(self, f"n{i}")
        return Spec(tuple(self.nodes), feeds=self._maybe())

    def _source(self, name: str, columns: tuple[Column, ...]) -> Source:
        key = self.random.choice(columns[1:]) if self._maybe() else None
        others = [c.name for c in columns[1:] if c != key]
        order = (self.random.choice(others) if self._maybe() else None) if key is not None and others else None
        return Source(name, columns, None if key is None else (CASE.name, key.name), order)

    def map(self, name: str) -> None:
        source = self._channel()
        key = self._key(source) if self._maybe() else None
        self.nodes.append(Map(name, source, self._rowwise(name, source, key or ()), key))

    def flat_map(self, name: str) -> None:
        source = self._channel()
        key = self._key(source) if self._maybe() else None
        f = self._rowwise(name, source, key or (), where=True, explode=key is None)
        self.nodes.append(Map(name, source, f, key, flat=True))

    def filter(self, name: str) -> None:
        source = self._channel()
        self.nodes.append(Filter(name, source, self._condition(source)))

    def split(self, name: str) -> None:
        source = self._channel()
        made = tuple(self._condition(source) for _ in range(self.random.randint(1, 2)))
        rest = len(made) < 2 or self._maybe()
        self.nodes.append(Split(tuple(f"{name}_{i}" for i in range(len(made) + rest)), source, made))

    def extract(self, name: str) -> None:
        source = self._channel(exact=True)
        columns = [c.name for c in self._columns(source)]
        key = (CASE.name, *self._some(columns[1:], 0, 1)) if columns[1:] else ("c",)
        f = self._rowwise(name, source, key, where=True, explode=True)
        self.nodes.append(Extract(name, source, f, key, (self.random.choice(columns) if self._maybe() else None)))

    def aggregate(self, name: str) -> None:
        source = self._channel()
        columns = self._columns(source)
        groups = [c.name for c in columns[1:] if not c.approximate]
        by = self._some(groups, 0, 2) if groups else []
        known = _measures(columns)
        if self._maybe():  # those that travel as increments, if all do
            known = [m for m in known if m.function in ("count", "sum", "avg", "var", "stddev")]
        measures = self._some(known, 1, 3)
        named = tuple((f"{m.function}{i}_{name}", m) for i, m in enumerate(measures))
        self.nodes.append(Aggregate(name, source, (CASE.name, *by), named))

    def distinct(self, name: str) -> None:
        self.nodes.append(Distinct(name, self._channel(exact=True)))

    def join(self, name: str) -> None:
        left = self._channel(room=1)
        right = self._channel(room=len(self._spec.pathways(left)))
        shared = self._shared(left, right)
        on = (CASE.name, *self._some(shared, 0, 2)) if shared else ("c",)
        taken = {c.name for c in self._columns(left)} - set(on)
        columns = self._columns(right)
        if any(c.name in taken for c in columns):
            free = [(c.name if c.name in on else f"{c.name}_{name}", kept(c)) for c in columns]
            self.nodes.append(Map(f"r_{name}", right, Rowwise(tuple(free))))
            right = f"r_{name}"
        self.nodes.append(Join(name, left, right, on, self.random.choice(("inner", "left"))))

    def union(self, name: str) -> None:
        inputs = [self._channel(room=1)]
        for _ in range(self.random.randint(1, 2)):
            used = sum(len(self._spec.pathways(c)) for c in inputs)
            alike = [c for c in self._channels(used) if set(self._columns(c)) == set(self._columns(inputs[0]))]
            if alike:
                inputs.append(self.random.choice(alike))
        if len(inputs) > 1:
            self.nodes.append(Union(name, tuple(inputs)))

    def batch(self, name: str) -> None:
        first = self._channel(room=1, exact=True)
        sync = self._maybe()
        if self._maybe():
            by = self.random.choice(self._columns(first)).name
            self.nodes.append(Batch(name, (first,), top(self.random.randint(1, 3), by), sync))
            return
        second = self._channel(room=len(self._spec.pathways(first)))
        shared = self._shared(first, second)
        on = (CASE.name, *self._some(shared, 0, 1)) if shared else ("c",)
        self.nodes.append(Batch(name, (first, second), missing(on), sync))

    def _maybe(self) -> bool:
        return self.random.random() < 0.5

    def _some(self, among: Sequence[T], fewest: int, most: int) -> list[T]:
        """Some of them, none twice."""
        return self.random.sample(among, min(len(among), self.random.randint(fewest, most)))

    @property
    def _spec(self) -> Spec:
        return Spec(tuple(self.nodes))

    def _columns(self, channel: str) -> tuple[Column, ...]:
        return self._spec.columns(channel)

    def _channels(self, room: int) -> list[str]:
        """The channels that leave room for `room` more pathways, the newest first."""
        return [c for c in reversed(self._spec.channels) if len(self._spec.pathways(c)) + room <= self._most]

    def _channel(self, room: int = 0, *, exact: bool = False) -> str:
        """A channel with room for more pathways; `exact`, one without columns that depend on the order of sums."""
        return self.random.choice(
            [c for c in self._channels(room) if not exact or not any(x.approximate for x in self._columns(c))]
        )

    def _shared(self, left: str, right: str) -> list[str]:
        """The columns, the case apart, by which two channels can be joined."""
        both = set(self._columns(left)) & set(self._columns(right))
        return [c.name for c in self._columns(left)[1:] if c in both and not c.approximate]

    def _key(self, channel: str) -> tuple[str, ...] | None:
        """The columns that are unique in `channel`, where that is known."""
        node = self._spec.node(channel)
        match node:
            case Source() | Map():
                return node.key
            case Aggregate():
                return node.by
            case Filter() | Split():
                return self._key(*reads(node))
            case _:
                return None

    def _condition(self, channel: str) -> Expression:
        simple = [e for c in self._columns(channel) for e in conditions(c)]
        made = self.random.choice(simple)
        if self._maybe():
            made = either(made, self.random.choice(simple))
        return negated(made) if self._maybe() else made

    def _rowwise(
        self, name: str, channel: str, key: Iterable[str], *, where: bool = False, explode: bool = False
    ) -> Rowwise:
        """A stateless function that keeps the case and the columns of `key`; new columns are called after `name`."""
        columns = self._columns(channel)
        select = [(CASE.name, kept(CASE))]
        for c in columns[1:]:
            change = "keep" if c.name in key else self.random.choice(("keep", "change", "drop"))
            if change == "keep":
                select.append((c.name, kept(c)))
            elif change == "change":
                made = self.random.choice(expressions(c))
                select.append((c.name if made.type == c.type else f"{c.name}_{name}", made))
        condition = self._condition(channel) if where and self._maybe() else None
        known = [found for c in columns for found in arrays(c)]
        if not (explode and known and self._maybe()):
            return Rowwise(tuple(select), condition)
        array, kind = self.random.choice(known)
        element = Column(f"e_{name}", kind)
        return Rowwise((*select, (element.name, kept(element))), condition, (element.name, array))


def _measures(columns: Iterable[Column]) -> list[Measure]:
    made = [Measure("count")]
    for c in columns:
        made += [Measure("count_values", c.name), Measure("min", c.name), Measure("max", c.name)]
        if not c.approximate:
            made.append(Measure("count_distinct", c.name))
        made += [Measure(f, c.name) for f in _repeatable(c)]
    return made


def _repeatable(column: Column) -> tuple[str, ...]:
    """The sums and spreads of `column` that come out the same to the last bit in whatever order rows are added."""
    if column.type in ("tinyint", "smallint", "int"):
        return "sum", "avg", "var", "stddev"
    if column.type == LONG_DECIMAL:  # Spark rounds its means to fewer digits than their type has
        return ("sum",)
    whole = column.type == "bigint" or column.type.startswith("decimal")
    return ("sum", "avg") if whole or (column.coarse and not column.approximate) else ()


_WIDGETS: tuple[Callable[[_Drawing, str], None], ...] = (
    _Drawing.map, _Drawing.flat_map, _Drawing.filter, _Drawing.split, _Drawing.extract, _Drawing.aggregate,
    _Drawing.aggregate, _Drawing.distinct, _Drawing.join, _Drawing.join, _Drawing.union, _Drawing.batch,
)  # fmt: skip
