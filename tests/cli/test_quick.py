"""Verbs that need no Spark start no JVM, import nothing heavy, and answer in well under a second."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.stage import Stage

SECONDS = 1.0
"""What a verb may take on a machine that has nothing else to do."""
RATIO = 2.2
"""How many times as much of a processor as importing its libraries a verb may take."""
LIBRARIES = "import typer, rich.console, rich.table, rich.tree, yaml, pydantic, sqlmodel"
CARRYING_OUT = {
    "olston.scheduling", "olston.worker", "olston.session", "olston.recover", "olston.vacuum", "olston.trace",
    "urllib.request",
}  # fmt: skip
"""What plans are carried out by, and with it what it takes to fetch jars."""
VERBS = [
    ["--help"],
    ["status", "--help"],
    ["check", "--no-spark"],
    ["status", "--json"],
    ["plan"],
    ["plan", "--full-refresh-all"],
    ["provenance", "totals"],
    ["history"],
    ["history", "--costs"],
    ["dag", "--format", "svg"],
    ["dag", "--status", "--format", "html"],
    ["pause"],
    ["resume"],
    ["simulate", "search_preprocessing", "--weeks", "0.01"],
]


def program(stage: Stage, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        command, cwd=stage.folder, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def timed(stage: Stage, *arguments: str) -> float:
    """The least of three times that a program takes."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        assert program(stage, *arguments).returncode == 0
        took.append(time.perf_counter() - began)
    return min(took)


@pytest.fixture
def no_java(stage: Stage, tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A Java that only leaves a mark, and the environment in which it would be found first."""
    folder, mark = tmp_path / "java" / "bin", tmp_path / "started"
    folder.mkdir(parents=True)
    (folder / "java").write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
    (folder / "java").chmod(0o755)
    return mark, {"JAVA_HOME": str(folder.parent), "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_no_jvm_is_started_and_spark_is_not_imported(
    stage: Stage, no_java: tuple[Path, dict[str, str]], arguments: list[str]
) -> None:
    stage.fill(("orders", "customers"))
    mark, environment = no_java
    run = program(stage, "-X", "importtime", "-m", "olston", *arguments, **environment)
    assert run.returncode == 0, run.stderr[-1000:]
    assert not mark.exists()
    imported = {line.rpartition("|")[2].strip() for line in run.stderr.splitlines()}
    heavy = {"pyspark", "py4j", "networkx", "matplotlib", "alembic", "apscheduler", "sqlalchemy.dialects.postgresql"}
    if "--help" in arguments:
        heavy |= {"sqlalchemy", "sqlmodel", "yaml"}
    if not {"pause", "resume"} & set(arguments):  # which wake the scheduler
        heavy |= CARRYING_OUT
    assert not imported & (heavy - ({"networkx"} if "simulate" in arguments else set()))


def test_a_workflow_that_imports_sparks_functions_starts_no_jvm_either(
    stage: Stage, no_java: tuple[Path, dict[str, str]]
) -> None:
    file = stage.folder / "workflow.py"
    file.write_text("from pyspark.sql import functions as F\n" + file.read_text())
    mark, environment = no_java
    assert program(stage, "-m", "olston", "plan", **environment).returncode == 0
    assert not mark.exists()


def test_a_verb_that_needs_spark_would_have_found_that_java(stage: Stage, no_java: tuple[Path, dict[str, str]]) -> None:
    mark, environment = no_java
    assert program(stage, "-m", "olston", "run", **environment).returncode == 6
    assert mark.exists()


def worked(stage: Stage, *arguments: str) -> float:
    """The seconds of a processor that a program takes, which other programs on the machine change little."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert program(stage, *arguments).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_verbs_take_little_more_work_than_importing_the_libraries_they_use(stage: Stage) -> None:
    """Compared with imports just before, since the machine may grow slower or faster for a while."""
    stage.fill(("orders", "customers"))
    for verb in VERBS:
        program(stage, "-m", "olston", *verb)  # writes bytecode
    slow = {}
    for verb in VERBS:
        pairs = [(worked(stage, "-m", "olston", *verb), worked(stage, "-c", LIBRARIES)) for _ in range(3)]
        ratio = min(took / libraries for took, libraries in pairs)
        if ratio > RATIO:
            slow[" ".join(verb)] = ratio
    assert not slow, slow


@pytest.mark.long
def test_answers_come_in_well_under_a_second_where_nothing_else_runs(stage: Stage) -> None:
    if os.getloadavg()[0] > 0.5:
        pytest.skip(f"this machine is busy, its load is {os.getloadavg()[0]}")
    stage.fill(("orders", "customers"))
    for verb in VERBS:
        program(stage, "-m", "olston", *verb)
        assert timed(stage, "-m", "olston", *verb) < SECONDS, verb
