"""map, filter, flat_map and split: stateless, row by row."""

from __future__ import annotations

from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.map import BatchMap, IncrementalMap, ReplaceMap
from olston.operators.operator import Operator
from olston.operators.weak import WeakDelta
from olston.widgets.widget import Makes, Operation, Widget


@dataclass(frozen=True)
class Map(Widget):
    """A stateless function: `f(a ⊎ b) = f(a) ⊎ f(b)`. A key is kept only if told."""

    key: tuple[str, ...] | None = None

    def makes(self) -> tuple[Makes, ...]:
        return (Makes(self.name, self.key, self._crossing()),)

    def operations(self) -> tuple[Operation, ...]:
        return (Operation((self.inputs[0].name,), (self.name,), stateless(self._crossing())),)

    def _crossing(self) -> tuple[WeakDelta, ...]:
        # an order column may be gone after f, and without it a late older row would win
        return tuple(w for w in replacements(self.inputs[0].weak) if w.key == self.key and w.order is None)


@dataclass(frozen=True)
class FlatMap(Map):
    """A stateless function that gives any number of rows for each."""


@dataclass(frozen=True)
class Filter(Widget):
    """The rows that meet a condition. Keeps the key."""

    def makes(self) -> tuple[Makes, ...]:
        return (Makes(self.name, self.inputs[0].key, replacements(self.inputs[0].weak)),)

    def operations(self) -> tuple[Operation, ...]:
        crossing = replacements(self.inputs[0].weak)
        return (Operation((self.inputs[0].name,), (self.name,), stateless(crossing)),)


@dataclass(frozen=True)
class Split(Widget):
    """Rows by the first condition they meet; null is no match, and `rest` takes what is left.

    All outputs come from one attempt, so they always reflect the same snapshots.
    """

    outputs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.outputs) < 2:
            raise WorkflowError(f"{self.name}: a split has two outputs or more; use filter for one condition.")

    def makes(self) -> tuple[Makes, ...]:
        return tuple(Makes(o, self.inputs[0].key, replacements(self.inputs[0].weak)) for o in self.outputs)

    def operations(self) -> tuple[Operation, ...]:
        crossing = replacements(self.inputs[0].weak)
        return (Operation((self.inputs[0].name,), self.outputs, stateless(crossing, len(self.outputs))),)


def stateless(crossing: tuple[WeakDelta, ...], outputs: int = 1) -> tuple[Operator, ...]:
    """The variants of a stateless operation; `crossing` are the replacements whose key it keeps."""
    return BatchMap(outputs), IncrementalMap(outputs), *(ReplaceMap(w.kind, outputs) for w in crossing)


def replacements(weak: tuple[WeakDelta, ...]) -> tuple[WeakDelta, ...]:
    """The `replace` representations among `weak`, the only ones that cross an operator."""
    return tuple(w for w in weak if w.name.startswith("replace("))
