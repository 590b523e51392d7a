"""map, filter, flat_map and split: stateless, row by row."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.map import BatchMap, Call, IncrementalMap, ReplaceMap, Stateless
from olston.operators.operator import Operator
from olston.operators.weak import Replace, WeakDelta
from olston.widgets.expression import ChooseBy
from olston.widgets.widget import Makes, Operation, Widget


@dataclass(frozen=True)
class Map(Widget):
    """A stateless function: `f(a ⊎ b) = f(a) ⊎ f(b)`. A key is kept only if told.

    Replacements cross only with the values of their key: not if it is known that these may be others afterwards.
    """

    key: tuple[str, ...] | None = None

    def makes(self) -> tuple[Makes, ...]:
        return (Makes(self.name, self.key, self._crossing()),)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        crossing = () if self.name in drifting else self._crossing()
        return (Operation((self.inputs[0].name,), (self.name,), stateless(Call(self.function), crossing)),)

    def _crossing(self) -> tuple[Replace, ...]:
        # an order column may be gone after f, and without it a late older row would win
        return tuple(w for w in replacements(self.inputs[0].weak) if w.key == self.key and w.by is None)


@dataclass(frozen=True)
class FlatMap(Map):
    """A stateless function that gives any number of rows for each."""


@dataclass(frozen=True)
class Filter(Widget):
    """The rows that meet a condition. Keeps the key."""

    def makes(self) -> tuple[Makes, ...]:
        return (Makes(self.name, self.inputs[0].key, replacements(self.inputs[0].weak)),)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        crossing = replacements(self.inputs[0].weak)
        return (Operation((self.inputs[0].name,), (self.name,), stateless(ChooseBy((self.function,)), crossing)),)


@dataclass(frozen=True)
class Split(Widget):
    """Rows by the first condition they meet; null is no match, and `rest` takes what is left.

    All outputs that are made come from one attempt, so they reflect the same snapshots.
    """

    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.outputs) < 2:
            raise WorkflowError(f"{self.name}: a split has two outputs or more; use filter for one condition.")

    def makes(self) -> tuple[Makes, ...]:
        return tuple(Makes(o, self.inputs[0].key, replacements(self.inputs[0].weak)) for o in self.outputs)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        crossing = replacements(self.inputs[0].weak)
        conditions = tuple(self.function.values())
        choose = ChooseBy(conditions, rest=len(self.outputs) > len(conditions))
        return (Operation((self.inputs[0].name,), self.outputs, stateless(choose, crossing, len(self.outputs))),)


def stateless(function: Stateless, crossing: tuple[Replace, ...], outputs: int = 1) -> tuple[Operator, ...]:
    """The variants of a stateless operation; `crossing` are the replacements whose key it keeps."""
    return (
        BatchMap(outputs, function),
        IncrementalMap(outputs, function),
        *(ReplaceMap(w.kind, outputs, function, w.key) for w in crossing),
    )


def replacements(weak: tuple[WeakDelta, ...]) -> tuple[Replace, ...]:
    """The `replace` representations among `weak`, the only ones that cross an operator."""
    return tuple(w for w in weak if isinstance(w, Replace))
