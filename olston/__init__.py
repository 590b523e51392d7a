"""olston schedules asynchronous incremental workflows for batch data products on Spark and Delta."""

from olston.aggregates import agg, avg, count, max, min, stddev, sum, var
from olston.block import Block
from olston.channel import Channel
from olston.clock import Clock, ManualClock, SystemClock
from olston.constraints import Inconsistency, Staleness
from olston.errors import (
    BlockError,
    ConstraintError,
    DurationError,
    InfeasibleError,
    IngestError,
    OlstonError,
    OptionError,
    ProblemError,
    ProvenanceError,
    RatesError,
    SchemaError,
    SparkError,
    StepError,
    StoreError,
    TimelineError,
    UnknownNameError,
    WeakDeltaError,
    WorkflowError,
)
from olston.operators.weak import WeakDelta
from olston.pathway import Pathway
from olston.provenance import Provenance
from olston.timeline import Timeline
from olston.workflow import Workflow

__version__ = "0.1.0"

__all__ = [
    "Block",
    "BlockError",
    "Channel",
    "Clock",
    "ConstraintError",
    "DurationError",
    "Inconsistency",
    "InfeasibleError",
    "IngestError",
    "ManualClock",
    "OlstonError",
    "OptionError",
    "Pathway",
    "ProblemError",
    "Provenance",
    "ProvenanceError",
    "RatesError",
    "SchemaError",
    "SparkError",
    "Staleness",
    "StepError",
    "StoreError",
    "SystemClock",
    "Timeline",
    "TimelineError",
    "UnknownNameError",
    "WeakDelta",
    "WeakDeltaError",
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
