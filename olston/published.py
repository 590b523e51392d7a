"""Published tables: plain Delta tables that hold what a consumer was given, and nothing of olston's (DESIGN 4).

Each delivery is one commit, so a reader sees the content before or after it. Deliveries are numbered in the log of
the table itself, so that of two schedulers that deliver the same number one does; what the log says counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from olston import table
from olston.block import BASE, MONOTONE, Block, is_strong
from olston.errors import BlockError, OlstonError, StoreError
from olston.failure import failed, raise_if_full
from olston.operators import bag
from olston.operators.columns import PREFIX, WEIGHT, anti, col, conjunction, few, key_columns, semi
from olston.operators.operand import Operand
from olston.operators.weak import Increment, Replace
from olston.provenance import Provenance
from olston.schema import nullable
from olston.store import Store, folder

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_IN_PLACE = "delta.enableDeletionVectors"
"""Lets a row be changed without writing its whole file anew."""
_NEW = f"{PREFIX}new_"


@dataclass(frozen=True)
class Delivery:
    """What a consumer holds since delivery `number`, the block that brought it, and the version of the table.

    `now` is that of the plan, `delivered_at` by the clock; `rows` is how many were written for it. A feed has no
    version; without content nobody knows what the consumer holds.
    """

    number: int
    version: int | None
    content: Provenance | None
    block: str
    attempt: str
    digest: str = ""
    now: int = 0
    delivered_at: int = 0
    rows: int = 0


class Published:
    """The table of one output."""

    def __init__(self, store: Store, output: str) -> None:
        self._store, self._output = store, output
        self._publication = store.workflow.outputs[output]
        self._key = store.workflow.channels[output].key
        self._series = f"olston:{store.workflow.name}:{output}"

    def path(self, session: SparkSession) -> str | None:
        """Where the table lies; `None` if it has a name and nobody has made it yet."""
        name = self._publication.table
        if name is None:
            return self._store.path(f"published/{folder(self._output)}")
        if not session.catalog.tableExists(name):
            return None
        return str(session.sql(f"DESCRIBE DETAIL {name}").select("location").first()[0])  # type: ignore[index]

    def last(self, session: SparkSession) -> int:
        """The number of the last delivery, 0 before the first."""
        path = self.path(session)
        there = path is not None and table.exists(session, path)
        return table.last_number(session, path, self._series) if there and path is not None else 0

    def deliveries(self, session: SparkSession) -> Iterator[Delivery]:
        """The deliveries that the table's own log tells of, the newest first."""
        path = self.path(session)
        if path is not None and table.exists(session, path):
            yield from (_delivery(c) for c in table.history(session, path) if self._is_own(c))

    def held(self, session: SparkSession) -> Delivery | None:
        """What the table's own log says that the consumer holds; `None` before the first delivery."""
        number = self.last(session)
        if not number:
            return None
        for delivery in self.deliveries(session):
            if delivery.number == number:
                return delivery
        raise StoreError(
            f"{self._output}: delivery {number} to {self.path(session)} is not in its log any more, so what the table "
            "holds is not known; refresh it in full."
        )

    def read(self, session: SparkSession, version: int | None = None) -> DataFrame:
        """The table as it is, or as of a version; if nothing but tidying up happened since, these are the same."""
        path = self.path(session)
        if path is None or not table.exists(session, path):
            fault = "nothing was delivered yet; refresh it."
            if version is not None:
                fault = f"its table is not at {path} any more; refresh({self._output!r}, full=True) writes it anew."
            raise StoreError(f"{self._output}: {fault}", code="NOTHING_HELD")
        reader = session.read.format("delta")
        if version is not None and table.changed_since(session, path, version):
            reader = reader.option("versionAsOf", version)
        return reader.load(path)

    def _is_own(self, commit: table.Commit) -> bool:
        """Whether it is a delivery to this output."""
        said = commit.metadata
        own = said.get("output"), said.get("workflow", self._store.workflow.name)
        return "delivery" in said and own == (self._output, self._store.workflow.name)

    def _refuse_foreign(self, session: SparkSession, path: str, number: int) -> None:
        """An error unless the table holds what delivery `number - 1` left; a later delivery is found out later."""
        by = "is gone"
        for commit in table.history(session, path):
            if self._is_own(commit):
                if commit.metadata["delivery"] >= number - 1:
                    return
                by = f"was set back to delivery {commit.metadata['delivery']}"
                break
            if commit.changes:
                by = f"was changed by somebody else in version {commit.version}"
                break
        raise StoreError(
            f"{self._output}: the table at {path} {by}, after delivery {number - 1}; it is written anew. What is to "
            "stay belongs into a source or an operation of the workflow.",
            code="FOREIGN_COMMIT",
        )

    def deliver(
        self,
        session: SparkSession,
        block: Block,
        rows: Operand,
        content: Provenance,
        number: int,
        attempt: str,
        digest: str = "",
        said: Mapping[str, Any] | None = None,
    ) -> Delivery:
        """Give `block`, whose public rows are `rows`, to the consumer, who then holds `content`, as delivery `number`.

        Fails without a trace if another delivery has that number, or if the table is not as the one before left it
        and `block` would not replace all of it. `session` must not be used by another thread. `digest` is that of the
        definition the content was made by; the commit also says `said`.
        """
        rows = replace(rows, rows=table.within(session, rows.rows))
        metadata = {
            "workflow": self._store.workflow.name, "output": self._output, "block": block.id, "digest": digest,
            "content": [sorted(e) for e in content], **(said or {}),
        }  # fmt: skip
        path = None
        try:
            path = self._made(session)
            if block.kind != BASE:
                self._refuse_foreign(session, path, number)
            with table.numbered(session, path, self._series, number, attempt, metadata):
                if block.kind == BASE:
                    self._overwrite(session, rows.rows, path)
                elif block.kind == MONOTONE or rows.monotone:
                    self._append(rows.added(), path)
                else:
                    self._change(session, path, block, rows)
            return _delivery(table.committed(session, path, attempt))
        except OlstonError:
            raise
        except Exception as error:
            raise_if_full(path or self._output, error)
            raise failed(f"{self._output}: delivery {number}, of {block}, failed", error) from error

    def _append(self, rows: DataFrame, path: str) -> None:
        rows.write.format("delta").mode("append").option(_IN_PLACE, "true").save(path)

    def _overwrite(self, session: SparkSession, rows: DataFrame, path: str) -> None:
        writer = rows.write.format("delta").mode("overwrite").option(_IN_PLACE, "true")
        if table.exists(session, path):
            held = session.read.format("delta").load(path).schema
            if nullable(held) != nullable(rows.schema):
                writer = writer.option("overwriteSchema", "true")
            elif self._publication.cluster_by:  # with a condition Delta does not forget the clustering
                writer = writer.option("replaceWhere", "true")
        writer.save(path)

    def _change(self, session: SparkSession, path: str, block: Block, given: Operand) -> None:
        """Deliver a delta with deletions: in place if every row it adds takes the place of one it deletes, and no other
        row there has its key: where different snapshots met, a key may have several."""
        held = session.read.format("delta").load(path)
        if is_strong(block.kind):
            delta = given
        else:
            delta = Operand(self._strong(held, block, given), "Δ", given.size, given.label)
        key = key_columns(self._key or (), held.columns)
        if key and self._only_changes(delta, key) and _are_alone(held, delta, key):
            if delta is given:
                _refuse_missing(held, delta)
            self._merge(session, path, delta, key)
        else:
            changed = bag.apply(held, delta.rows, small=delta.small, label=delta.label)
            self._overwrite(session, changed, path)

    def _strong(self, held: DataFrame, block: Block, given: Operand) -> DataFrame:
        """A weak delta as a strong one, by what the table holds: the user's columns only."""
        weak = self._store.weak(self._output, block.kind)
        if isinstance(weak, Increment) or (isinstance(weak, Replace) and weak.by is not None):
            raise StoreError(
                f"{self._output}: {block.kind} needs columns that a published table does not have; deliver it as a "
                "base or a strong delta."
            )
        return weak.strengthened(held, given)

    def _only_changes(self, delta: Operand, key: Sequence[str]) -> bool:
        """Whether every key that the delta adds is one that it deletes."""
        added, deleted = delta.rows.where(f"{WEIGHT} > 0"), delta.rows.where(f"{WEIGHT} < 0")
        return anti(added, deleted, list(key), delta.small).isEmpty()

    def _merge(self, session: SparkSession, path: str, delta: Operand, key: Sequence[str]) -> None:
        """Change or delete rows by key."""
        from delta.tables import DeltaTable
        from pyspark.sql import functions as F

        columns = bag.identity(delta.rows)
        old, new = delta.rows.where(f"{WEIGHT} < 0"), delta.rows.where(f"{WEIGHT} > 0")
        names = [f"{PREFIX}k{i}" for i in range(len(key))]
        keys = old.select(*[col(c).alias(n) for c, n in zip(key, names, strict=True)])
        values = new.select(*[col(c).alias(_NEW + c) for c in columns], F.lit(True).alias(f"{_NEW}there"))
        pairs = conjunction(col(n).eqNullSafe(col(_NEW + c)) for c, n in zip(key, names, strict=True))
        changes = keys.join(values, pairs, "left")
        same = conjunction(_of("t", c).eqNullSafe(_of("s", n)) for c, n in zip(key, names, strict=True))
        merge = DeltaTable.forPath(session, path).alias("t").merge(few(changes, delta.small).alias("s"), same)
        merge = merge.whenMatchedDelete(_of("s", f"{_NEW}there").isNull())
        merge.whenMatchedUpdate(set={_quoted(c): _of("s", _NEW + c) for c in columns}).execute()

    def _made(self, session: SparkSession) -> str:
        """Where the table lies. One with a name or clustering is made first; any other by its first delivery."""
        from delta.tables import DeltaTable

        path, name, cluster_by = self.path(session), self._publication.table, self._publication.cluster_by
        if path is not None and table.exists(session, path):
            self._cluster(session, path)
            return path
        if path is not None and not cluster_by:
            return path
        builder = DeltaTable.createIfNotExists(session)
        builder = builder.tableName(name) if name is not None else builder.location(str(path))
        builder = builder.addColumns(self._store.schemas.public(self._output)).property(_IN_PLACE, "true")
        (builder.clusterBy(*map(_quoted, cluster_by)) if cluster_by else builder).execute()
        return str(self.path(session))

    def _cluster(self, session: SparkSession, path: str) -> None:
        """Cluster the table as declared, if it is not and can be."""
        wanted, place = self._publication.cluster_by, f"delta.{_quoted(path)}"
        if not wanted or not set(wanted) <= set(session.read.format("delta").load(path).columns):
            return
        (found,) = session.sql(f"DESCRIBE DETAIL {place}").select("clusteringColumns").collect()
        if [c.strip("`") for c in found[0]] != list(wanted):
            session.sql(f"ALTER TABLE {place} CLUSTER BY ({', '.join(map(_quoted, wanted))})")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _of(alias: str, name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(f"{alias}.{_quoted(name)}")


def _are_alone(held: DataFrame, delta: Operand, key: Sequence[str]) -> bool:
    """Whether each key that changes has one row there, which goes, and at most one that comes."""
    from pyspark.sql import functions as F

    there = semi(held, delta.rows.where(f"{WEIGHT} < 0"), key, delta.small)

    def counted(rows: DataFrame, come: Column, gone: Column, had: Column) -> DataFrame:
        counts = {f"{PREFIX}come": come, f"{PREFIX}gone": gone, f"{PREFIX}had": had}
        return rows.select(*map(col, key), *[n.cast("bigint").alias(name) for name, n in counts.items()])

    zero, weight = F.lit(0), col(WEIGHT)
    both = bag.union(
        counted(delta.rows, F.greatest(weight, zero), F.greatest(-weight, zero), zero),
        counted(there, zero, zero, F.lit(1)),
    )
    sums = both.groupBy(*map(col, key)).agg(*[F.sum(c).alias(c) for c in both.columns[len(key) :]])
    return sums.where(f"{PREFIX}come > 1 OR {PREFIX}gone <> 1 OR {PREFIX}had <> 1").isEmpty()


def _refuse_missing(held: DataFrame, delta: Operand) -> None:
    """An error unless every row deleted is there."""
    old = delta.rows.where(f"{WEIGHT} < 0")
    missing = anti(old, semi(held, old, bag.identity(old), delta.small), bag.identity(old), delta.small)
    for row in missing.limit(1).collect():
        raise BlockError(f"{delta.label} deletes a row that is not there: {row.asDict()}", code=bag.MISSING)


def _delivery(commit: table.Commit) -> Delivery:
    said: Mapping[str, Any] = commit.metadata
    return Delivery(
        said["delivery"],
        commit.version,
        Provenance(frozenset(e) for e in said["content"]),
        said["block"],
        said["attempt"],
        said.get("digest", ""),
        said.get("now", 0),
        said.get("delivered_at", 0),
        commit.rows,
    )
