"""Published tables: plain Delta tables that hold what a consumer was given, and nothing of olston's (DESIGN 4).

Each delivery is one commit, so a reader sees the content before or after it. Deliveries are numbered in the log of
the table itself, so that of two schedulers that deliver the same number one does; what the log says counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from olston import alter, table
from olston.block import BASE, MONOTONE, Block, is_strong
from olston.content import is_little
from olston.errors import OlstonError, StoreError
from olston.failure import failed, raise_if_full
from olston.operators import bag
from olston.operators.columns import DELETED, key_columns, quoted
from olston.operators.operand import Operand
from olston.operators.weak import Increment, Replace
from olston.provenance import Provenance
from olston.report import reached
from olston.scheduler.ways import APPEND, CHANGING, OVERWRITE, REWRITE, SUPERSEDE, UPSERT, Way
from olston.schema import nullable
from olston.store import Store, folder
from olston.transaction import IN_PLACE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_WHOLE = "partitionOverwriteMode", "static"  # a session may say that partitions which get no rows stay
_ZONELESS = "timestamp_ntz"
_COUNTED, _COUNTED_BY_DELTA = "delta.dataSkippingNumIndexedCols", 32
"""The columns from the left that have statistics, and how many these are unless a table says otherwise."""


@dataclass(frozen=True)
class Altered:
    """How a delivery was made; of what was tried, what the data would have allowed and whether rows were superseded."""

    way: Way
    allows: Way | None = None
    supersedes: bool | None = None


@dataclass(frozen=True)
class Delivery:
    """What a consumer holds since delivery `number`, the block that brought it, and the version of the table.

    `now` is that of the plan, `delivered_at` by the clock; `rows` is how many were written for it, `held` how many are
    there since, if known. A feed has no version; without content nobody knows what the consumer holds.
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
    held: int | None = None
    way: Way | None = field(default=None, compare=False)
    allows: Way | None = field(default=None, compare=False)
    supersedes: bool | None = field(default=None, compare=False)
    """How it was made, and what was found possible: known to who delivered, not from the log."""


