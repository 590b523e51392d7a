"""Small files and folders wherever Spark can write: a disk, HDFS, an object store."""

from __future__ import annotations

import os
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


def put(session: SparkSession, path: str, said: str) -> None:
    """Make a file that is never changed: it is there whole or not at all. One that says the same already stays."""
    system, location = file_system(session, path)
    # Hadoop asks a shell for the rights of a file of this machine, which takes longer than the rest
    make = _put_here if system.getScheme() == "file" else _put
    if (system.exists(location) or not make(session, path, said)) and text(session, path) != said:
        raise StoreError(f"{path}: is there and says something else: do two catalogs use this home?")


def _put(session: SparkSession, path: str, said: str) -> bool:
    """Make a file; whether it was not there."""
    system, location = file_system(session, path)
    folder, _, name = path.rpartition("/")
    beside = java(session, "org.apache.hadoop.fs.Path")(f"{folder}/.{name}.{secrets.token_hex(4)}")
    stream = system.create(beside, True)
    try:
        stream.write(bytearray(said.encode()))
    finally:
        stream.close()
    if system.rename(beside, location):
        return True
    if not system.exists(location):
        raise StoreError(f"{path}: could not be given its name; see that its folder may be written.")
    return False


def _put_here(session: SparkSession, path: str, said: str) -> bool:
    """The same on this machine."""
    _, location = file_system(session, path)
    place = Path(location.toUri().getPath())
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.write(said)
            file.flush()
            os.fsync(file.fileno())
        os.link(beside, place)
    except FileExistsError:
        return False
    except OSError:  # a disk without hard links; if the file could not be written, this fails too
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)
    return True


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
    """A class of Java, by its whole name; Java is asked for it once, and by PySpark no more either."""
    classes = cast(Any, session._jvm)
    found = getattr(classes, name)
    if name not in vars(classes):
        setattr(classes, name, found)
    return found
