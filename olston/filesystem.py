"""Small files and folders wherever Spark can write: a disk, HDFS, an object store."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from olston.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS: WeakKeyDictionary[SparkSession, Any] = WeakKeyDictionary()
"""Hadoop's settings as each session had them first; Hadoop keeps its file systems by the first it sees anyway."""


def text(session: SparkSession, path: str) -> str:
    """A small file."""
    system, location = file_system(session, path)
    stream = system.open(location)
    try:
        return str(java(session, "org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
    finally:
        stream.close()


def exists(session: SparkSession, path: str) -> bool:
    """Whether there is a file or a folder."""
    system, location = file_system(session, path)
    return bool(system.exists(location))


def put(session: SparkSession, path: str, text: str) -> None:
    """Make a file that is never changed: it is there whole or not at all. One that is there already stays."""
    system, location = file_system(session, path)
    if system.exists(location):
        return
    if system.getScheme() == "file":  # Hadoop asks a shell for the rights of the file, which takes longer than the rest
        return _put(Path(location.toUri().getPath()), text)
    folder, _, name = path.rpartition("/")
    beside = java(session, "org.apache.hadoop.fs.Path")(f"{folder}/.{name}.{secrets.token_hex(4)}")
    stream = system.create(beside, True)
    try:
        stream.write(bytearray(text.encode()))
    finally:
        stream.close()
    if not system.rename(beside, location) and not system.exists(location):
        raise StoreError(f"{path}: could not be given its name; see that its folder may be written.")


def _put(path: Path, text: str) -> None:
    """The same on this machine."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)


def names(session: SparkSession, folder: str) -> list[str]:
    """The names of all that is in `folder`, none if it is not there."""
    system, location = file_system(session, folder)
    if not system.exists(location):
        return []
    paths = java(session, "org.apache.hadoop.fs.FileUtil").stat2Paths(system.listStatus(location))
    # as one text, since a call for each would take minutes; py4j finds the method for plain objects only
    gateway: Any = session.sparkContext._gateway
    plain = gateway.new_array(java(session, "java.lang.Object"), len(paths))
    java(session, "java.lang.System").arraycopy(paths, 0, plain, 0, len(paths))
    listed = str(java(session, "org.apache.commons.lang3.StringUtils").join(plain, "\n"))
    return sorted(line.rpartition("/")[2] for line in listed.splitlines())


def folders(session: SparkSession, path: str) -> list[str]:
    """The names of the folders in `path`, none if it is not there."""
    system, location = file_system(session, path)
    if not system.exists(location):
        return []
    return sorted(s.getPath().getName() for s in system.listStatus(location) if s.isDirectory())


def drop(session: SparkSession, path: str) -> None:
    """Delete a file, or a folder with all that is in it."""
    system, location = file_system(session, path)
    system.delete(location, True)


def file_system(session: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system that `path` is on, and `path` for it, as Hadoop has them."""
    location = java(session, "org.apache.hadoop.fs.Path")(path)
    if session not in _SETTINGS:  # a copy of thousands of them
        _SETTINGS[session] = session._jsparkSession.sessionState().newHadoopConf()
    return location.getFileSystem(_SETTINGS[session]), location


def java(session: SparkSession, name: str) -> Any:
    """A class of Java. By its whole name: Java is asked once, and not for every word of it."""
    return getattr(cast(Any, session._jvm), name)
