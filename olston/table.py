"""Commits to Delta tables, each read back from the log before anybody relies on it.

An attempt writes under its own name, once: `txnAppId` is the attempt, so a commit that is repeated is void, and what
the log says decides which one it was. A commit also says, in its `userMetadata`, what was written and by whom. Appends
to a table that is there go through `olston.transaction`, which is quicker; the log says the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

from olston import filesystem
from olston.errors import OlstonError, StoreError
from olston.failure import raise_if_full
from olston.operators.columns import BLOCK, WEIGHT
from olston.transaction import IN_PLACE, Said, Values, Write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LAST = "spark.databricks.delta.lastCommitVersionInSession"
_ATTEMPT, _NUMBER = "attempt", "delivery"
RECENT = 8
"""Commits among which the last of a series is looked for; others than ours are rare in a published table."""
_ALL = ("[]", '["true"]', "true")


@dataclass(frozen=True)
class Commit:
    """One version of a Delta table, as its log tells it: how many rows were written, and how many more there are since.

    `whole`: what was written is all there is. `changes`: it added or removed rows; tidying up and settings do not.
    `weights` are the least and the greatest, where known, `table_id` is known to who wrote it. `files` are those
    written, as paths below the table, unless they cannot be read but through Delta. `series` is the `txnAppId` with
    its number.
    """

    version: int
    rows: int
    more: int
    bytes: int
    weights: tuple[int, int] | None
    metadata: Mapping[str, Any]
    changes: bool = False
    whole: bool = False
    table_id: str = ""
    files: tuple[str, ...] = ()
    series: tuple[str, int] | None = None


def within(session: SparkSession, rows: DataFrame) -> DataFrame:
    """`rows` in `session`, whose settings a commit is then made with; they may be of another, of the same context."""
    from pyspark.sql import DataFrame

    if rows.sparkSession is session:
        return rows
    datasets = filesystem.java(session, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(datasets.ofRows(session._jsparkSession, rows._jdf.queryExecution().logical()), session)


def append(
    rows: DataFrame, path: str, attempt: str, metadata: Mapping[str, Any], *, partition_by: Sequence[str] = ()
) -> Commit:
    """Add `rows` in one commit, also if there are none. The session of `rows` must not be used by another thread.

    Where the table is partitioned by the block, rows of the attempt are in a partition of that name.
    """
    session = rows.sparkSession
    session.conf.unset(_LAST)
    said = json.dumps({_ATTEMPT: attempt, **metadata})
    begun = Write(session, path)
    try:
        if begun.takes(rows) and list(partition_by) == [BLOCK] and not _tried(session, path, attempt):
            begun.append(rows, Said(attempt, 1, said))
        else:
            _append(rows, path, attempt, said, partition_by)
    except Exception as error:
        raise_if_full(path, error)
        raise
    commit, about = committed(session, path, attempt), _metadata_of(session, path)
    # otherwise columns have other names in files
    files = commit.files if str(about.columnMappingMode().name()) == "none" else ()
    return replace(commit, table_id=str(about.id()), files=files)


def _append(rows: DataFrame, path: str, attempt: str, said: str, partition_by: Sequence[str]) -> None:
    """By Delta's writer, which makes the table if there is none, and looks for the attempt in all of the log."""
    writer = rows.write.format("delta").mode("append").partitionBy(*partition_by)
    writer = writer.option("txnAppId", attempt).option("txnVersion", 1)
    # or the log would remember every attempt for ever
    writer = writer.option("delta.setTransactionRetentionDuration", "interval 7 days").option("userMetadata", said)
    try:
        writer.save(path)
    except Exception as error:
        if not _made_at_once(error):
            raise
        writer.save(path)


def _tried(session: SparkSession, path: str, attempt: str) -> bool:
    """Whether an attempt of that name has written to a table partitioned by the block before."""
    return filesystem.exists(session, f"{path}/{BLOCK}={attempt}")


