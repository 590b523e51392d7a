"""Writing as one transaction of Delta's, which says in the log that it is a certain number of a series.

Delta's writer does the same when it is given `txnAppId`, but it computes the state of the whole table first, to see
which number came last, and which files there are, and that takes twice as long as writing a few rows. Who writes here
has found that out in a cheaper way; of two that write the same number at once, Delta still lets only one commit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston import listing
from olston.filesystem import java
from olston.schema import nullable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_DELTA = "org.apache.spark.sql.delta"
IN_PLACE = "delta.enableDeletionVectors"
"""Lets a row be changed without writing its whole file anew."""
_FEED = "delta.enableChangeDataFeed"


@dataclass(frozen=True)
class Said:
    """What a commit says: that it is `number` of `series`, and `metadata`."""

    series: str
    number: int
    metadata: str


@dataclass(frozen=True)
class Values:
    """Values of `expression`, by which keys in the columns `of` are told apart: those `listed` in Java, null or not."""

    expression: str
    of: str
    listed: Any
    null: bool


class Write:
    """Writing to the table at `path`, begun: `version` is the newest that it knows of, -1 if there is no table.

    The session must not be used by another thread.
    """

    def __init__(self, session: SparkSession, path: str) -> None:
        self._session, self._path, self._none = session, path, java(session, "scala.Option").empty()
        with self._active():
            log = java(session, f"{_DELTA}.DeltaLog").forTable(session._jsparkSession, path)
            self._transaction = log.startTransaction(self._none, self._none)
            self.version = int(self._transaction.snapshot().version())

    def takes(self, rows: DataFrame) -> bool:
        """Whether the table has just the columns of `rows`, and nothing else has to be made of them on the way."""
        from pyspark.sql.types import StructType

        if self.version < 0:
            return False
        columns = StructType.fromJson(json.loads(self._transaction.metadata().schemaString()))
        return not any(f.metadata for f in columns.fields) and _typed(columns) == _typed(rows.schema)

    def listed(self) -> list[Any] | None:
        """The files of the table, where the end of its log tells them without a job."""
        checksum = self._transaction.snapshot().checksumOpt()
        if not checksum.isDefined():
            return None
        files = checksum.get().allFiles()
        if files.isDefined():
            return [files.get().apply(i) for i in range(files.get().size())]
        told = listing.listed(self._session, self._path, self.version, int(checksum.get().numFiles()))
        if told is None:
            return None
        actions = getattr(java(self._session, f"{_DELTA}.actions.Action$"), "MODULE$")
        return [actions.fromJson(json.dumps({"add": file})) for file in told]

    def marks(self) -> bool:
        """Whether rows are deleted by marks beside their files, and nobody follows what changes by Delta's own feed."""
        settings = self._transaction.metadata().configuration()
        found = {key: settings.get(key) for key in (IN_PLACE, _FEED)}
        on = {key: setting.isDefined() and setting.get().lower() == "true" for key, setting in found.items()}
        return on[IN_PLACE] and not on[_FEED]

    def dead(self) -> int:
        """The rows that are marked as deleted and still lie in files, as far as the end of the log tells."""
        checksum = self._transaction.snapshot().checksumOpt()
        found = checksum.get().numDeletedRecordsOpt() if checksum.isDefined() else self._none
        return int(found.get()) if found.isDefined() else 0

    def append(self, rows: DataFrame, said: Said) -> None:
        """Add `rows`, also if there are none; fails if that number was committed meanwhile."""
        with self._active():
            self._commit(self._transaction.writeFiles(rows._jdf), "Append", None, said)

    def overwrite(self, rows: DataFrame, files: Sequence[Any], said: Said) -> None:
        """Put `rows` in the place of what `files` hold, all there are as `listed`.

        It fails if anything else was committed meanwhile.
        """
        with self._active():
            actions = self._transaction.writeFiles(rows._jdf)
            self._transaction.readWholeTable()
            for file in files:
                actions = actions.appended(file.removeWithTimestamp(_now(), True))
            self._commit(actions, "Overwrite", None, said)

    def supersede(self, rows: DataFrame, values: Values, said: Said) -> None:
        """Mark the rows that have one of `values` as deleted, and add `rows`.

        It fails if rows of those values were committed meanwhile.
        """
        with self._active():
            actions = self._transaction.writeFiles(rows._jdf)
            if values.null or len(values.listed):
                actions = actions.appendedAll(self._marked(values))
            which = f"{values.of} IN ({len(values.listed) + values.null} values)"
            self._commit(actions, "Overwrite", which, said)

    def _marked(self, values: Values) -> Any:
        """What Delta's DELETE commits: the files that have such rows go, and come with marks, or not if all rows went.

        It computes the state of the table to find those files; where they are listed all are looked at.
        """
        session, begun = self._session, self._transaction
        spark, log, snapshot = session._jsparkSession, begun.deltaLog(), begun.snapshot()
        mine = java(session, "org.apache.spark.sql.functions").expr(values.expression)
        chosen = mine.isInCollection(values.listed)
        chosen = getattr(chosen, "or")(mine.isNull()) if values.null else chosen
        held = session.read.format("delta").load(self._path)._jdf.filter(chosen).queryExecution().analyzed()
        condition, sequence = held.condition(), java(session, "org.apache.spark.api.python.PythonUtils").toSeq
        listed = self.listed()
        if listed is None:
            files = begun.filterFiles(sequence([condition]), True)
        else:
            begun.readWholeTable()
            files = sequence(listed)
        index = java(session, f"{_DELTA}.files.TahoeBatchFileIndex")
        index = index(spark, "supersede", files, log, log.dataPath(), snapshot, False)
        helper = getattr(java(session, f"{_DELTA}.commands.DMLWithDeletionVectorsHelper$"), "MODULE$")
        scan = helper.createTargetDfForScanningForMatches(spark, held.child(), index)
        touched = helper.findTouchedFiles(spark, begun, True, log, scan, index, condition, "DELETE")
        skipping = getattr(java(session, f"{_DELTA}.stats.StatsCollectionUtils$"), "MODULE$")
        longest = skipping.getDataSkippingStringPrefixLength(spark, begun.metadata())
        return helper.processUnmodifiedData(spark, touched, snapshot, longest)._1()

    def _commit(self, actions: Any, mode: str, predicate: str | None, said: Said) -> None:
        session, none, option = self._session, self._none, java(self._session, "scala.Option")
        self._transaction.readTxn().addOne(said.series)
        counted = java(session, f"{_DELTA}.actions.SetTransaction")(said.series, said.number, option.apply(_now()))
        mode = getattr(java(session, "org.apache.spark.sql.SaveMode"), mode)
        where = none if predicate is None else option.apply(predicate)
        write = java(session, f"{_DELTA}.DeltaOperations$Write")
        self._transaction.commit(
            actions.appended(counted), write(mode, none, where, option.apply(said.metadata), *[none] * 5)
        )

    @contextmanager
    def _active(self) -> Iterator[None]:
        """Delta takes its settings from the session that is active."""
        sessions: Any = java(self._session, "org.apache.spark.sql.SparkSession")
        before = sessions.getActiveSession()
        sessions.setActiveSession(self._session._jsparkSession)
        try:
            yield
        finally:
            if before.isDefined():
                sessions.setActiveSession(before.get())
            else:
                sessions.clearActiveSession()


def _now() -> int:
    """Milliseconds, as Delta has them."""
    return time.time_ns() // 1_000_000


def _typed(columns: StructType) -> dict[str, Any]:
    return {f.name: nullable(f.dataType) for f in columns.fields}
