"""Bag union of two channels or more; of n it is a cascade [3.3, 4.2]."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.union import AsyncBatchUnion, AsyncLeftUnion, AsyncRightUnion, BatchUnion, IncrementalUnion
from olston.widgets.widget import Makes, Operation, Widget


@dataclass(frozen=True)
class Union(Widget):
    """All rows of all inputs, as often as they occur. A union has no key."""

    def __post_init__(self) -> None:
        if len(self.inputs) < 2:
            raise WorkflowError(f"{self.name}: a union has two inputs or more.")

    def makes(self) -> tuple[Makes, ...]:
        return (*(Makes(n, internal=True) for n in self._internal()), Makes(self.name))

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        variants = (BatchUnion(), AsyncBatchUnion(), IncrementalUnion(), AsyncLeftUnion(), AsyncRightUnion())
        made, left = [], self.inputs[0].name
        for right, target in zip(self.inputs[1:], [*self._internal(), self.name], strict=True):
            role = "" if target == self.name else target
            made.append(Operation((left, right.name), (target,), variants, role))
            left = target
        return tuple(made)

    def _internal(self) -> list[str]:
        return [f"{self.name}#{i}" for i in range(1, len(self.inputs) - 1)]
