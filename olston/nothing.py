"""What a workflow makes of nothing.

A consumer of deltas alone begins with nothing, and the first delta starts from what the output is before anything has
arrived. So that must be nothing too: rows that are there already would come by no delta.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from olston.block import BASE
from olston.errors import WorkflowError
from olston.failure import reason
from olston.operators.columns import View, see
from olston.operators.operand import Operand
from olston.widgets.batch import Batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from olston.workflow import Workflow


def refuse_rows_of_nothing(workflow: Workflow, empty: Mapping[str, DataFrame]) -> None:
    """An error if a consumer of deltas alone would miss rows; `empty` has the columns of each channel.

    Only a batch job may have rows before anything has arrived: other widgets make nothing of nothing, and a global
    aggregate was refused when the output was declared. So only where there is one, Spark is asked.
    """
    for name, output in workflow.outputs.items():
        if BASE in output.accepts:
            continue
        upstream = {c for p in workflow.channels[name].pathways for c in (*p.through, name)}
        widgets = {workflow.channels[c].widget for c in upstream}
        jobs = [w.name for w in workflow.widgets.values() if w.name in widgets and isinstance(w, Batch)]
        if not jobs:
            continue
        try:
            found = see(_of_nothing(workflow, widgets, empty)[name], View.PUBLIC).limit(1).collect()
        except Exception as error:
            raise WorkflowError(
                f"{name}: what {', '.join(jobs)} makes of nothing, which a consumer of deltas alone begins with, "
                f'cannot be found: {reason(error)} Correct it, or accept B too: feed={{"B", …}}.'
            ) from error
        if found:
            raise WorkflowError(
                f"{name}: a consumer of deltas alone begins with nothing, but {', '.join(jobs)} makes rows before "
                f"anything has arrived: {found[0].asDict()}; let it return none if it is given none, or accept B too: "
                'feed={"B", …}.'
            )


def _of_nothing(
    workflow: Workflow, widgets: set[str | None], empty: Mapping[str, DataFrame]
) -> Mapping[str, DataFrame]:
    """What the batch variants of `widgets` make if all sources are empty, not computed yet."""
    made = {name: rows for name, rows in empty.items() if workflow.channels[name].is_source}
    for widget in (w for w in workflow.widgets.values() if w.name in widgets):
        for operation in widget.operations():
            batch = next(o for o in operation.operators if not o.signature.incremental)
            rows = batch.run([Operand(see(made[i], batch.view)) for i in operation.inputs])
            made.update(zip(operation.outputs, rows, strict=True))
    return made
