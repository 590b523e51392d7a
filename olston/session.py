"""Spark sessions on Delta.

`start` makes one with settings that suit many small tables, without a word on the console; `check` says whether
a session of somebody else's will do; `clone` gives a thread settings of its own.
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from subprocess import Popen
from typing import TYPE_CHECKING, Any

from olston import jars, java
from olston.errors import SparkError
from olston.filesystem import java as java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

DELTA = {"spark.sql.extensions": EXTENSION, "spark.sql.catalog.spark_catalog": CATALOG}

EVERYWHERE = {
    **DELTA,
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Tables have logs of few files, and many versions: reading a log in 50 tasks costs more than the log,
    # and so does a checkpoint every ten versions.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.properties.defaults.checkpointInterval": "100",
    # Otherwise, where the machine's zone is not UTC, every commit lists all files of the table to verify its checksum.
    "spark.databricks.delta.allFilesInCrc.verificationMode.forceOnNonUTC.enabled": "false",
}

# What pays only where all tasks share one machine; a cluster's own defaults are left alone.
LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "4",
    # A page is what a task sorts, joins or counts in, one at least for each, however few rows there are. Spark's own,
    # 64 MB with 4 GB, are cleared for each, and fill the heap (docs/decisions/collector.md). A task has 8192 at most.
    "spark.buffer.pageSize": "4m",
    # Hadoop starts a process for every link it looks at and every file whose permissions it sets. To move the
    # checksum of a version into place like this spares one in six that a commit starts (docs/decisions/appends.md).
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

# Lists, which a given setting adds to instead of replacing: without our part there is no Delta, or no silence.
JOINED = {"spark.sql.extensions": ",", "spark.jars": ",", "spark.driver.extraJavaOptions": " "}

_ASKED_FOR = (
    "PythonUtils",
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.catalyst.trees.PySparkCurrentOrigin",
)
"""Classes that PySpark looks up anew for nearly every word of a query: the short names in all packages it imports."""

_starting = threading.Lock()


def start(settings: Mapping[str, str] | None = None, *, app: str = "olston") -> SparkSession:
    """A session on Delta, on `local[*]` unless `settings` name another `spark.master`.

    `settings` override ours, but extensions, jars and Java options are added to ours. A session that already runs
    in this process is returned if it has Delta and all of `settings`; it is never changed. The JVM of a stopped session
    stays and serves the next one, with the memory and the jars it was launched with.
    """
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    given = dict(settings or {})
    with _starting:
        if SparkContext._active_spark_context is not None:
            return _running(SparkSession.builder.getOrCreate(), given)
        wanted = _settings(given, app)
        java_home = java.home(java.find(), jars.cache())
        try:
            with _environment(java_home), _interrupts(), _launch():
                session = SparkSession(SparkContext(conf=SparkConf().setAll(list(wanted.items()))))
        except Exception as error:  # of pyspark, of py4j, of the launch: all of them mean the same
            raise SparkError(
                f"Spark on {wanted['spark.master']}: did not start: {str(error).strip()} Look at what Java wrote to "
                f"the console, and at the settings given: {', '.join(given) or 'none'}."
            ) from error
        try:
            check(session)
        except SparkError:
            session.stop()
            raise
        _say_errors_once()
        for name in _ASKED_FOR:
            java_class(session, name)
        return session


@contextmanager
def started(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session for a while: it is stopped then, unless it ran before."""
    from pyspark import SparkContext

    ran = SparkContext._active_spark_context is not None
    session = start(settings)
    try:
        yield session
    finally:
        if not ran:
            session.stop()


def clone(session: SparkSession) -> SparkSession:
    """A session of its own settings on the same context that sees the temporary functions and views of `session`.

    It begins with the settings `session` has now; what either sets or registers later, the other does not see.
    """
    from pyspark.sql import SparkSession

    return SparkSession(session.sparkContext, session._jsparkSession.cloneSession())


class Sessions:
    """Clones of a session, each lent to one thread at a time: a clone costs more than most of what is done with it."""

    def __init__(self, parent: SparkSession) -> None:
        self._parent = parent
        self._idle: SimpleQueue[SparkSession] = SimpleQueue()

    @contextmanager
    def lent(self, group: str | None = None, description: str = "") -> Iterator[SparkSession]:
        """A session that nobody else uses meanwhile; the jobs of `group` can be cancelled, and are shown with it."""
        try:
            session = self._idle.get_nowait()
        except Empty:
            session = clone(self._parent)
        context = self._parent.sparkContext
        if group is not None:
            context.setJobGroup(group, description, interruptOnCancel=True)
        try:
            yield session
        finally:
            if group is not None:
                for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
                    context.setLocalProperty(name, None)  # type: ignore[arg-type]
            self._idle.put(session)

    def cancel(self, group: str) -> None:
        """Let the jobs of `group` that run now fail."""
        self._parent.sparkContext.cancelJobGroup(group)


