from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston import jars, java, session
from olston.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", script], cwd=cwd, capture_output=True, text=True, timeout=300)


@pytest.fixture
def on_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are made, but nothing is fetched and no folder made for them."""
    monkeypatch.setattr(session, "_warehouse", lambda: "file:///warehouse")
    monkeypatch.setattr(jars, "fetch", lambda: [Path("/jars/delta.jar"), Path("/jars/storage.jar")])


def test_importing_the_module_does_not_import_spark(tmp_path: Path) -> None:
    done = run("import sys, olston.session; sys.exit('pyspark' in sys.modules)", tmp_path)
    assert done.returncode == 0, done.stderr


def test_it_reads_and_writes_delta_by_path(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path))
    spark.sql(f"DELETE FROM delta.`{tmp_path}` WHERE id = 1")
    assert sorted(row.id for row in spark.read.format("delta").load(str(tmp_path)).collect()) == [0, 2]
    old = spark.read.format("delta").option("versionAsOf", 0).load(str(tmp_path))
    assert old.count() == 3


def test_workers_run_the_python_of_the_driver(spark: SparkSession) -> None:
    from pyspark.sql.functions import udf

    executable = udf(lambda _: sys.executable)
    assert [row[0] for row in spark.range(1).select(executable("id")).collect()] == [sys.executable]


def test_a_clone_sees_temporary_functions_and_views(spark: SparkSession) -> None:
    spark.range(3).createOrReplaceTempView("seen_by_clones")
    spark.udf.register("one_more", lambda x: x + 1, "long")
    clone = session.clone(spark)
    rows = clone.sql("SELECT one_more(id) AS more FROM seen_by_clones").collect()
    assert sorted(row.more for row in rows) == [1, 2, 3]


def test_a_clone_has_the_settings_of_its_origin_and_changes_its_own(spark: SparkSession) -> None:
    key = "spark.sql.shuffle.partitions"
    first = session.clone(spark)
    first.conf.set(key, "7")
    second = session.clone(first)
    second.conf.set(key, "9")
    assert [s.conf.get(key) for s in (spark, first, second)] == ["2", "7", "9"]
    assert first.sparkContext is spark.sparkContext
    session.check(second)


def test_what_a_clone_registers_its_origin_does_not_see(spark: SparkSession) -> None:
    session.clone(spark).range(1).createOrReplaceTempView("only_in_the_clone")
    assert not spark.catalog.tableExists("only_in_the_clone")


def test_starting_again_returns_the_session_that_runs(spark: SparkSession) -> None:
    assert session.start() is spark
    assert session.start({"spark.master": "local[2]", "spark.sql.extensions": session.EXTENSION}) is spark


def test_starting_again_with_other_settings_is_refused(spark: SparkSession) -> None:
    with pytest.raises(SparkError, match=r"spark\.driver\.memory=2g and not 3g; stop it first") as refused:
        session.start({"spark.master": "local[2]", "spark.driver.memory": "3g"})
    assert "'olston tests'" in str(refused.value)
    with pytest.raises(SparkError, match=r"some\.Extension"):
        session.start({"spark.sql.extensions": "some.Extension"})
    assert spark.conf.get("spark.driver.memory") == "2g"


QUIET = """
import os
before = dict(os.environ)
from olston import session
spark = session.start({"spark.master": "local[1]", "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"})
assert os.environ == before
spark.sql("CREATE TABLE managed (a int) USING delta")
assert spark.table("managed").rdd.isEmpty()
from pyspark.sql import functions as F
for wrong in (spark.range(1).select(1 / F.col("id")), spark.sql("SELECT 1 / id FROM range(1)")):
    try:
        wrong.collect()
    except Exception as error:
        assert "DIVIDE_BY_ZERO" in str(error)
spark.stop()
"""


@pytest.mark.spark
def test_it_starts_works_and_stops_without_a_word_or_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No output, nothing in the working directory, and the environment as it was."""
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    for name in ("cwd", "tmp"):
        (tmp_path / name).mkdir()
    done = run(QUIET, tmp_path / "cwd")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list((tmp_path / "cwd").iterdir())
    assert not list((tmp_path / "tmp").glob("olston-*"))


WITHOUT_DELTA = """
import os
from olston import jars, java, session
from olston.errors import SparkError
from pyspark.sql import SparkSession

def refused(action):
    try:
        action()
    except SparkError as error:
        return str(error)
    return "was accepted"

os.environ["JAVA_HOME"] = str(java.home(java.find(), jars.cache()))
options = {"spark.master": "local[1]", "spark.ui.enabled": "false", "spark.app.name": "theirs"}
theirs = SparkSession.builder.config(map=options).getOrCreate()
print(refused(lambda: session.check(theirs)))
print(refused(session.start))
theirs.stop()
print(refused(session.start))
"""


@pytest.mark.spark
def test_a_session_without_delta_is_refused_with_the_settings_to_add(tmp_path: Path) -> None:
    done = run(WITHOUT_DELTA, tmp_path)
    assert done.returncode == 0, done.stderr
    checked, beside, after = done.stdout.splitlines()
    assert beside == checked
    assert "session 'theirs': has no Delta; add spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in checked
    assert "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog" in checked
    assert "session 'olston': has the settings of Delta, but no class" in after
    assert str(jars.needed()[0]) in after


