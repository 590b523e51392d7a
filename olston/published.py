"""Published tables: plain Delta tables that hold what a consumer was given, and nothing of olston's (DESIGN 4).

Each delivery is one commit, so a reader sees the content before or after it. Deliveries are numbered in the log of
the table itself, so that of two schedulers that deliver the same number one does; what the log says counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston import table
from olston.block import BASE, MONOTONE, Block, is_strong
from olston.errors import StoreError
from olston.operators import bag
from olston.operators.columns import PREFIX, WEIGHT, anti, col, conjunction, few, semi
from olston.operators.operand import Operand
from olston.provenance import Provenance
from olston.store import Store, folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NEW = f"{PREFIX}new_"


@dataclass(frozen=True)
class Delivery:
    """What a consumer holds since delivery `number`, the block that brought it, and the version of the table."""

    number: int
    version: int
    content: Provenance
    block: str
    attempt: str


class Published:
    """The table of one output."""

    def __init__(self, store: Store, output: str) -> None:
        self._store, self._output = store, output
        self._publication = store.workflow.outputs[output]
        self._key = store.workflow.channels[output].key
        self._series = f"olston:{store.workflow.name}:{output}"

    def path(self, session: SparkSession) -> str:
        """Where the table lies."""
        name = self._publication.table
        if name is None:
            return self._store.path(f"published/{folder(self._output)}")
        if not session.catalog.tableExists(name):
            self._create(session, name)
        return str(session.sql(f"DESCRIBE DETAIL {name}").select("location").first()[0])  # type: ignore[index]

    def held(self, session: SparkSession) -> Delivery | None:
        """What the table's own log says that the consumer holds; `None` before the first delivery."""
        path = self.path(session)
        if not table.exists(session, path):
            return None
        number = table.last_number(session, path, self._series)
        if not number:
            return None
        for commit in table.history(session, path):
            if commit.metadata.get("delivery") == number and commit.metadata.get("output") == self._output:
                return _delivery(commit)
        raise StoreError(
            f"{self._output}: delivery {number} to {path} is not in its log any more, so what the table holds is not "
            "known; refresh it in full."
        )

    def read(self, session: SparkSession, version: int | None = None) -> DataFrame:
        """The table as it is, or as of a version."""
        reader = session.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(self.path(session))

    def deliver(
        self, session: SparkSession, block: Block, rows: Operand, content: Provenance, number: int, attempt: str
    ) -> Delivery:
        """Give `block`, whose public rows are `rows`, to the consumer, who then holds `content`, as delivery `number`.

        Fails without a trace if another delivery has that number. `session` must not be used by another thread.
        """
        path = self.path(session)
        metadata = {
            "output": self._output, "delivery": number, "block": block.id,
            "content": [sorted(e) for e in content],
        }  # fmt: skip
        with table.numbered(session, path, self._series, number, attempt, metadata):
            if block.kind == BASE:
                self._write(rows.rows, path, "overwrite")
            elif block.kind == MONOTONE:
                self._write(rows.added(), path, "append")
            else:
                self._change(session, path, block, rows)
        return _delivery(table.committed(session, path, attempt))

    def _write(self, rows: DataFrame, path: str, mode: str) -> None:
        writer = rows.write.format("delta").mode(mode).option("delta.enableDeletionVectors", "true")
        if mode == "overwrite":
            writer = writer.option("overwriteSchema", "true")
            if self._publication.cluster_by:
                writer = writer.clusterBy(*self._publication.cluster_by)
        writer.save(path)

    def _change(self, session: SparkSession, path: str, block: Block, given: Operand) -> None:
        """Deliver a delta with deletions: in place if every row it adds takes the place of one it deletes."""
        held = session.read.format("delta").load(path)
        if not is_strong(block.kind):
            weak = self._store.weak(self._output, block.kind)
            given = Operand(weak.strengthened(held, given), "Δ", given.size, given.label)
        if self._key and self._only_changes(given, self._key):
            self._merge(session, path, given, self._key)
        else:
            self._write(bag.apply(held, given.rows, small=given.small, label=given.label), path, "overwrite")

    def _only_changes(self, delta: Operand, key: Sequence[str]) -> bool:
        """Whether every key that the delta adds is one that it deletes."""
        added, deleted = delta.rows.where(f"{WEIGHT} > 0"), delta.rows.where(f"{WEIGHT} < 0")
        return anti(added, deleted, list(key), delta.small).isEmpty()

    def _merge(self, session: SparkSession, path: str, delta: Operand, key: Sequence[str]) -> None:
        """Change or delete rows by key. Their old values must be what the delta says, else it is an error."""
        from delta.tables import DeltaTable
        from pyspark.sql import functions as F

        columns = bag.identity(delta.rows)
        old, new = delta.rows.where(f"{WEIGHT} < 0"), delta.rows.where(f"{WEIGHT} > 0")
        held = session.read.format("delta").load(path)
        _refuse_missing(held, old, delta)
        names = [f"{PREFIX}k{i}" for i in range(len(key))]
        keys = old.select(*[col(c).alias(n) for c, n in zip(key, names, strict=True)])
        values = new.select(*[col(c).alias(_NEW + c) for c in columns], F.lit(True).alias(f"{_NEW}there"))
        pairs = conjunction(col(n).eqNullSafe(col(_NEW + c)) for c, n in zip(key, names, strict=True))
        changes = keys.join(values, pairs, "left")
        same = conjunction(F.col(f"t.`{c}`").eqNullSafe(F.col(f"s.{n}")) for c, n in zip(key, names, strict=True))
        merge = DeltaTable.forPath(session, path).alias("t").merge(few(changes, delta.small).alias("s"), same)
        merge = merge.whenMatchedDelete(F.col(f"s.{_NEW}there").isNull())
        merge.whenMatchedUpdate(set={f"`{c}`": F.col(f"s.`{_NEW}{c}`") for c in columns}).execute()

    def _create(self, session: SparkSession, name: str) -> None:
        empty = session.createDataFrame([], self._store.schemas.public(self._output))
        empty.write.format("delta").option("delta.enableDeletionVectors", "true").saveAsTable(name)


def _refuse_missing(held: DataFrame, old: DataFrame, delta: Operand) -> None:
    """An error unless every row deleted is there."""
    missing = anti(old, semi(held, old, bag.identity(old), delta.small), bag.identity(old), delta.small)
    for row in missing.limit(1).collect():
        raise StoreError(f"{delta.label} deletes a row that is not there: {row.asDict()}", code=bag.MISSING)


def _delivery(commit: table.Commit) -> Delivery:
    said: Mapping[str, Any] = commit.metadata
    return Delivery(
        said["delivery"],
        commit.version,
        Provenance(frozenset(e) for e in said["content"]),
        said["block"],
        said["attempt"],
    )
