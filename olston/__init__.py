"""olston schedules asynchronous incremental workflows for batch data products on Spark and Delta."""

import typing

from olston.aggregates import agg, avg, count, max, min, stddev, sum, var
from olston.block import Block
from olston.channel import Channel
from olston.clock import Clock, ManualClock, SystemClock
from olston.constraints import Inconsistency, Staleness
from olston.errors import (
    CatalogError,
    InfeasibleError,
    IngestError,
    OlstonError,
    SchemaError,
    StepError,
    StoreError,
    UnknownNameError,
    WorkflowError,
)
from olston.operators.weak import WeakDelta
from olston.pathway import Pathway
from olston.provenance import Provenance
from olston.timeline import Timeline
from olston.workflow import Workflow

if typing.TYPE_CHECKING:
    from olston.engine import Engine

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # databases and Spark are not needed to declare a workflow, and take longer to import than all the rest
    if name == "Engine":
        from olston.engine import Engine

        return Engine
    raise AttributeError(f"module 'olston' has no attribute {name!r}")


__all__ = [
    "Block",
    "CatalogError",
    "Channel",
    "Clock",
    "Engine",
    "Inconsistency",
    "InfeasibleError",
    "IngestError",
    "ManualClock",
    "OlstonError",
    "Pathway",
    "Provenance",
    "SchemaError",
    "Staleness",
    "StepError",
    "StoreError",
    "SystemClock",
    "Timeline",
    "UnknownNameError",
    "WeakDelta",
    "Workflow",
    "WorkflowError",
    "agg",
    "avg",
    "count",
    "max",
    "min",
    "stddev",
    "sum",
    "var",
]
