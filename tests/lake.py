"""A store on real Delta tables, and short words for what tests do with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from threading import Barrier, Thread
from typing import TYPE_CHECKING, Any

from olston import ingest, session, table
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, MONOTONE, Block, Kind, is_strong, is_weak
from olston.content import Content, Part
from olston.operators.columns import BLOCK, DELETED, WEIGHT, View, see
from olston.operators.operand import Operand
from olston.provenance import Provenance, Stamp
from olston.scheduler.compile import compile_workflow
from olston.step import Inline, Step, Stored, run
from olston.store import Store
from olston.workflow import Workflow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Rows = Counter[tuple[Any, ...]]


class Lake:
    """The store of `workflow` below `home`."""

    def __init__(self, spark: SparkSession, home: Path | str, workflow: Workflow) -> None:
        self.session, self.store = spark, Store(spark, str(home), workflow)
        network = compile_workflow(workflow, drifting=self.store.schemas.drifting)
        self.operators = {v.name: v for v in network.variants}

    def frame(self, channel: str, rows: Iterable[Any], more: str = "") -> DataFrame:
        """Rows with the columns of `channel`, and `more`."""
        from pyspark.sql.types import StructType

        added = StructType.fromDDL(more) if more else StructType()
        assert isinstance(added, StructType)
        fields = [*self.store.schemas.public(channel).fields, *added.fields]
        return self.session.createDataFrame(list(rows), StructType(fields))

    def arrive(self, channel: str, rows: Iterable[Any], stamp: Stamp, after: Stamp = 0, kind: str = "append") -> Stored:
        """Rows that arrive at a source; of a delta with a weight, of a replacement with `_deleted` at their end."""
        more = {"delta": f"{WEIGHT} bigint", "replace": f"{DELETED} boolean"}.get(kind, "")
        offered = self.frame(channel, rows, more)
        return ingest.write(self.store, self.session, channel, offered, kind, new_attempt()).at(stamp, after)

    def deltas(self, channel: str, *deltas: Mapping[tuple[Any, ...], int]) -> list[Stored]:
        """Abutting deltas, in one commit: readers cannot tell, and thirty commits take their time."""
        from pyspark.sql import functions as F

        attempts = [new_attempt() for _ in deltas]
        rows = [(*row, w, a) for a, delta in zip(attempts, deltas, strict=True) for row, w in delta.items()]
        frame = self.frame(channel, rows, f"{WEIGHT} bigint, which string")
        shaped = self.store.shaped(channel, DELTA, frame.drop("which"))
        _, first = self.store.write_delta(channel, DELTA, shaped.limit(0), new_attempt(), {}, "")
        where = first.parts[0].table
        table.append(
            frame.select(*shaped.columns, F.col("which").alias(BLOCK)), self.store.path(where), new_attempt(), {},
            partition_by=[BLOCK],
        )  # fmt: skip
        made = []
        for i, (attempt, delta) in enumerate(zip(attempts, deltas, strict=True)):
            weights = set(delta.values())
            kind = DELTA if min(weights, default=1) < 0 else MONOTONE
            label = f"{channel} {kind} to {i + 1}, made by step{i + 1}.incremental"
            part = Part(where, attempt, kind, len(delta), 1000, label, weights <= {1})
            block = Block(channel, kind, Provenance.at(i + 1), Provenance.at(i), len(delta), True, attempt)
            made.append(Stored(block, Content(None, (part,))))
        return made

    def nothing(self, channel: str, stamp: Stamp = 0) -> Stored:
        """The empty relation that a timeline begins with."""
        return Stored(Block(channel, BASE, Provenance.at(stamp)), Content())

    def step(self, variant: str, operands: Sequence[Stored | Inline], *results: Block) -> Step:
        operator = self.operators[variant].operator
        assert operator is not None
        return Step(variant, operator, tuple(operands), results)

    def run(
        self,
        variant: str,
        operands: Sequence[Stored | Inline],
        target: Provenance,
        source: Provenance | None = None,
        kind: Kind | None = None,
    ) -> Stored:
        """The one result of a variant, called as in plans: `digests.incremental`, `pages.c.ΔB`."""
        found = self.operators[variant]
        block = Block(found.outputs[0], kind or found.signature.writes, target, source)
        (made,) = run(self.store, self.session, self.step(variant, operands, block), new_attempt())
        return made

    def apply(self, base: Stored, *deltas: Stored) -> Stored:
        """`base` with `deltas` on top, strong or weak."""
        for delta in deltas:
            assert delta.block.source is not None
            kind = "Δ" if is_strong(delta.block.kind) else delta.block.kind
            target = base.block.target.apply(delta.block.source, delta.block.target)
            base = self.run(f"{base.block.channel}.c.{kind}B", [base, delta], target)
        return base

    def frame_of(self, stored: Stored) -> DataFrame:
        """What a consumer would see of a block."""
        block = stored.block
        rows = self.store.read(self.session, block.channel, block.kind, stored.content)
        return see(rows, View.PUBLIC, tombstones=is_weak(block.kind))

    def operand(self, stored: Stored) -> Operand:
        """A block as it is delivered."""
        block = stored.block
        found = self.store.operand(self.session, block.channel, block.kind, stored.content)
        return Operand(self.frame_of(stored), found.kind, found.size, found.label)

    def rows(self, stored: Stored) -> Rows:
        """How often each row is there; in a strong delta, by how much it changes."""
        return bag_of(self.frame_of(stored))


def bag_of(frame: DataFrame) -> Rows:
    """Rows of a DataFrame, with its weights if it has them."""
    found: Rows = Counter()
    for row in frame.collect():
        fields = row.asDict()
        weight = fields.pop(WEIGHT, 1)
        found[_hashable(list(fields.values()))] += weight
    return found


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value


def bag(*rows: Any) -> Rows:
    return Counter(rows)


def jobs(spark: SparkSession) -> int:
    """How many jobs Spark has run so far."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def at_once(spark: SparkSession, *tries: Callable[[SparkSession], Any]) -> list[Any]:
    """What each of `tries` returns, or the error it ends with, if all begin at once, each with a session of its own."""
    found: list[Any] = [None] * len(tries)
    barrier = Barrier(len(tries))

    def go(i: int, own: SparkSession) -> None:
        barrier.wait()
        try:
            found[i] = tries[i](own)
        except Exception as error:
            found[i] = error

    threads = [Thread(target=go, args=(i, session.clone(spark))) for i in range(len(tries))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
