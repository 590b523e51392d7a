"""extract: the newest row of each key, then a function of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.columns import ORDER
from olston.operators.extract import BatchExtract, IncrementalExtract, Newest
from olston.operators.weak import Replace, replace
from olston.widgets.widget import Makes, Operation, Widget


@dataclass(frozen=True)
class Extract(Widget):
    """`key` and `order_by` name input columns; the newest row of a key wins (ties: the later block, then the
    greatest row), then the function; if it gives no rows, the key's old rows go."""

    key: tuple[str, ...] = ()
    order_by: str | None = None

    def __post_init__(self) -> None:
        if not self.key:
            raise WorkflowError(f"{self.name}: extract keeps the newest row of each key; give key='column' or a list.")

    def makes(self) -> tuple[Makes, ...]:
        return (Makes(self.name, None, (self._weak,)),)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        newest = Newest(self.function, self.key, self.order_by, self._ordered, not self._arrival_tells)
        operators = (BatchExtract(newest), IncrementalExtract(self._weak.kind, newest))
        return (Operation((self.inputs[0].name,), (self.name,), operators),)

    @property
    def _weak(self) -> Replace:
        # one page has many links: a strong delta of them does not show all rows of a key
        return replace(self.key, self.order_by, unique=False, by=ORDER if self._ordered else None)

    @property
    def _ordered(self) -> bool:
        """Whether a later block may bring an older row."""
        return self.order_by is not None or not self._arrival_tells

    @property
    def _arrival_tells(self) -> bool:
        """Whether of two rows of different blocks one always arrived later, and it is known which."""
        return len(self.inputs[0].pathways) == 1 and self.inputs[0].knows_arrival
