"""join: inner or left, by equality of columns [3.2]."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.join import (
    AsyncBatchJoin,
    AsyncLeftJoin,
    AsyncRightJoin,
    BatchJoin,
    IncrementalJoin,
    IncrementalLeftJoin,
    ReplaceLeftJoin,
    ReplaceRightJoin,
    SupersedingRightJoin,
    TouchedKeysJoin,
)
from olston.operators.operator import Operator
from olston.operators.weak import Replace, WeakDelta, replace
from olston.widgets.map import replacements
from olston.widgets.widget import Makes, Operation, Widget


@dataclass(frozen=True)
class Join(Widget):
    """Rows of the left with the rows of the right that are equal in `on`; columns are those of Spark's USING."""

    on: tuple[str, ...] = ()
    how: str = "inner"

    def __post_init__(self) -> None:
        if self.how not in ("inner", "left"):
            raise WorkflowError(f"{self.name}: how={self.how!r}; a join is 'inner' or 'left'.")
        if not self.on:
            raise WorkflowError(f"{self.name}: join without columns; give on='column' or a list of them.")
        if len(set(self.on)) < len(self.on):
            raise WorkflowError(f"{self.name}: join on {', '.join(self.on)}: a column is named twice.")

    def makes(self) -> tuple[Makes, ...]:
        weak = {w.kind: w for w in (*self._from_left(), *self._from_right(), *self._changing_right())}
        return (Makes(self.name, self._key(), tuple(weak.values())),)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        on, how = self.on, self.how
        operators: list[Operator] = [BatchJoin(on, how), AsyncBatchJoin(on, how)]
        if how == "inner":
            operators += [IncrementalJoin(on), AsyncLeftJoin(on), AsyncRightJoin(on)]
        else:
            operators += [IncrementalLeftJoin(on), AsyncLeftJoin(on, how), TouchedKeysJoin(on)]
        operators += [ReplaceLeftJoin(w.kind, on, how, w.key) for w in self._from_left()]
        operators += [ReplaceRightJoin(w.kind, on, w.key) for w in self._from_right()]
        operators += [SupersedingRightJoin(w.kind, on, w.key) for w in self._changing_right()]
        return (Operation((self.inputs[0].name, self.inputs[1].name), (self.name,), tuple(operators)),)

    def _key(self) -> tuple[str, ...] | None:
        """The key of one side where the other is unique on `on`."""
        left, right = self.inputs
        if left.key is not None and unique_on(right.key, self.on):
            return left.key
        if right.key is not None and unique_on(left.key, self.on) and self.how == "inner":
            return right.key
        return None

    def _from_left(self) -> list[Replace]:
        return self._crossing(self.inputs[0].weak)

    def _from_right(self) -> list[Replace]:
        # in a left join a right-hand row that goes leaves a row behind: replacement by its key would lose it
        if self.how != "inner":
            return []
        return self._crossing(self.inputs[1].weak)

    def _changing_right(self) -> list[Replace]:
        """By the key of the right, where it has one row in every snapshot, and is one of the columns that are equal."""
        right = self.inputs[1]
        if self.how != "inner" or len(right.pathways) > 1 or not right.key or not unique_on(right.key, self.on):
            return []
        found = replace(right.key, unique=False)
        return [] if found in self._from_right() else [found]

    def _crossing(self, weak: tuple[WeakDelta, ...]) -> list[Replace]:
        # not by order: a row that met nothing leaves no tombstone that a late row could lose to, as it may meet one yet
        # not unique: where different snapshots met, a key may have several rows
        return [replace(w.key, unique=False) for w in replacements(weak) if w.by is None]


def unique_on(key: tuple[str, ...] | None, on: tuple[str, ...]) -> bool:
    """Whether rows with such a key are unique on the columns `on`."""
    return key is not None and set(key) <= set(on)
