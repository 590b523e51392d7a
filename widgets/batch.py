"""batch: any function of whole tables."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from olston.errors import WorkflowError
from olston.operators.batch import Batch as BatchOperator
from olston.widgets.widget import Makes, Operation, Widget


@dataclass(frozen=True)
class Batch(Widget):
    """Calls `function(*dataframes)` on one base per input; with `sync`, bases that reflect one moment."""

    sync: bool = False

    def __post_init__(self) -> None:
        if not self.inputs:
            raise WorkflowError(f"{self.name}: a batch job reads at least one channel.")

    def makes(self) -> tuple[Makes, ...]:
        return (Makes(self.name),)

    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        operator = BatchOperator(len(self.inputs), self.sync, self.function)
        return (Operation(tuple(c.name for c in self.inputs), (self.name,), (operator,)),)