@pytest.mark.spark
def test_a_collector_that_somebody_chose_stays(tmp_path: Path) -> None:
    """Java does not start if it is told two."""
    script = """
from olston import session
spark = session.start({"spark.master": "local[1]", "spark.driver.defaultJavaOptions": "-XX:+UseSerialGC"})
beans = spark._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
print(*(bean.getName() for bean in beans), sep=", ")
"""
    assert run(script, tmp_path).stdout == "Copy, MarkSweepCompact\n"


def test_a_session_of_spark_connect_is_refused() -> None:
    remote: Any = SimpleNamespace()
    with pytest.raises(SparkError, match=r"Spark Connect.*spark\.master instead of spark\.remote"):
        session.check(remote)


@pytest.mark.spark
def test_a_master_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    script = "from olston import session; session.start({'spark.master': 'nonsense'})"
    done = run(script, tmp_path)
    assert "[NO_SPARK] Spark on nonsense: did not start" in done.stderr
    assert "the settings given: spark.master" in done.stderr


@pytest.mark.usefixtures("on_paper")
def test_settings_for_one_machine_are_not_forced_on_a_cluster() -> None:
    local = session._settings({}, "some app")
    assert local["spark.master"] == "local[*]"
    assert local["spark.app.name"] == "some app"
    assert local["spark.jars"] == "/jars/delta.jar,/jars/storage.jar"
    assert local["spark.sql.warehouse.dir"] == "file:///warehouse"
    assert session.LOCAL.items() <= local.items()
    cluster = session._settings({"spark.master": "spark://some:7077"}, "some app")
    assert session.EVERYWHERE.items() <= cluster.items()
    assert not {*session.LOCAL, "spark.sql.warehouse.dir"} & cluster.keys()
    key = "spark.driver.extraJavaOptions"
    assert (java.COLLECTOR in local[key], java.COLLECTOR in cluster[key]) == (True, False)


@pytest.mark.usefixtures("on_paper")
def test_given_settings_override_ours_but_lists_are_added_to() -> None:
    given = {
        "spark.ui.enabled": "true",
        "spark.sql.extensions": f"some.Extension,{session.EXTENSION}",
        "spark.jars": "/mine.jar",
        "spark.driver.extraJavaOptions": "--add-opens a --add-opens b",
        "spark.my.own": "1",
    }
    settings = session._settings(given, "app")
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.my.own"] == "1"
    assert settings["spark.sql.extensions"] == f"{session.EXTENSION},some.Extension"
    assert settings["spark.jars"] == "/jars/delta.jar,/jars/storage.jar,/mine.jar"
    options = settings["spark.driver.extraJavaOptions"]
    assert options.startswith("-Dlog4j2.configurationFile=file:///")
    assert options.endswith(" --add-opens a --add-opens b")
    assert options.count(java.COLLECTOR) == 1
    assert session._settings(settings, "app")["spark.driver.extraJavaOptions"] == options, "ours are there once"


def test_ctrl_c_goes_on_meaning_what_was_said_before_spark_started() -> None:
    """Spark puts its own handler there; `serve` would be cut off in the middle, or not stop at all."""

    def told(*_: object) -> None: ...
    def of_spark(*_: object) -> None: ...

    usual = signal.getsignal(signal.SIGINT)
    try:
        for before, after in ((told, told), (signal.SIG_IGN, signal.SIG_IGN), (signal.default_int_handler, of_spark)):
            signal.signal(signal.SIGINT, before)
            with session._interrupts():
                signal.signal(signal.SIGINT, of_spark)
            assert signal.getsignal(signal.SIGINT) is after
    finally:
        signal.signal(signal.SIGINT, usual)


def test_an_engine_whose_session_did_not_start_does_not_start_it_to_stop_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []

    def fail(_: object) -> None:
        tries.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "start", fail)
    wf = ol.Workflow("w")
    wf.source("rows", "x int")
    with pytest.raises(KeyboardInterrupt), ol.Engine(wf, str(tmp_path)) as engine:
        _ = engine.spark
    assert len(tries) == 1


@pytest.mark.usefixtures("on_paper")
def test_udfs_use_arrow_only_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else Spark prints a warning for each of them, before it does without."""
    for there in (True, False):
        monkeypatch.setattr("olston.session.find_spec", lambda name, there=there: there or name != "pyarrow")
        found = session._settings({}, "app").get("spark.sql.execution.pythonUDF.arrow.enabled")
        assert found == (None if there else "false")


@pytest.mark.usefixtures("on_paper")
@pytest.mark.parametrize("key", ["spark.jars", "spark.jars.packages"])
def test_where_the_settings_bring_delta_nothing_is_fetched(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(jars, "fetch")
    theirs = "io.delta:delta-spark_4.1_2.13:4.4.0"
    assert session._settings({key: theirs}, "app")[key] == theirs


def test_ctrl_c_while_java_starts_leaves_no_java_behind(tmp_path: Path) -> None:
    script = """if True:
        import os, signal, subprocess, threading, time
        from olston import session

        def java():
            children = ["ps", "-ww", "-o", "args=", "--ppid", str(os.getpid())]
            listed = subprocess.run(children, capture_output=True, text=True)
            return [line for line in listed.stdout.splitlines() if "ps -ww" not in line]

        def interrupt():
            while not any("SparkSubmit" in line for line in java()):
                time.sleep(0.01)
            time.sleep(0.2)
            os.kill(os.getpid(), signal.SIGINT)

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            session.start()
        except KeyboardInterrupt:
            time.sleep(3)
            print("interrupted", [line for line in java() if "defunct" not in line])
        """
    done = run(script, tmp_path)
    assert done.stdout.strip() == "interrupted []", done.stderr
