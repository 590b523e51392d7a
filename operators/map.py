"""Stateless operators: map, filter, flat_map and split.

`f(a ⊎ b) = f(a) ⊎ f(b)`, so `f` on the added and on the deleted rows of a delta, apart, is the delta of
the result. One function serves all of them; a split has one output per condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from olston.block import BASE, DELTA, Block, Kind
from olston.operators import bag
from olston.operators.columns import DELETED, WEIGHT, View, col
from olston.operators.estimate import Statistics, Work
from olston.operators.operand import Operand
from olston.operators.replace import tombstones
from olston.operators.signature import BASES, DELTAS, Reads, Relaxed, Signature

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Stateless(Protocol):
    """What a stateless operation does with a bag of rows: one bag per output."""

    @property
    def view(self) -> View: ...

    def rows(self, rows: DataFrame) -> tuple[DataFrame, ...]: ...

    def delta(self, delta: Operand) -> tuple[DataFrame, ...]: ...

    def replacement(self, weak: DataFrame, key: Sequence[str]) -> tuple[DataFrame, ...]: ...


@dataclass(frozen=True)
class Call:
    """A function of a DataFrame, which sees the user's columns; of an internal channel, all of them."""

    function: Callable[[Any], Any] = lambda rows: rows
    view: View = View.PUBLIC

    def rows(self, rows: DataFrame) -> tuple[DataFrame, ...]:
        return (self.function(rows),)

    def delta(self, delta: Operand) -> tuple[DataFrame, ...]:
        added = bag.weigh(self.function(delta.added()))
        if delta.monotone:
            return (added,)
        return (bag.net(bag.union(added, bag.weigh(self.function(delta.deleted()), -1))),)

    def replacement(self, weak: DataFrame, key: Sequence[str]) -> tuple[DataFrame, ...]:
        from pyspark.sql import functions as F

        made = self.function(weak.where(f"NOT {DELETED}").drop(DELETED)).withColumn(DELETED, F.lit(False))
        # every key given is superseded, also where the function makes nothing of its rows
        return (bag.union(made, tombstones(weak.select(*map(col, key)).distinct(), made)),)


@dataclass(frozen=True)
class Project:
    """`columns` of every row of an internal channel, one row for each, so a delta is read once."""

    columns: Callable[[DataFrame], Sequence[Column]]
    view = View.STORED

    def rows(self, rows: DataFrame) -> tuple[DataFrame, ...]:
        return (rows.select(*self.columns(rows)),)

    def delta(self, delta: Operand) -> tuple[DataFrame, ...]:
        return (bag.net(delta.rows.select(*self.columns(delta.rows), col(WEIGHT))),)

    def replacement(self, weak: DataFrame, key: Sequence[str]) -> tuple[DataFrame, ...]:
        return (weak.select(*self.columns(weak), col(DELETED)),)


@dataclass(frozen=True)
class Choose:
    """The rows by the first condition they meet; null is no match, and with `rest` the last output takes what is left.

    Rows keep their hidden columns. Where tombstones are kept, a row that is not chosen becomes one. Conditions are
    asked of rows alone, never of tombstones, in which all but the key may be null.
    """

    conditions: tuple[Any, ...]
    rest: bool = False
    view = View.STORED

    def rows(self, rows: DataFrame) -> tuple[DataFrame, ...]:
        from pyspark.sql import functions as F

        conditions = [F.expr(c) if isinstance(c, str) else c for c in self.conditions]
        marked = DELETED in rows.columns
        which = F.when(col(DELETED), -1).when(conditions[0], 0) if marked else F.when(conditions[0], 0)
        for i, condition in enumerate(conditions[1:], 1):
            which = which.when(condition, i)
        place = which.otherwise(len(conditions) if self.rest else -1)
        outputs = range(len(conditions) + self.rest)
        if not marked:
            return tuple(rows.where(place == i) for i in outputs)
        if not _calls_python(rows, place):
            return tuple(rows.withColumn(DELETED, place != i) for i in outputs)
        # Python is called for every row, also if what it returns is not looked at
        living, gone = rows.where(f"NOT {DELETED}"), rows.where(DELETED)
        return tuple(bag.union(living.withColumn(DELETED, place != i), gone) for i in outputs)

    def delta(self, delta: Operand) -> tuple[DataFrame, ...]:
        return self.rows(delta.rows)

    def replacement(self, weak: DataFrame, key: Sequence[str]) -> tuple[DataFrame, ...]:
        return self.rows(weak)


@dataclass(frozen=True)
class BatchMap:
    """Apply the function to a whole base.

    B(T) → B(T)
    """

    outputs: int = 1
    function: Stateless = Call()
    name = "batch"
    signature = Signature((BASES,), BASE)

    @property
    def view(self) -> View:
        return self.function.view

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(base=rows, written=_written(rows, self.outputs, statistics))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return self.function.rows(operands[0].rows)


@dataclass(frozen=True)
class IncrementalMap:
    """Apply the function to the added and to the deleted rows of a delta.

    Δ(T₁ ▷ T₂) → Δ(T₁ ▷ T₂), and of a Δ⁺ a Δ⁺
    """

    outputs: int = 1
    function: Stateless = Call()
    name = "incremental"
    signature = Signature((DELTAS,), DELTA, monotone=True, relaxed=Relaxed.KEEPS)

    @property
    def view(self) -> View:
        return self.function.view

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        return Work.of_each(operands, 0.0, _written(operands[0].rows, self.outputs, statistics))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return self.function.delta(operands[0])


@dataclass(frozen=True)
class ReplaceMap:
    """Apply the function to the rows that supersede others by a key it keeps.

    δ_replace(T₁ ▷ T₂) → δ_replace(T₁ ▷ T₂)
    """

    kind: Kind
    outputs: int = 1
    function: Stateless = Call()
    key: tuple[str, ...] = ()
    name = "replace"

    @cached_property
    def signature(self) -> Signature:
        return Signature((Reads((self.kind,)),), self.kind, relaxed=Relaxed.KEEPS)

    @property
    def view(self) -> View:
        return self.function.view

    def estimate(self, operands: Sequence[Block], statistics: Statistics) -> Work:
        rows = operands[0].rows
        return Work(delta=rows, written=_written(rows, self.outputs, statistics))

    def run(self, operands: Sequence[Operand]) -> tuple[DataFrame, ...]:
        return self.function.replacement(operands[0].rows, self.key)


def _calls_python(rows: DataFrame, value: Column) -> bool:
    """Whether a function of Python has to be called to know `value`."""
    patterns: Any = getattr(rows.sparkSession._jvm, "org.apache.spark.sql.catalyst.trees.TreePattern")
    asked: Any = rows.select(value)._jdf.queryExecution().analyzed().expressions().head()
    return bool(asked.containsPattern(patterns.PYTHON_UDF()))


def _written(rows: float, outputs: int, statistics: Statistics) -> tuple[float, ...]:
    shares = statistics.shares or (statistics.rows / outputs,) * outputs
    return tuple(rows * share for share in shares)
