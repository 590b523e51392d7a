"""The batch evaluation of a workflow on chosen snapshots of its inputs, in plain Python on bags of rows.

It shares no code with the operators: what it says is what the blocks on Spark must hold.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any

from tests.equality.bags import Bag, Row, Table, rank
from tests.equality.snapshots import Arrivals
from tests.equality.spec import (
    Aggregate,
    Batch,
    Distinct,
    Extract,
    Filter,
    Join,
    Map,
    Measure,
    Source,
    Spec,
    Split,
    Union,
    makes,
    reads,
)

Assignment = tuple[int, ...]
"""The stamp of one input snapshot for each pathway of a channel, in order."""


class Evaluator:
    """What the channels of a workflow hold on given snapshots of what arrived."""

    def __init__(self, spec: Spec, arrivals: Arrivals) -> None:
        self.spec, self.arrivals = spec, arrivals
        self._known: dict[tuple[str, Assignment], Table] = {}

    def __call__(self, channel: str, assignment: Sequence[int]) -> Bag:
        """The rows of `channel` when pathway i shows snapshot `assignment[i]` of its input."""
        return self.table(channel, tuple(assignment)).rows

    def choices(self, channel: str, provenance: Iterable[Iterable[float]]) -> list[Bag]:
        """The rows of `channel` on every choice of one snapshot from each entry of `provenance`."""
        return [self(channel, tuple(map(int, choice))) for choice in product(*map(sorted, provenance))]

    def table(self, channel: str, assignment: Assignment) -> Table:
        key = channel, assignment
        if key not in self._known:
            self._known[key] = self._evaluate(channel, assignment)
        return self._known[key]

    def _evaluate(self, channel: str, assignment: Assignment) -> Table:
        node = self.spec.node(channel)
        if isinstance(node, Source):
            return self.arrivals.snapshot(node, *assignment)
        inputs, start = [], 0
        for name in reads(node):
            end = start + len(self.spec.pathways(name))
            inputs.append(self.table(name, assignment[start:end]))
            start = end
        if start != len(assignment):
            raise ValueError(f"{channel} has {start} pathways, but the assignment is {assignment}")
        columns = tuple(c.name for c in self.spec.columns(channel))
        match node:
            case Map():
                return Table(columns, _each(node.f.python, inputs[0], inputs[0].rows))
            case Filter():
                return _chosen(inputs[0], lambda row: node.condition.python(row) is True)
            case Split():
                return _chosen(inputs[0], lambda row: _place(node, row) == makes(node).index(channel))
            case Extract():
                return Table(columns, _each(node.f.python, inputs[0], _newest(inputs[0], node)))
            case Aggregate():
                return Table(columns, _aggregate(self.spec, inputs[0], node))
            case Distinct():
                return Table(columns, Counter(inputs[0].rows.keys()))
            case Join():
                return Table(columns, _join(inputs[0], inputs[1], node))
            case Union():
                return _union(inputs)
            case Batch():
                return Table(columns, node.f.python(*inputs))


def _each(f: Any, table: Table, rows: Bag) -> Bag:
    made: Bag = Counter()
    for row, count in rows.items():
        for result in f(table.named(row)):
            made[result] += count
    return made


def _chosen(table: Table, condition: Any) -> Table:
    rows = Counter({row: n for row, n in table.rows.items() if condition(table.named(row))})
    return Table(table.columns, rows, table.arrivals)


def _place(node: Split, row: dict[str, Any]) -> int:
    met = (i for i, condition in enumerate(node.conditions) if condition.python(row) is True)
    return next(met, len(node.conditions))


def _newest(table: Table, node: Extract) -> Bag:
    """Of each key the row of the greatest order, then of the latest arrival where it is known, then the greatest."""
    best: dict[Row, tuple[Any, Row]] = {}
    for row in table.rows:
        order = rank(None) if node.order_by is None else rank(*table.at(row, (node.order_by,)))
        place = order, 0 if table.arrivals is None else table.arrivals[row], rank(row)
        key = table.at(row, node.key)
        if key not in best or place > best[key][0]:
            best[key] = place, row
    return Counter(row for _, row in best.values())


def _aggregate(spec: Spec, table: Table, node: Aggregate) -> Bag:
    groups: dict[Row, list[Row]] = {} if node.by else {(): []}
    for row in table.rows.elements():
        groups.setdefault(table.at(row, node.by), []).append(row)
    types = {c.name: c.type for c in spec.columns(node.name)}
    made: Bag = Counter()
    for group, rows in groups.items():
        values = [
            rows if m.column is None else [v for (v,) in (table.at(r, (m.column,)) for r in rows) if v is not None]
            for _, m in node.columns
        ]
        found = [measure(m, v, types[name]) for (name, m), v in zip(node.columns, values, strict=True)]
        made[group + tuple(found)] += 1
    return made


def measure(which: Measure, values: Sequence[Any], kind: str) -> Any:
    """An aggregate of the values that are not null, exact until it is rounded to its type `kind`."""
    match which.function:
        case "count" | "count_values":
            return len(values)
        case "count_distinct":
            return len(set(values))
    if not values or (which.function in ("var", "stddev") and len(values) < 2):
        return None
    if which.function in ("min", "max"):
        return (min if which.function == "min" else max)(values, key=rank)
    endless = {v for v in values if isinstance(v, float) and not math.isfinite(v)}
    if endless:
        return sum(endless) if which.function in ("sum", "avg") else math.nan
    exact = [Fraction(v) for v in values]
    total, n = sum(exact, Fraction(0)), len(exact)
    match which.function:
        case "sum":
            return _rounded(total, kind)
        case "avg":
            return _rounded(total / n, kind)
    variance = sum(((v - total / n) ** 2 for v in exact), Fraction(0)) / (n - 1)
    return float(variance) if which.function == "var" else math.sqrt(variance)


def _rounded(value: Fraction, kind: str) -> Any:
    if kind == "double":
        return float(value)
    if kind == "bigint":
        return int(value)
    with localcontext(prec=100):
        digits = int(kind.rpartition(",")[2].rstrip(")"))
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
        return quotient.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _join(left: Table, right: Table, node: Join) -> Bag:
    """Columns as Spark's USING has them: `on`, the rest of the left, the rest of the right."""
    rest = [c for c in right.columns if c not in node.on]
    matches: dict[Row, Bag] = {}
    for row, n in right.rows.items():
        matches.setdefault(right.at(row, node.on), Counter())[right.at(row, rest)] += n
    made: Bag = Counter()
    for row, n in left.rows.items():
        on = left.at(row, node.on)
        met = Counter[Row]() if None in on else matches.get(on, Counter())
        if not met and node.how == "left":
            met = Counter({(None,) * len(rest): 1})
        own = left.at(row, [c for c in left.columns if c not in node.on])
        for other, m in met.items():
            made[on + own + other] += n * m
    return made


def _union(tables: Sequence[Table]) -> Table:
    """All rows, with the columns in the order of the first. When they arrived is not known any more."""
    columns = tables[0].columns
    rows: Bag = Counter()
    for table in tables:
        for row, n in table.rows.items():
            rows[table.at(row, columns)] += n
    return Table(columns, rows)
