from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from zipfile import ZipFile

import pytest

from olston import jars
from olston.errors import SparkError
from olston.jars import Jar

JAR = Jar("org.some", "thing_2.13", "1.2")

PRELUDE = """
import json, pathlib, sys
here, arguments = pathlib.Path(__file__).parent, sys.argv[1:]
if arguments == ["-version"]:
    sys.exit(print('openjdk version "17.0.1"', file=sys.stderr))
with open(here / "calls", "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")
to = pathlib.Path(arguments[arguments.index("-retrieve") + 1])
def deliver(data=(here / "jar").read_bytes()):
    assert to.name == "[artifact]-[revision].[ext]"
    to.with_name("thing_2.13-1.2.jar").write_bytes(data)
"""

Ivy = Callable[[str], Callable[[], list[list[str]]]]


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    """What a jar looks like that arrived whole."""
    with ZipFile(tmp_path / "whole.jar", "w") as jar:
        jar.writestr("A.class", b"a" * 10_000)
    return (tmp_path / "whole.jar").read_bytes()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for jars that is not there yet, in a home where nothing else is, off the net."""
    for name in ("OLSTON_IVY_SETTINGS", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "cache" / "jars"


@pytest.fixture
def ivy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: bytes, folder: Path) -> Ivy:
    """Puts a `java` in place that does what the given Python says where Ivy would run; returns a way to its calls."""

    def make(script: str) -> Callable[[], list[list[str]]]:
        home = tmp_path / "jdk" / "bin"
        home.mkdir(parents=True)
        (home / "ivy.py").write_text(PRELUDE + script)
        (home / "jar").write_bytes(whole)
        (home / "java").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {home}/ivy.py "$@"\n')
        (home / "java").chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(home.parent))
        return lambda: [json.loads(line) for line in (home / "calls").read_text().splitlines()]

    return make


def test_the_cache_is_in_the_users_folder_for_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("OLSTON_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert jars.cache() == tmp_path / ".cache" / "olston"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative, which the standard says to ignore")
    assert jars.cache() == tmp_path / ".cache" / "olston"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert jars.cache() == Path("/caches/olston")
    monkeypatch.setenv("OLSTON_CACHE", "~/mine")
    assert jars.cache() == tmp_path / "mine"


def test_the_jars_follow_the_versions_that_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "version", {"pyspark": "4.2.0", "delta-spark": "4.4.0"}.get)
    assert [str(jar) for jar in jars.needed()] == [
        "io.delta:delta-spark_4.2_2.13:4.4.0",
        "io.delta:delta-storage:4.4.0",
    ]


def test_the_real_jars_are_fetched_and_hold_delta() -> None:
    delta, storage = jars.fetch()
    assert delta.name.endswith(f"_2.13-{version('delta-spark')}.jar")
    with ZipFile(delta) as jar:
        assert "io/delta/sql/DeltaSparkSessionExtension.class" in jar.namelist()
    with ZipFile(storage) as jar:
        assert "io/delta/storage/LogStore.class" in jar.namelist()


def test_the_command_says_that_nothing_was_left_to_do() -> None:
    kept = jars.fetch()
    done = subprocess.run([sys.executable, "-m", "olston.jars"], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"{jar} is in {kept[0].parent}" for jar in jars.needed()]


@pytest.mark.parametrize(
    "place",
    [
        ".ivy2.5.2/jars/org.some_thing_2.13-1.2.jar",
        ".ivy2/cache/org.some/thing_2.13/jars/thing_2.13-1.2.jar",
        ".m2/repository/org/some/thing_2.13/1.2/thing_2.13-1.2.jar",
    ],
)
def test_a_jar_that_spark_ivy_or_maven_left_nearby_is_copied(
    place: str, folder: Path, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    near = Path.home() / place
    near.parent.mkdir(parents=True)
    near.write_bytes(whole)
    kept = jars._fetch(JAR, folder)
    assert kept.read_bytes() == whole
    assert os.listdir(folder) == ["thing_2.13-1.2.jar"]


def test_a_broken_jar_nearby_is_passed_over(folder: Path, whole: bytes, ivy: Ivy) -> None:
    calls = ivy("deliver()")
    near = Path.home() / ".ivy2.5.2" / "jars" / "org.some_thing_2.13-1.2.jar"
    near.parent.mkdir(parents=True)
    near.write_bytes(whole.replace(b"a" * 100, b"b" * 100))
    assert jars._fetch(JAR, folder).read_bytes() == whole
    assert len(calls()) == 1


def test_a_jar_is_downloaded_by_its_coordinates_alone_and_once(folder: Path, ivy: Ivy) -> None:
    calls = ivy("deliver()")
    kept = jars._fetch(JAR, folder)
    assert jars._fetch(JAR, folder) == kept
    (call,) = calls()
    said = " ".join(call)
    assert "org.apache.ivy.Main -dependency org.some thing_2.13 1.2 -notransitive" in said
    assert "proxy" not in said
    assert "trustStore" not in said
    assert os.listdir(folder) == [kept.name]
    assert not list(Path.home().glob("*"))


def test_a_mirror_and_a_proxy_are_passed_on(folder: Path, ivy: Ivy, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = ivy("deliver()")
    monkeypatch.setenv("OLSTON_IVY_SETTINGS", "/etc/mirror.xml")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.some:3128")
    jars._fetch(JAR, folder)
    said = " ".join(calls()[0])
    assert "-settings /etc/mirror.xml" in said
    assert "-Dhttps.proxyHost=proxy.some -Dhttps.proxyPort=3128" in said


def test_a_java_without_the_machines_authorities_is_given_them(
    folder: Path, ivy: Ivy, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pip

    monkeypatch.setenv("SSL_CERT_FILE", str(Path(pip.__file__).parent / "_vendor" / "certifi" / "cacert.pem"))
    calls = ivy(
        """
