"""Blocks on Delta: anchors, and tables of deltas (DESIGN 4).

    <home>/blocks/<channel>/anchors/<attempt>     a base, a Delta table written once
    <home>/blocks/<channel>/deltas-<columns>      strong deltas, rows with `_weight`, partitioned by the attempt
    <home>/blocks/<channel>/weak_<k>-<columns>    weak deltas of representation k, likewise

A channel whose columns change gets new tables of deltas, told apart by a digest of the columns. Attempts write
beside each other and never over anything. The store does not look for blocks: it reads and writes what a `Content`
names, and whoever keeps the contents decides what exists.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial, reduce
from itertools import groupby
from typing import TYPE_CHECKING, Any

from olston import table
from olston.block import BASE, DELTA, MONOTONE, WEAK, Kind, is_strong, is_weak
from olston.content import Anchor, Content, Part, concerns_all, runs, told_apart
from olston.definition import digests
from olston.errors import SchemaError, StoreError
from olston.memory import Memory
from olston.operators import bag
from olston.operators.columns import ARRIVAL, BLOCK, DELETED, PART, WEIGHT, col, is_reserved, key_columns, quoted
from olston.operators.operand import FEW, Keep, Operand
from olston.operators.weak import Increment, Replace, WeakDelta
from olston.operators.zeros import unsigned
from olston.schema import Schemas, nullable, resolve

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from olston.workflow import Workflow


_GLOB = re.compile(r"[*?\[\]{}\\]")
"""What a path of files to read may not have in it, since it stands for others there."""
BLOCKS = "blocks"
"""Where the blocks of all channels lie in a home."""
NOTED = 8
"""Files up to which the catalog remembers where the rows of a delta are; a wave is usually one."""
NOTED_OF_BASE = 32
"""The same of an anchor; also how many files one scan reads: more of them Spark lists in a job."""
SCANS = 8
"""Scans that take less time than Delta's jobs to find files in its log; one where every file is a call to a service."""
DEEP = 3
"""Runs of changes of different kinds that are read in one job. Each reads what lies below it twice, so more of them
are read one after another."""


