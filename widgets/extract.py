"""extract: the newest row of each key, then a function of it."""

from __future__ import annotations

from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.extract import BatchExtract, IncrementalExtract
from olston.operators.weak import WeakDelta, replace
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

    def operations(self) -> tuple[Operation, ...]:
        operators = (BatchExtract(), IncrementalExtract(self._weak.kind))
        return (Operation((self.inputs[0].name,), (self.name,), operators),)

    @property
    def _weak(self) -> WeakDelta:
        # one page has many links: a strong delta of them does not show all rows of a key
        return replace(self.key, self.order_by, unique=False)