class Published:
    """The table of one output."""

    def __init__(self, store: Store, output: str) -> None:
        self._store, self._output = store, output
        self._publication = store.workflow.outputs[output]
        self._key = store.workflow.channels[output].key
        self._series = f"olston:{store.workflow.name}:{output}"

    @property
    def place(self) -> str:
        """What errors call the table: its name, or where it lies."""
        return self._publication.table or self._store.path(f"published/{folder(self._output)}")

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
            fault = "nothing was delivered yet; refresh it by engine.refresh() or olston run."
            if version is not None:
                fault = (
                    f"its table is not at {path} any more; engine.refresh({self._output!r}, full=True) or "
                    f"olston run --full-refresh {self._output} writes it anew."
                )
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

    def _refuse_foreign(self, made: table.Numbered, path: str, number: int) -> None:
        """An error unless the table holds what delivery `number - 1` left; a later delivery is found out later."""
        by = "is gone"
        for commit in made.before():
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
        *,
        ways: Sequence[Way] = CHANGING,
        held: int | None = None,
        origin: str = "",
        keys: DataFrame | None = None,
    ) -> Delivery:
        """Give `block`, whose public rows are `rows`, to the consumer, who then holds `content`, as delivery `number`.

        Fails without a trace if another delivery has that number, or if the table is not as the one before left it
        and `block` would not replace all of it. `session` must not be used by another thread. `digest` is that of the
        definition the content was made by; the commit also says `said`. A delta with deletions is delivered by the
        first of `ways` that is right for it; `held` is how many rows the table has, where that is known. `origin` is
        what errors add of how the rows are made in the same job, `keys` rows with all keys that a replacement has.
        """
        rows = replace(rows, rows=table.within(session, rows.rows))
        keys = None if keys is None else table.within(session, keys)
        metadata = {
            "workflow": self._store.workflow.name, "output": self._output, "block": block.id, "digest": digest,
            "content": [sorted(e) for e in content], "held": held, **(said or {}),
        }  # fmt: skip
        path = None
        try:
            path = self._made(session)
            rows = replace(rows, rows=alter.refuse_unkept(session, path, rows.rows))
            with table.numbered(session, path, self._series, number, attempt, metadata) as made:
                if block.kind != BASE:
                    self._refuse_foreign(made, path, number)
                done = self._commit(session, path, block, rows, ways, made, held, keys)
            assert made.commit is not None
            return replace(_delivery(made.commit), way=done.way, allows=done.allows, supersedes=done.supersedes)
        except OlstonError:
            raise
        except Exception as error:
            raise_if_full(path or self._output, error)
            raise failed(f"{self._output}: delivery {number}, of {reached(block)}{origin}, failed", error) from error

    def _commit(
        self,
        session: SparkSession,
        path: str,
        block: Block,
        rows: Operand,
        ways: Sequence[Way],
        made: table.Numbered,
        held: int | None,
        keys: DataFrame | None,
    ) -> Altered:
        if block.kind == BASE:
            self._overwrite(session, rows.rows, path, made)
            return Altered(OVERWRITE)
        if block.kind == MONOTONE or rows.monotone:
            made.append(rows.added())
            return Altered(APPEND)
        return self._change(session, path, block, rows, ways, made, held, keys)

    def _overwrite(self, session: SparkSession, rows: DataFrame, path: str, made: table.Numbered) -> None:
        if made.overwrite(rows):
            return
        writer = rows.write.format("delta").mode("overwrite").option(IN_PLACE, "true").option(*_WHOLE)
        if table.exists(session, path):
            held = session.read.format("delta").load(path).schema
            if nullable(held) != nullable(rows.schema):
                writer = writer.option("overwriteSchema", "true")
            elif self._publication.cluster_by:  # with a condition Delta does not forget the clustering
                writer = writer.option("replaceWhere", "true")
        writer.save(path)

    def _change(
        self,
        session: SparkSession,
        path: str,
        block: Block,
        given: Operand,
        ways: Sequence[Way],
        made: table.Numbered,
        rows: int | None,
        keys: DataFrame | None,
    ) -> Altered:
        """Deliver a delta with deletions by the first of `ways` that is right for it."""
        held = session.read.format("delta").load(path)
        if not is_strong(block.kind):
            alter.refuse_blurred_keys(session, path, given, self._store.weak(self._output, block.kind).key)
        given = replace(given, rows=alter.as_kept(session, path, given.rows))
        # every reader would pass over more than it reads; of a partitioned table it is not known where
        if rows is not None and made.dead() > rows and not table.partition_columns(session, path):
            ways = (REWRITE,)
        supersedes = self._supersede(block, given, keys, made) if ways[0] == SUPERSEDE else None
        if supersedes:
            return Altered(SUPERSEDE, supersedes=True)
        if is_strong(block.kind):
            delta = given
        else:
            delta = Operand(self._strong(held, block, given), "Δ", given.size, given.label)
        key = key_columns(self._key or (), held.columns)
        allows: Way | None = None
        for way in (w for w in ways if key and w != SUPERSEDE):
            if way == REWRITE:
                break
            allows = allows or alter.allowed(held, delta, key)
            if CHANGING.index(way) >= CHANGING.index(allows):
                alter.merge(session, path, delta, key, insert=way == UPSERT)
                return Altered(way, allows, supersedes)
        self._rewrite(session, path, held, delta, made, rows)
        return Altered(REWRITE, allows, supersedes)

    def _supersede(self, block: Block, given: Operand, keys: DataFrame | None, made: table.Numbered) -> bool:
        """Mark the rows of the keys given as deleted, and append those that stand; false if that cannot be done."""
        key = self._store.weak(self._output, block.kind).key
        standing = given.rows.where(f"NOT {DELETED}").drop(DELETED)
        return made.supersede(standing, lambda: alter.values(given.rows, key, keys))

    def _rewrite(
        self, session: SparkSession, path: str, held: DataFrame, delta: Operand, made: table.Numbered, rows: int | None
    ) -> None:
        """Write the table without what changed, of a partitioned one only the partitions that are touched."""
        touched = alter.touched_partitions(session, path, delta)
        before = held if touched is None else held.where(touched)
        if rows is not None and is_little(rows, table.size(session, path)) and delta.small:
            changed = bag.plus(before, delta.rows, label=delta.label, little=True)
        else:  # added up once, for the delta may be computed here, and is read several times
            changed = bag.apply(before, bag.net(delta.rows), small=delta.small, label=delta.label)
        if touched is None:
            self._overwrite(session, changed, path, made)
        else:
            changed.write.format("delta").mode("overwrite").option("replaceWhere", touched).save(path)

    def _strong(self, held: DataFrame, block: Block, given: Operand) -> DataFrame:
        """A weak delta as a strong one, by what the table holds: the user's columns only."""
        weak = self._store.weak(self._output, block.kind)
        if isinstance(weak, Increment) or (isinstance(weak, Replace) and weak.by is not None):
            raise StoreError(
                f"{self._output}: {block.kind} needs columns that a published table does not have; deliver it as a "
                "base or a strong delta."
            )
        return weak.strengthened(held, given)

    def _made(self, session: SparkSession) -> str:
        """Where the table lies. One with a name or clustering is made first; any other by its first delivery."""
        from delta.tables import DeltaTable

        path, name, cluster_by = self.path(session), self._publication.table, self._publication.cluster_by
        if path is not None and table.exists(session, path):
            self._enable(session, path)
            self._cluster(session, path)
            return path
        if path is not None and not cluster_by:
            return path
        builder = DeltaTable.createIfNotExists(session)
        builder = builder.tableName(name) if name is not None else builder.location(str(path))
        builder = builder.addColumns(self._store.schemas.public(self._output)).property(IN_PLACE, "true")
        if cluster_by:
            counted = str(_counted(self._store.schemas.public(self._output), cluster_by))
            builder = builder.property(_COUNTED, counted).clusterBy(*map(quoted, cluster_by))
        builder.execute()
        return str(self.path(session))

    def _enable(self, session: SparkSession, path: str) -> None:
        """Let a table take times without a zone if it has to, which Delta does by itself for new tables only."""
        if _ZONELESS not in self._store.schemas.public(self._output).simpleString():
            return
        if _ZONELESS not in session.read.format("delta").load(path).schema.simpleString():
            place = f"delta.{quoted(path)}"
            session.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')")

    def _cluster(self, session: SparkSession, path: str) -> None:
        """Cluster the table as declared, if it is not and can be."""
        wanted, place = self._publication.cluster_by, f"delta.{quoted(path)}"
        columns = session.read.format("delta").load(path).schema if wanted else None
        if columns is None or not set(wanted) <= set(columns.names):
            return
        (found,) = session.sql(f"DESCRIBE DETAIL {place}").select("clusteringColumns").collect()
        if list(map(_unquoted, found[0])) != list(wanted):
            if (counted := _counted(columns, wanted)) > _COUNTED_BY_DELTA:
                session.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ('{_COUNTED}' = '{counted}')")
            session.sql(f"ALTER TABLE {place} CLUSTER BY ({', '.join(map(quoted, wanted))})")


def _unquoted(name: str) -> str:
    """A name that Delta tells in quotes if it needs any."""
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _counted(columns: StructType, clustered: Sequence[str]) -> int:
    """How many columns, with what is in structs, Delta must keep statistics of: it clusters by none without."""
    last = max(columns.names.index(c) for c in clustered)
    return max(_COUNTED_BY_DELTA, sum(_leaves(f.dataType) for f in columns.fields[: last + 1]))


def _leaves(kind: Any) -> int:
    """The columns that Delta counts one of a type as."""
    return sum(_leaves(f.dataType) for f in kind.fields) if hasattr(kind, "fields") else 1


def _delivery(commit: table.Commit) -> Delivery:
    said: Mapping[str, Any] = commit.metadata
    before = said.get("held")
    held = commit.rows if commit.whole else None if before is None else before + commit.more
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
        held,
    )