class Store:
    """The blocks of one workflow below `home`, which is any path that Spark can write."""

    def __init__(self, session: SparkSession, home: str, workflow: Workflow, schemas: Schemas | None = None) -> None:
        self.home, self.workflow = home.rstrip("/"), workflow
        self.schemas = schemas or resolve(session, workflow)
        self.memory = Memory()

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """What each channel is computed by, as `olston.definition` has it; every commit of a block says it."""
        return digests(self.workflow)

    def path(self, table: str) -> str:
        return f"{self.home}/{table}"

    def place(self, channel: str) -> str:
        """The folder of the blocks of `channel`."""
        return f"{BLOCKS}/{folder(channel)}"

    def weak(self, channel: str, kind: Kind) -> WeakDelta:
        """The representation of `kind` on `channel`."""
        for weak in self.workflow.channels[channel].weak:
            if weak.kind == kind:
                return weak
        raise StoreError(f"{channel}: has no representation {kind}; it has {self._known(channel) or 'none'}.")

    def read(self, session: SparkSession, channel: str, kind: Kind, content: Content) -> DataFrame:
        """The stored rows of a block: of a base, each as often as it is there; of a delta, in the form of its kind."""
        if kind == BASE:
            return self._whole(session, channel, content)
        if is_strong(kind):
            parts = self._parts(session, channel, content.parts).drop(BLOCK)
            return parts if len(content.parts) < 2 or content.monotone else bag.net(parts)
        return self._weak_rows(session, channel, content.parts)

    def operand(self, session: SparkSession, channel: str, kind: Kind, content: Content) -> Operand:
        """A block as operators read it, with all that was recorded of it."""
        rows = self.read(session, channel, kind, content)
        known = MONOTONE if kind == DELTA and content.monotone else kind
        counted = kind == BASE and not content.monotone and not content.little
        among = partial(self._among, session, channel, content) if counted else None
        return Operand(rows, known, content.bytes, content.label, among, kind != BASE and content.plain)

    def pieces(self, session: SparkSession, channel: str, content: Content) -> DataFrame:
        """The rows of a base and of all that lies over it, which has the columns of the channel, side by side."""
        over = self._parts(session, channel, content.parts).drop(BLOCK)
        return bag.union(self._anchor(session, channel, content.anchor), over)

    def write_base(self, channel: str, rows: DataFrame, attempt: str, metadata: Mapping[str, Any]) -> Content:
        """Write `rows` as an anchor of `channel`."""
        name = f"{self.place(channel)}/anchors/{attempt}"
        shaped = self.shaped(channel, BASE, rows)
        commit = self._append(shaped, name, attempt, self._says(channel, metadata))
        return anchored(name, attempt, commit, _digest(shaped.schema))

    def write_delta(
        self, channel: str, kind: Kind, rows: DataFrame, attempt: str, metadata: Mapping[str, Any], label: str
    ) -> tuple[Kind, Content]:
        """Write `rows` as a delta of `kind`; a strong one without deletions is a `Δ⁺` from then on."""
        from pyspark.sql import functions as F

        shaped = self.shaped(channel, kind, rows)
        kinds = "deltas" if is_strong(kind) else f"weak_{folder(kind.removeprefix(WEAK))}"
        name = f"{self.place(channel)}/{kinds}-{_digest(shaped.schema)}"
        marked = shaped.withColumn(BLOCK, F.lit(attempt))
        commit = self._append(marked, name, attempt, self._says(channel, metadata), partition_by=[BLOCK])
        return changed(channel, name, attempt, kind, commit, label)

    def fold(
        self, session: SparkSession, channel: str, content: Content, attempt: str, metadata: Mapping[str, Any]
    ) -> Content:
        """The same base as one anchor."""
        return self.write_base(channel, self._base(session, channel, content), attempt, metadata)

    def _among(
        self, session: SparkSession, channel: str, content: Content, on: Sequence[str], keep: Keep
    ) -> DataFrame | None:
        """What `keep`, which looks at the columns `on` alone, leaves of a base: in one scan, since the rest is left out
        before changes are counted. `None` where a change may give a row that stays other values there."""
        columns = self.schemas.stored[channel].names
        for kind in {p.kind for p in content.parts if is_weak(p.kind)}:
            weak = self.weak(channel, kind)
            if not weak.rows_of_channel or not set(on) <= set(key_columns(weak.key, columns)):
                return None
        return self._base(session, channel, content, keep)

    def _whole(self, session: SparkSession, channel: str, content: Content) -> DataFrame:
        """A base, from memory where it is little and was read before."""
        known = self.memory.recall(session, channel, content) if content.little else None
        if known is not None:
            return known
        rows = self._base(session, channel, content)
        return self.memory.note(channel, content, rows) if self._lasts(channel, content) else rows

    def _lasts(self, channel: str, content: Content) -> bool:
        """Whether a base is little, and read without checkpoints: what these hold cannot be read once more."""
        changing = [kind for kind, parts in runs(content.parts) if not all(p.monotone for p in parts)]
        chained = all(self.weak(channel, kind).chains for kind in changing if is_weak(kind))
        return content.little and chained and len(changing) <= DEEP

    def _base(self, session: SparkSession, channel: str, content: Content, keep: Keep | None = None) -> DataFrame:
        """A base, or what `keep` leaves of it: then those are few, and all of them are counted."""
        kept = keep or (lambda rows: rows)
        rows, below = kept(self._anchor(session, channel, content.anchor)), 0
        lying = Content(content.anchor)
        arrivals, empty = ARRIVAL in rows.columns, content.anchor is None

        def adds(part: Part) -> bool:
            return part.monotone and (part.plain or not arrivals)

        for kind, parts in runs(content.parts, adds):
            lying = Content(content.anchor, (*lying.parts, *parts))
            if below > DEEP:
                rows, below = rows.localCheckpoint(eager=False), 0
            below += not all(p.monotone for p in parts)
            if is_weak(kind):
                rows = self._with_weak(session, channel, kind, rows, parts, lying, keep)
            elif all(map(adds, parts)):
                added = self._parts(session, channel, parts).drop(BLOCK)
                added = kept(added.drop(WEIGHT) if all(p.plain for p in parts) else bag.copies(added))
                rows = added.select(*map(col, rows.columns)) if empty else bag.union(rows, added)
            else:
                changes = self._parts(session, channel, parts)
                label: str | Sequence[str] = parts[0].label
                if len(parts) > 1:
                    apart = told_apart(parts)
                    label = [Content(None, some).label for some in apart]
                    changes = changes.withColumn(PART, _positions(apart))
                changes = kept(changes.drop(BLOCK))
                if lying.little or keep is not None:
                    rows = bag.plus(rows, changes, label=label, little=lying.little)
                else:
                    rows = bag.apply(rows, changes, small=sum(p.bytes for p in parts) <= FEW, label=label)
            empty = False
        return rows

    def _anchor(self, session: SparkSession, channel: str, anchor: Anchor | None) -> DataFrame:
        from pyspark.sql import functions as F

        if anchor is None:
            return session.createDataFrame([], self.schemas.stored[channel])
        stored = self.schemas.stored[channel]
        noted = self._noted(session, anchor.table, stored, anchor.files) if anchor.columns == _digest(stored) else None
        rows = self._load(session, anchor.table, {anchor.table_id}) if noted is None else noted
        if ARRIVAL in rows.columns and anchor.stamp is not None:
            rows = rows.withColumn(ARRIVAL, F.coalesce(col(ARRIVAL), F.lit(anchor.stamp).cast("bigint")))
        return rows

    def _with_weak(
        self,
        session: SparkSession,
        channel: str,
        kind: Kind,
        rows: DataFrame,
        parts: Sequence[Part],
        lying: Content,
        keep: Keep | None,
    ) -> DataFrame:
        """With weak parts on top, of which `keep` looks at the key alone; `lying` is all of it."""
        weak = self.weak(channel, kind)
        over, kept = Content(None, tuple(parts)), keep or (lambda rows: rows)
        all_counted = lying.little or keep is not None or concerns_all(over.rows, lying.rows - over.rows)
        if isinstance(weak, Increment) and all_counted:
            pieces = bag.union(rows, kept(self._parts(session, channel, parts).drop(BLOCK)))
            return weak.added_up(pieces.coalesce(1) if lying.little else pieces, over.label)
        chained = self._chained(session, channel, weak, parts)
        if chained is not None:
            return weak.applied(rows, Operand(kept(chained), kind, over.bytes, over.label))
        for i, part in enumerate(parts):  # acts as one on a base only
            below = rows.localCheckpoint(eager=False) if i else rows
            rows = weak.applied(below, Operand(self._weak_part(session, channel, part), kind, part.bytes, part.label))
        return rows

    def _weak_rows(self, session: SparkSession, channel: str, parts: Sequence[Part]) -> DataFrame:
        weak = self.weak(channel, parts[0].kind)
        chained = self._chained(session, channel, weak, parts)
        if chained is None:
            raise StoreError(
                f"{channel}: {len(parts)} blocks of {weak.kind} were asked for as one, but blocks of this "
                "representation act as one on a base only; read them one by one."
            )
        return chained

    def _chained(self, session: SparkSession, channel: str, weak: WeakDelta, parts: Sequence[Part]) -> DataFrame | None:
        if len(parts) == 1:
            return self._weak_part(session, channel, parts[0])
        rows = self._parts(session, channel, parts)
        return weak.chained(rows.withColumn(PART, _positions([(p,) for p in parts])).drop(BLOCK))

    def _weak_part(self, session: SparkSession, channel: str, part: Part) -> DataFrame:
        return self._parts(session, channel, [part]).drop(BLOCK)

    def _parts(self, session: SparkSession, channel: str, parts: Sequence[Part]) -> DataFrame:
        """The rows of several parts with the attempt of each, as they were written; one scan for those of one table."""
        from pyspark.sql import functions as F

        def of(key: tuple[str, bool], group: Iterable[Part]) -> DataFrame:
            name, inverted = key
            listed = list(group)
            attempts = {p.attempt: p.stamp for p in listed}
            rows = self._noted_parts(session, channel, listed)
            if rows is None:
                rows = self._load(session, name, {p.table_id for p in listed}).where(col(BLOCK).isin(list(attempts)))
            if ARRIVAL in rows.columns and any(attempts.values()):
                stamp = F.coalesce(col(ARRIVAL), _lookup(attempts).cast("bigint"))
                added = col(WEIGHT) > 0 if WEIGHT in rows.columns else F.lit(True)
                rows = rows.withColumn(ARRIVAL, F.when(added, stamp).otherwise(col(ARRIVAL)))
            return bag.negate(rows) if inverted else rows

        if not parts:  # the difference of two bases that are the same
            return bag.weigh(self._anchor(session, channel, None)).withColumn(BLOCK, F.lit(""))
        where = sorted(parts, key=_place)
        return reduce(bag.union, [of(key, group) for key, group in groupby(where, _place)])

    def _noted_parts(self, session: SparkSession, channel: str, parts: Sequence[Part]) -> DataFrame | None:
        """The rows of parts of one table, straight from their files."""
        from pyspark.sql.types import StringType

        name, columns = parts[0].table, self._columns(channel, parts[0].kind)
        if columns is None or not name.endswith(f"-{_digest(columns)}") or not all(p.files for p in parts):
            return None
        return self._noted(session, name, columns.add(BLOCK, StringType()), [f for p in parts for f in p.files])

    def _noted(self, session: SparkSession, name: str, columns: StructType, files: Sequence[str]) -> DataFrame | None:
        """The rows in `files` of a table, straight from them, so that Delta need not run jobs to find them in its log.

        `None` if they were not noted, or are gone: then the table has to be asked, which may have them elsewhere.
        """
        from pyspark.errors import AnalysisException

        place = self.path(name)
        scans = 1 if "://" in place.removeprefix("file://") else SCANS
        if not 0 < len(files) <= scans * NOTED_OF_BASE or _GLOB.search(place):
            return None
        paths = [f"{place}/{f}" for f in files]
        try:
            read = [
                session.read.schema(columns).option("basePath", place).parquet(*paths[i : i + NOTED_OF_BASE])
                for i in range(0, len(paths), NOTED_OF_BASE)
            ]
        except AnalysisException:
            return None
        return bag.union(*read)

    def _columns(self, channel: str, kind: Kind) -> StructType | None:
        """The columns that deltas of a kind are stored with, where that is known beforehand."""
        from pyspark.sql.types import BooleanType, LongType, StructField, StructType

        stored = {f.name: f.dataType for f in self.schemas.stored[channel].fields}
        if is_strong(kind):
            stored = {WEIGHT: LongType(), **stored}
        elif isinstance(self.weak(channel, kind), Replace):
            stored = {**stored, DELETED: BooleanType()}
        elif not self.weak(channel, kind).rows_of_channel:
            return None
        return StructType([StructField(name, type_) for name, type_ in stored.items()])

    def shaped(self, channel: str, kind: Kind, rows: DataFrame) -> DataFrame:
        """`rows` with the columns of the channel in their order and spelling; a hidden one that is not there, as when
        a row arrived, is null. Zero has no sign. Weights come first, where Delta keeps statistics of them.
        """
        from pyspark.sql import functions as F
        from pyspark.sql.types import LongType

        weak = self.weak(channel, kind) if is_weak(kind) else None
        if weak is not None and not weak.rows_of_channel:
            if BLOCK in rows.columns:
                raise SchemaError(f"{channel}: a converter of {kind} returns {BLOCK!r}, which is kept for olston.")
            return rows
        self._refuse_other_columns(channel, rows)
        there = {c.lower() for c in rows.columns}  # one side of a union may spell them otherwise

        def column(name: str, type_: Any) -> Column:
            if name.lower() in there:
                return col(name).cast(type_).alias(name)
            return F.lit(False if name == DELETED else None).cast(type_).alias(name)

        fields = {f.name: f.dataType for f in self.schemas.stored[channel].fields}
        if isinstance(weak, Replace):
            fields[DELETED] = rows.schema[DELETED].dataType
        if is_strong(kind):
            fields = {WEIGHT: LongType(), **fields}
        given = {f.name: f.dataType for f in rows.schema.fields}
        if all(given.get(name) == type_ for name, type_ in fields.items()):  # the usual case, in few words to Spark
            return unsigned(rows if list(given) == list(fields) else rows.selectExpr(*map(quoted, fields)))
        return unsigned(rows.select(*[column(n, t) for n, t in fields.items()]))

    def _refuse_other_columns(self, channel: str, rows: DataFrame) -> None:
        known = self.schemas.public(channel)
        if _spelt_alike(known.names) != _spelt_alike(c for c in rows.columns if not is_reserved(c)):
            raise SchemaError(
                f"{channel}: has the columns {known.simpleString()}, but was now given {rows.schema.simpleString()}; "
                "a function returns the same columns whatever rows it is given."
            )

    def _append(
        self, rows: DataFrame, name: str, attempt: str, metadata: Mapping[str, Any], partition_by: Sequence[str] = ()
    ) -> table.Commit:
        return table.append(rows, self.path(name), attempt, metadata, partition_by=partition_by)

    def _says(self, channel: str, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"workflow": self.workflow.name, "digest": self.digests[channel], **metadata}

    def _load(self, session: SparkSession, name: str, ids: Collection[str]) -> DataFrame:
        """The table `name`; an error if it is gone, or is not the one that had one of `ids`, where that is known."""
        from pyspark.errors import AnalysisException

        path, lost = self.path(name), "there is no table"
        try:
            rows = session.read.format("delta").load(path)
            if {table.table_id(session, path)}.issuperset(filter(None, ids)):
                return rows
            lost, cause = "the table was deleted and made anew", None
        except AnalysisException as error:
            cause = error
        raise StoreError(
            f"{path}: {lost}, though a block was written to it before; bring it back, or recompute what was made of "
            "it.",
            code="FILES_GONE",
        ) from cause

    def _known(self, channel: str) -> str:
        return ", ".join(w.kind for w in self.workflow.channels[channel].weak)


