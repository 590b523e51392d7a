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
from typing import TYPE_CHECKING, Any

from olston import listing
from olston.filesystem import java
from olston.schema import nullable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_DELTA = "org.apache.spark.sql.delta"


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

    def commit(
        self, rows: DataFrame, series: str, number: int, metadata: str, over: Sequence[Any] | None = None
    ) -> None:
        """Add `rows`, also if there are none, as `number` of `series`; fails if that was committed meanwhile.

        With `over`, all files of the table as `listed`, they take the place of what those hold; it fails if anything
        else was committed meanwhile.
        """
        session, begun = self._session, self._transaction
        with self._active():
            actions = begun.writeFiles(rows._jdf)
            begun.readTxn().addOne(series)
            option, none = java(session, "scala.Option"), self._none
            now = time.time_ns() // 1_000_000
            modes = java(session, "org.apache.spark.sql.SaveMode")
            if over is not None:
                begun.readWholeTable()
                for file in over:
                    actions = actions.appended(file.removeWithTimestamp(now, True))
            counted = java(session, f"{_DELTA}.actions.SetTransaction")(series, number, option.apply(now))
            write = java(session, f"{_DELTA}.DeltaOperations$Write")
            mode = modes.Append if over is None else modes.Overwrite
            begun.commit(actions.appended(counted), write(mode, none, none, option.apply(metadata), *[none] * 5))

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


def _typed(columns: StructType) -> dict[str, Any]:
    return {f.name: nullable(f.dataType) for f in columns.fields}