class Numbered:
    """A commit to be made as `number` of `series`; what it was is known afterwards."""

    def __init__(self, session: SparkSession, path: str, series: str, number: int, said: str) -> None:
        self._session, self._path, self._said = session, path, Said(series, number, said)
        self._read: list[Commit] = []
        self.commit: Commit | None = None

    @cached_property
    def _begun(self) -> Write:
        return Write(self._session, self._path)

    def before(self) -> Iterator[Commit]:
        """The versions that the table has before it, in falling order, as far as their log is still there."""
        yield from self._read
        for commit in history(self._session, self._path, self._begun.version - len(self._read)):
            self._read.append(commit)
            yield commit

    def append(self, rows: DataFrame) -> None:
        """Add `rows`; makes the table if there is none, in which rows can be changed in place."""
        if self._begun.takes(rows) and self._is_next():
            self._begun.append(rows, self._said)
        else:
            rows.write.format("delta").mode("append").option(IN_PLACE, "true").save(self._path)

    def overwrite(self, rows: DataFrame) -> bool:
        """Put `rows` in the place of all that the table has, unless Delta would have to look for that first."""
        there = self._begun.listed() if self._begun.takes(rows) and self._is_next() else None
        if there is not None:
            self._begun.overwrite(rows, there, self._said)
        return there is not None

    def dead(self) -> int:
        """The rows that are marked as deleted and still lie in files, which every reader passes over."""
        return self._begun.dead()

    def supersede(self, rows: DataFrame, values: Callable[[], Values | None]) -> bool:
        """Put `rows` in the place of those that have certain `values`; false if the table, or these, do not let.

        Nothing is written anew: the rows that go are marked as deleted.
        """
        given = values() if self._begun.takes(rows) and self._begun.marks() and self._is_next() else None
        if given is not None:
            self._begun.supersede(rows, given, self._said)
        return given is not None

    def _is_next(self) -> bool:
        """Whether the log says that the number before was the last, so that nobody need look it up."""
        for commit in islice(self.before(), RECENT):
            if commit.series is not None and commit.series[0] == self._said.series:
                return commit.series[1] == self._said.number - 1
        return False


@contextmanager
def numbered(
    session: SparkSession, path: str, series: str, number: int, attempt: str, metadata: Mapping[str, Any]
) -> Iterator[Numbered]:
    """Within, whatever commits to `path` does so as `number` of `series`: of two that try, one commits.

    The commit says its number as `delivery`. Leaving checks by the log that it was this attempt.
    """
    said = json.dumps({_ATTEMPT: attempt, _NUMBER: number, **metadata})
    made = Numbered(session, path, series, number, said)
    settings = {
        "spark.databricks.delta.write.txnAppId": series,
        "spark.databricks.delta.write.txnVersion": str(number),
        "spark.databricks.delta.commitInfo.userMetadata": said,
    }
    session.conf.unset(_LAST)
    for key, value in settings.items():
        session.conf.set(key, value)
    try:
        yield made
    except OlstonError:
        raise
    except Exception as error:
        if exists(session, path) and last_number(session, path, series) >= number:
            raise _taken(session, path, series, number, attempt) from error
        raise
    finally:
        for key in settings:
            session.conf.unset(key)
    if session.conf.get(_LAST, None) is None and last_number(session, path, series) >= number:
        raise _taken(session, path, series, number, attempt)
    made.commit = committed(session, path, attempt)


def last_number(session: SparkSession, path: str, series: str) -> int:
    """The greatest number of `series` that was committed to `path`, 0 if none was."""
    found = _newest(session, path).transactions().get(series)
    return int(found.get()) if found.isDefined() else 0


def table_id(session: SparkSession, path: str) -> str:
    """Delta's name of the table that was last read or written at `path`; a table that is made anew has another."""
    return str(_metadata_of(session, path).id())


def partition_columns(session: SparkSession, path: str) -> list[str]:
    """The columns by which the table that was last read or written at `path` is partitioned."""
    columns = _metadata_of(session, path).partitionColumns()
    return [columns.apply(i) for i in range(columns.length())]


def size(session: SparkSession, path: str) -> float:
    """The bytes of the files of the table that was last read or written at `path`; infinite if Delta would count."""
    found = _log(session, path).unsafeVolatileSnapshot().sizeInBytesIfKnown()
    return float(found.get()) if found.isDefined() else inf


def _log(session: SparkSession, path: str) -> Any:
    """What Delta knows of the log of a table."""
    return filesystem.java(session, "org.apache.spark.sql.delta.DeltaLog").forTable(session._jsparkSession, path)


def _metadata_of(session: SparkSession, path: str) -> Any:
    """What Delta says of the table that was last read or written at `path`."""
    return _log(session, path).unsafeVolatileSnapshot().metadata()


def _newest(session: SparkSession, path: str) -> Any:
    """The newest version of a table, looked for anew."""
    nothing = filesystem.java(session, "scala.Option").empty()
    return _log(session, path).update(False, nothing, nothing)


def exists(session: SparkSession, path: str) -> bool:
    """Whether there is a Delta table at `path`."""
    from delta.tables import DeltaTable

    return bool(DeltaTable.isDeltaTable(session, path))


def history(session: SparkSession, path: str, newest: int | None = None) -> Iterator[Commit]:
    """The versions up to `newest` whose log is still there, in falling order; who looks at a few does not list all."""
    for version in range(int(_newest(session, path).version()) if newest is None else newest, -1, -1):
        if not filesystem.exists(session, _file(path, version)):  # Delta tidies up from the oldest on
            return
        yield read_back(session, path, version)