def anchored(name: str, attempt: str, commit: table.Commit, columns: str = "") -> Content:
    """The base that `attempt` committed as table `name`, with `columns`, a digest, if they are known."""
    noted = commit.files if commit.table_id and columns and len(commit.files) <= NOTED_OF_BASE else ()
    return Content(Anchor(name, attempt, commit.rows, commit.bytes, None, commit.table_id, noted, columns))


def changed(
    channel: str, name: str, attempt: str, kind: Kind, commit: table.Commit, label: str
) -> tuple[Kind, Content]:
    """The delta of `channel` that `attempt` committed to table `name`; a strong one without deletions is a `Δ⁺`."""
    plain = False
    if is_strong(kind):
        least, greatest = commit.weights or ((1, 1) if not commit.bytes else (-1, 1))  # unknown: as if it deleted
        if kind == MONOTONE and commit.weights and least < 0:
            raise StoreError(f"{channel}: {label} deletes rows, which a Δ⁺ does not; its operator is wrong.")
        # a row of weight 0 says that it arrived again, if it is there: whoever reads only what is added cannot tell
        kind, plain = MONOTONE if kind == MONOTONE or least > 0 else DELTA, (least, greatest) == (1, 1)
    noted = commit.files if commit.table_id and len(commit.files) <= NOTED else ()
    part = Part(name, attempt, kind, commit.rows, commit.bytes, label, plain, table_id=commit.table_id, files=noted)
    return kind, Content(None, (part,))


def folder(name: str) -> str:
    """A name as one folder anywhere: letters, digits and a few signs stand for themselves."""
    return re.sub(r"[^A-Za-z0-9_.,-]|^\.", lambda found: f"~{ord(found[0]):x}~", name)


def _digest(columns: StructType) -> str:
    """Columns as a short word."""
    return f"{zlib.crc32(nullable(columns).json().encode()):08x}"


def _spelt_alike(names: Iterable[str]) -> list[str]:
    """Names of columns, which are told apart without regard to case."""
    return sorted(n.lower() for n in names)


def _positions(runs: Sequence[Sequence[Part]]) -> Column:
    """To which of the runs of parts a row belongs."""
    return _lookup({p.attempt: i for i, parts in enumerate(runs) for p in parts})


def _place(part: Part) -> tuple[str, bool]:
    return part.table, part.inverted


def _lookup(values: Mapping[str, Any]) -> Column:
    """What `values` has for the attempt that wrote a row."""
    from pyspark.sql import functions as F

    if len(values) == 1:
        return F.lit(next(iter(values.values())))
    pairs = [F.lit(x) for pair in values.items() for x in pair]
    return F.element_at(F.create_map(*pairs), col(BLOCK))
