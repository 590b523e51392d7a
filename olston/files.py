"""Files that come, wherever Hadoop can list them: which ones there are, and the rows in them.

A file is data when it is there under its name: what is hidden (`.x`, `_x`), empty, or has a name by which programs
tell that they still write it, is left. Put files there whole: write them elsewhere, then rename.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from olston import filesystem, table
from olston.channel import Channel
from olston.errors import IngestError
from olston.failure import reason
from olston.followed import TYPED
from olston.ingest import refuse_drift
from olston.operators.bag import union
from olston.operators.columns import DELETED, PART, WEIGHT, col
from olston.operators.weak import Replace
from olston.schema import nullable
from olston.taken import File

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.types import StructType

_UNFINISHED = (".tmp", ".temp", ".part", ".partial", ".inprogress", ".crdownload", ".filepart", "._COPYING_")
_GLOB = re.compile(r"[*?\[{]")
_AT_ONCE = 8
"""Files whose columns are looked up at the same time: mostly it is waiting for a store far away."""

# what is skipped in silence would count as taken
_ALL = {"ignoreCorruptFiles": False, "ignoreMissingFiles": False}
_OPTIONS: dict[str, dict[str, Any]] = {
    "parquet": {},
    "orc": {},
    # RFC 4180: quotes are doubled, and lines may break within them
    "csv": {"header": True, "escape": '"', "multiLine": True, "enforceSchema": False, "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST"},
}


def listing(session: SparkSession, pattern: str) -> list[File]:
    """The files that `pattern` names, and those in the folders it names, the oldest first."""
    system, location = filesystem.file_system(session, pattern)
    whole = str(system.makeQualified(location).toString()).split("/")
    fixed = next((i for i, part in enumerate(whole) if _GLOB.search(part)), len(whole) - 1)

    def data(status: Any) -> Iterator[File]:
        path, size = str(status.getPath().toString()), int(status.getLen())
        if size and not any(map(_is_left, path.split("/")[fixed:])):
            yield File(path, size, int(status.getModificationTime()))

    found: list[File] = []
    for status in system.globStatus(location) or ():
        if status.isDirectory():
            within = system.listFiles(status.getPath(), True)
            while within.hasNext():
                found += data(within.next())
        else:
            found += data(status)
    return sorted(found, key=lambda f: (f.modified, f.path))


def refuse_delta(session: SparkSession, channel: str, files: Sequence[File]) -> None:
    """Raise an error if `files` are those of a Delta table, of which the log alone says which ones count."""
    for folder in sorted({file.path.rpartition("/")[0] for file in files}):
        if table.exists(session, folder):
            raise IngestError(
                f"{channel}: {folder} is a Delta table, whose files are not all data; follow it with table={folder!r}."
            )


def changed(session: SparkSession, files: Sequence[File]) -> File | None:
    """One of `files` that is not as it was any more; one that is gone was read before."""
    for file in files:
        system, location = filesystem.file_system(session, file.path)
        if system.exists(location):
            status = system.getFileStatus(location)
            if (status.getLen(), status.getModificationTime()) != (file.size, file.modified):
                return file
    return None


def columns(session: SparkSession, format: str, files: Sequence[File]) -> StructType:
    """The columns of the oldest of `files`."""
    return _reader(session, format).load(_escaped(files[0].path)).schema


def read(session: SparkSession, source: Channel, declared: StructType, format: str, files: Sequence[File]) -> DataFrame:
    """The rows of `files`, with the columns of `source`; an error that names the file whose columns are others.

    Of a keyed source with `_deleted`, and of each key the rows of the newest file that has it, or the greatest order.
    """
    kind = "append" if source.key is None else "replace"
    frames = []
    for paths in _alike(session, source, format, files):
        own = _reader(session, format).load(_escaped(paths[0])).schema
        schema = _expected(declared, own, format)
        refuse_drift(declared, f"{source.name}, {paths[0]}", schema, kind)
        rows = _reader(session, format).schema(schema).load([_escaped(p) for p in paths])
        frames.append(_shaped(rows, declared, source.key is not None))
    if not frames:
        empty = session.createDataFrame([], declared)
        return empty if source.key is None else empty.selectExpr("*", f"false AS {DELETED}")
    rows = union(*frames)
    if source.key is None:
        return rows
    weak = next(w for w in source.weak if isinstance(w, Replace))
    latest = weak.chained(rows)
    assert latest is not None
    return latest


def offered(session: SparkSession, source: str, declared: StructType, format: str, path: str) -> DataFrame:
    """The rows of a file, or of all files of a folder, as they are; text takes its types from what was `declared`."""
    try:
        own = _reader(session, format).load(_escaped(path)).schema
        return _reader(session, format).schema(_expected(declared, own, format)).load(_escaped(path))
    except Exception as error:
        raise IngestError(f"{source}, {path}: cannot be read as {format}: {reason(error)} Nothing arrived.") from error


def _shaped(rows: DataFrame, declared: StructType, keyed: bool) -> DataFrame:
    from pyspark.sql import functions as F

    shown = [col(n) for n in declared.names]
    if not keyed:
        return rows.select(*shown)
    gone = F.coalesce(col(DELETED), F.lit(False)) if DELETED in rows.columns else F.lit(False)
    file = F.struct("_metadata.file_modification_time", "_metadata.file_path")
    return rows.select(*shown, gone.alias(DELETED), file.alias(PART))


def _alike(session: SparkSession, source: Channel, format: str, files: Sequence[File]) -> list[list[str]]:
    """The paths of `files`, those together that have the same columns."""

    def shape(file: File) -> str:
        try:
            return _shape(session, format, file.path)
        except Exception as error:
            raise IngestError(
                f"{source.name}, {file.path}: cannot be read as {format}: {reason(error)} Nothing of it has arrived; "
                "mend the file or move it away."
            ) from error

    found: dict[str, list[str]] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for file, alike in zip(files, pool.map(shape, files), strict=True):
            found.setdefault(alike, []).append(file.path)
    return list(found.values())


def _shape(session: SparkSession, format: str, path: str) -> str:
    """The columns of one file, as text. Spark would run a job to look into a footer."""
    if format not in TYPED:
        return "\x1f".join(_reader(session, format).load(_escaped(path)).columns)
    jvm: Any = session._jvm
    location = jvm.org.apache.hadoop.fs.Path(path)
    settings = session._jsparkSession.sessionState().newHadoopConf()
    if format == "orc":
        options = jvm.org.apache.orc.OrcFile.readerOptions(settings)
        footer = jvm.org.apache.orc.OrcFile.createReader(location, options)
        schema = footer.getSchema
    else:
        file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(location, settings)
        footer = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
        schema = footer.getFileMetaData().getSchema
    try:
        return str(schema().toString())
    finally:
        footer.close()


def _expected(declared: StructType, own: StructType, format: str) -> StructType:
    """The columns to read files with: their own, of which text has the names only, and json those that are not null."""
    from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

    if format in TYPED:
        return StructType(nullable(own).fields)
    types = {**{f.name: f.dataType for f in declared.fields}, DELETED: BooleanType(), WEIGHT: LongType()}
    names = own.names if format == "csv" else list(dict.fromkeys([*declared.names, *own.names]))
    return StructType([StructField(n, types.get(n, StringType())) for n in names])


def _reader(session: SparkSession, format: str) -> DataFrameReader:
    return session.read.format(format).options(**_ALL, **_OPTIONS[format])


def _escaped(path: str) -> str:
    """A path that Spark does not take for a pattern."""
    return re.sub(r"([\\\[\]{}*?])", r"\\\1", path)


def _is_left(name: str) -> bool:
    return name.startswith((".", "_")) or name.endswith(_UNFINISHED)