def check(session: SparkSession) -> None:
    """Raise a `SparkError` unless `session` runs in this process's JVM and has Delta."""
    if getattr(session, "_jsparkSession", None) is None:
        raise SparkError(
            "session: is one of Spark Connect, but olston needs the driver in this process; start it with "
            "spark.master instead of spark.remote, or with olston.session.start."
        )
    name = f"session {session.sparkContext.appName!r}"
    missing = [
        f"{key}={value}" for key, value in DELTA.items() if value not in (session.conf.get(key, None) or "").split(",")
    ]
    if missing:
        raise SparkError(
            f"{name}: has no Delta; add {' and '.join(missing)} to its settings before it starts, and the jars "
            f"{', '.join(map(str, jars.needed()))}, or let olston.session.start make it."
        )
    java_side: Any = session._jvm
    absent = [value for value in DELTA.values() if not java_side.org.apache.spark.util.Utils.classIsLoadable(value)]
    if absent:
        raise SparkError(
            f"{name}: has the settings of Delta, but no class {' and no class '.join(absent)}; start a new process "
            f"with spark.jars.packages={','.join(map(str, jars.needed()))}, or with olston.session.start."
        )


def _say_errors_once() -> None:
    """Exceptions are for who called; pyspark would also print those that say which query failed, as JSON."""
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


def _settings(given: Mapping[str, str], app: str) -> dict[str, str]:
    master = given.get("spark.master", "local[*]")
    local = master.startswith("local")
    ours = {"spark.master": master, "spark.app.name": app, **EVERYWHERE}
    if not all(map(find_spec, ("pandas", "pyarrow"))):  # Spark would try all the same, and warn of every UDF
        ours["spark.sql.execution.pythonUDF.arrow.enabled"] = "false"
    if local:
        ours |= LOCAL | {"spark.sql.warehouse.dir": given.get("spark.sql.warehouse.dir") or _warehouse()}
    if not any("delta-spark" in given.get(key, "") for key in ("spark.jars", "spark.jars.packages")):
        ours["spark.jars"] = ",".join(map(str, jars.fetch()))
    ours["spark.driver.extraJavaOptions"] = " ".join(java.options(jars.cache(), local=local))
    wanted = ours | dict(given)
    for key, by in JOINED.items():
        if key in ours:
            added = (part for part in given.get(key, "").split(by) if part and part not in ours[key].split(by))
            wanted[key] = by.join((ours[key], *added))
    return wanted


def _warehouse() -> str:
    """A folder that goes with the process, for what Spark would put into the working directory."""
    folder = tempfile.mkdtemp(prefix="olston-warehouse-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder).as_uri()


def _running(session: SparkSession, given: Mapping[str, str]) -> SparkSession:
    """`session`, which already runs, if it is what `start` was asked for."""
    check(session)
    for key, value in given.items():
        has = session.conf.get(key, None)
        by = JOINED.get(key)
        if has != value and not (by and has and set(value.split(by)) <= set(has.split(by))):
            raise SparkError(
                f"session {session.sparkContext.appName!r}: already runs in this process, with {key}={has} and not "
                f"{value}; stop it first, or start without this setting."
            )
    return session


@contextmanager
def _interrupts() -> Iterator[None]:
    """Ctrl-C goes on meaning what was said, by `serve` for example: Spark would cancel all jobs, and not stop."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not signal.default_int_handler and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


@contextmanager
def _launch() -> Iterator[None]:
    """A JVM whose launch is interrupted, or fails, is ended: pyspark forgets it, and it would wait for ever."""
    from pyspark import SparkContext, java_gateway

    launching: Any = java_gateway
    launched: list[Popen[bytes]] = []

    def noted(*given: Any, **named: Any) -> Popen[bytes]:
        launched.append(Popen(*given, **named))
        return launched[-1]

    launching.Popen = noted
    try:
        yield
    except BaseException:
        if SparkContext._gateway is None:
            for process in launched:
                process.kill()
        raise
    finally:
        launching.Popen = Popen


@contextmanager
def _environment(java_home: Path) -> Iterator[None]:
    """What the JVM launched in here sees: this Java, and this Python for its workers unless the user chose one."""
    before = {name: os.environ.get(name) for name in ("JAVA_HOME", "PYSPARK_PYTHON")}
    os.environ["JAVA_HOME"] = str(java_home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
