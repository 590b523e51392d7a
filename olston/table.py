"""Commits to Delta tables, each read back from the log before anybody relies on it.

An attempt writes under its own name, once: `txnAppId` is the attempt, so a commit that is repeated is void, and what
the log says decides which one it was. A commit also says, in its `userMetadata`, what was written and by whom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston.errors import StoreError
from olston.operators.columns import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LAST = "spark.databricks.delta.lastCommitVersionInSession"
_ATTEMPT = "attempt"
_VERSION = re.compile(r"\d{20}\.json")


@dataclass(frozen=True)
class Commit:
    """One version of a Delta table, as its log tells it; `weights` are the least and the greatest, if there are any."""

    version: int
    rows: int
    bytes: int
    weights: tuple[int, int] | None
    metadata: Mapping[str, Any]


def append(
    rows: DataFrame, path: str, attempt: str, metadata: Mapping[str, Any], *, partition_by: Sequence[str] = ()
) -> Commit:
    """Add `rows` in one commit, also if there are none. The session of `rows` must not be used by another thread."""
    session = rows.sparkSession
    session.conf.unset(_LAST)
    writer = rows.write.format("delta").mode("append").partitionBy(*partition_by)
    writer = writer.option("txnAppId", attempt).option("txnVersion", 1)
    writer.option("userMetadata", json.dumps({_ATTEMPT: attempt, **metadata})).save(path)
    return committed(session, path, attempt)


@contextmanager
def numbered(
    session: SparkSession, path: str, series: str, number: int, attempt: str, metadata: Mapping[str, Any]
) -> Iterator[None]:
    """Within, whatever commits to `path` does so as `number` of `series`: of two that try, one commits.

    Leaving checks by the log that it was this attempt.
    """
    settings = {
        "spark.databricks.delta.write.txnAppId": series,
        "spark.databricks.delta.write.txnVersion": str(number),
        "spark.databricks.delta.commitInfo.userMetadata": json.dumps({_ATTEMPT: attempt, **metadata}),
    }
    session.conf.unset(_LAST)
    for key, value in settings.items():
        session.conf.set(key, value)
    try:
        yield
    finally:
        for key in settings:
            session.conf.unset(key)
    committed(session, path, attempt)


def last_number(session: SparkSession, path: str, series: str) -> int:
    """The greatest number of `series` that was committed to `path`, 0 if none was."""
    jvm: Any = session._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, path)
    nothing = jvm.scala.Option.empty()
    found = log.update(False, nothing, nothing).transactions().get(series)
    return int(found.get()) if found.isDefined() else 0


def exists(session: SparkSession, path: str) -> bool:
    """Whether there is a Delta table at `path`."""
    from delta.tables import DeltaTable

    return bool(DeltaTable.isDeltaTable(session, path))


def history(session: SparkSession, path: str) -> Iterator[Commit]:
    """The versions whose log is still there, the newest first."""
    system, folder = _file_system(session, f"{path}/_delta_log")
    names = [status.getPath().getName() for status in system.listStatus(folder)]
    for name in sorted((n for n in names if _VERSION.fullmatch(n)), reverse=True):
        yield read_back(session, path, int(name.removesuffix(".json")))


def committed(session: SparkSession, path: str, attempt: str) -> Commit:
    """The commit that `session` just made to `path`; an error unless it is the one of `attempt`."""
    version = session.conf.get(_LAST, None)
    if version is None:
        raise StoreError(f"{path}: attempt {attempt} made no commit, as if it were repeated; start a new attempt.")
    commit = read_back(session, path, int(version))
    if commit.metadata.get(_ATTEMPT) != attempt:
        raise StoreError(
            f"{path}: version {version} is of attempt {commit.metadata.get(_ATTEMPT)}, not of {attempt}, which wrote "
            "it; start a new attempt."
        )
    return commit


def read_back(session: SparkSession, path: str, version: int) -> Commit:
    """Version `version` of the table at `path`, from its log."""
    rows = size = 0
    weights: list[int] = []
    metadata: dict[str, Any] = {}
    for line in _text(session, f"{path}/_delta_log/{version:020d}.json").splitlines():
        action = json.loads(line)
        if "add" in action:
            size += action["add"]["size"]
            stats = json.loads(action["add"].get("stats") or "{}")
            rows += stats.get("numRecords", 0)
            weights += [s[WEIGHT] for s in (stats.get("minValues", {}), stats.get("maxValues", {})) if WEIGHT in s]
        elif "commitInfo" in action:
            metadata = _metadata(action["commitInfo"].get("userMetadata"))
    return Commit(version, rows, size, (min(weights), max(weights)) if weights else None, metadata)


def folders(session: SparkSession, path: str) -> list[str]:
    """The names of the folders in `path`, none if it is not there."""
    system, location = _file_system(session, path)
    if not system.exists(location):
        return []
    return sorted(s.getPath().getName() for s in system.listStatus(location) if s.isDirectory())


def drop(session: SparkSession, path: str) -> None:
    """Delete a table with all its files."""
    system, location = _file_system(session, path)
    system.delete(location, True)


def _metadata(text: str | None) -> dict[str, Any]:
    """What a commit says of itself, nothing if it is not one of ours."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(session: SparkSession, path: str) -> str:
    """A small file, wherever Spark can read."""
    system, location = _file_system(session, path)
    stream = system.open(location)
    try:
        jvm: Any = session._jvm
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def _file_system(session: SparkSession, path: str) -> tuple[Any, Any]:
    jvm: Any = session._jvm
    location = jvm.org.apache.hadoop.fs.Path(path)
    return location.getFileSystem(session._jsparkSession.sessionState().newHadoopConf()), location