def changed_since(session: SparkSession, path: str, version: int) -> bool:
    """Whether rows were added or removed after `version`, or whether that is not known."""
    later = version
    for commit in history(session, path):
        if commit.version <= version:
            return commit.version < version or later > version + 1
        if commit.changes:
            return True
        later = commit.version
    return True


def committed(session: SparkSession, path: str, attempt: str) -> Commit:
    """The commit that `session` just made to `path`; an error unless it is the one of `attempt`."""
    version = session.conf.get(_LAST, None)
    if version is None:
        raise StoreError(
            f"{path}: attempt {attempt} made no commit, since one of that name was made before; start a new attempt.",
            code="REPEATED_ATTEMPT",
        )
    for earlier in range(int(version), -1, -1):  # Delta may have tidied up in a commit of its own since
        commit = read_back(session, path, earlier)
        if commit.metadata.get(_ATTEMPT) == attempt:
            return commit
        if commit.metadata:
            break
    raise StoreError(
        f"{path}: version {version} is not of attempt {attempt}, which wrote it, but of "
        f"{commit.metadata.get(_ATTEMPT, 'somebody else')}; start a new attempt."
    )


def read_back(session: SparkSession, path: str, version: int) -> Commit:
    """Version `version` of the table at `path`, from its log."""
    written: dict[str, int] = {}
    more, size, changes, whole = 0, 0, False, False
    weights: list[int | None] = []
    metadata: dict[str, Any] = {}
    series: tuple[str, int] | None = None
    marked = set[str]()
    for line in filesystem.text(session, _file(path, version)).splitlines():
        action = json.loads(line)
        changes |= any(action.get(kind, {}).get("dataChange", False) for kind in ("add", "remove"))
        if "add" in action:
            size += action["add"]["size"]
            stats = json.loads(action["add"].get("stats") or "{}")
            written[action["add"]["path"]] = stats.get("numRecords", 0)
            more += _there(action["add"])
            weights += [stats.get(end, {}).get(WEIGHT) for end in ("minValues", "maxValues")]
        elif "remove" in action:
            marked.add(action["remove"]["path"])  # a file that comes back lost rows by a deletion vector
            more -= _there(action["remove"])
        elif "txn" in action:
            series = action["txn"]["appId"], action["txn"]["version"]
        elif "commitInfo" in action:
            metadata = _metadata(action["commitInfo"].get("userMetadata"))
            about = action["commitInfo"].get("operationParameters") or {}
            whole = about.get("mode") == "Overwrite" and about.get("predicate", "[]") in _ALL
    known = [w for w in weights if w is not None]
    extremes = (min(known), max(known)) if known and len(known) == len(weights) else None
    rows = sum(n for file, n in written.items() if file not in marked)
    files = tuple(written) if not marked and all(map(_is_plain, written)) else ()
    return Commit(version, rows, more, size, extremes, metadata, changes, whole, files=files, series=series)


def _file(path: str, version: int) -> str:
    """The file of the log that tells of a version."""
    return f"{path}/_delta_log/{version:020d}.json"


def _is_plain(file: str) -> bool:
    """Whether the log names a file just as it is called, below the table."""
    return "%" not in file and ":" not in file and not file.startswith("/")


def _there(file: Mapping[str, Any]) -> int:
    """The rows of a file that a reader sees."""
    records = json.loads(file.get("stats") or "{}").get("numRecords", 0)
    return int(records - (file.get("deletionVector") or {}).get("cardinality", 0))


def _taken(session: SparkSession, path: str, series: str, number: int, attempt: str) -> StoreError:
    """The error for `attempt`, which is too late: that number of the series was committed before."""
    commits = (c.metadata for c in history(session, path))
    winner = next((m.get(_ATTEMPT) for m in commits if m.get(_NUMBER) == number), "somebody else")
    if winner == attempt:
        text = f"attempt {attempt} has committed number {number} of {series} already, so this one is void"
        return StoreError(f"{path}: {text}; start a new attempt.", code="REPEATED_ATTEMPT")
    text = f"number {number} of {series} was committed by {winner}, so attempt {attempt} is void"
    return StoreError(f"{path}: {text}; look at what the table holds now, and go on from there.", code="NUMBER_TAKEN")


def _made_at_once(error: Exception) -> bool:
    """Whether a table was not written because another writer had just made it."""
    return any(code in str(error) for code in ("DELTA_PROTOCOL_CHANGED", "DELTA_METADATA_CHANGED"))


def _metadata(text: str | None) -> dict[str, Any]:
    """What a commit says of itself, nothing if it is not one of ours."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