(option,) = [a for a in arguments if a.startswith("-Djavax.net.ssl.trustStore=")] or [None]
if option is None:
    sys.exit("Server access error at url x (javax.net.ssl.SSLHandshakeException: PKIX path building failed)")
assert pathlib.Path(option.split("=", 1)[1]).read_bytes().startswith(bytes.fromhex("feedfeed"))
deliver()
"""
    )
    assert jars._fetch(JAR, folder).exists()
    assert len(calls()) == 2


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("sys.exit('\\t:: org.some#thing_2.13;1.2: not found')", "org.some#thing_2.13;1.2: not found"),
        ("sys.exit('\\tServer access error at url x (Connection refused)')", "Connection refused"),
        ("deliver(b'<html>log in to this network</html>')", "what came is no readable jar"),
        ("deliver((here / 'jar').read_bytes()[:-30])", "what came is no readable jar"),
        ("pass", "what came is no readable jar"),
    ],
)
def test_a_download_that_fails_counts_for_nothing_and_names_the_way_out(
    script: str, fault: str, folder: Path, ivy: Ivy
) -> None:
    ivy(script)
    with pytest.raises(SparkError) as failed:
        jars._fetch(JAR, folder)
    message = str(failed.value)
    for named in ("org.some:thing_2.13:1.2", str(folder), fault, "python -m olston.jars", "OLSTON_IVY_SETTINGS"):
        assert named in message
    assert os.listdir(folder) == []


def test_a_download_without_end_is_given_up(folder: Path, ivy: Ivy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "PATIENCE", 1)
    ivy("import time; time.sleep(30)")
    with pytest.raises(SparkError, match="no end after 1 seconds"):
        jars._fetch(JAR, folder)


def test_many_may_fetch_a_jar_at_once(folder: Path, whole: bytes, ivy: Ivy) -> None:
    ivy("deliver()")
    with ThreadPoolExecutor(4) as pool:
        assert {path.read_bytes() for path in pool.map(lambda _: jars._fetch(JAR, folder), range(8))} == {whole}
    assert os.listdir(folder) == ["thing_2.13-1.2.jar"]


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(SparkError, match="OLSTON_CACHE") as failed:
        jars._fetch(JAR, folder)
    assert str(folder) in str(failed.value)
