"""The first five minutes with the wheel: an empty environment, `olston init demo && cd demo && olston run`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.test_packaging import FOLDERS, ROOT

pytestmark = pytest.mark.long


class Machine:
    """An environment that has nothing but what the wheel brings, and a folder to work in."""

    def __init__(self, place: Path, wheel: Path) -> None:
        self.place, self.bin = place, place / "env" / "bin"
        venv.create(place / "env", with_pip=True)
        constrained = ["--constraint", str(ROOT / "constraints.txt")]
        done = self.run("python", "-m", "pip", "install", "--quiet", *constrained, str(wheel))
        assert done.returncode == 0, done.stderr

    def run(
        self, command: str, *words: str, folder: str = ".", path: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "COLUMNS")}
        if path is not None:
            environment = {k: v for k, v in environment.items() if k != "JAVA_HOME"} | {"PATH": path}
        return subprocess.run(
            [self.bin / command, *words], cwd=self.place / folder, env=environment, capture_output=True, text=True
        )


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(out)], cwd=source, capture_output=True, check=True)
    (wheel,) = out.glob("*.whl")
    return Machine(tmp_path_factory.mktemp("machine"), wheel)


def test_a_new_project_runs_twice_in_a_row_and_takes_what_comes_later(machine: Machine) -> None:
    made = machine.run("olston", "init", "demo")
    assert made.returncode == 0, made.stderr
    first = machine.run("olston", "run", folder="demo")
    assert first.returncode == 0, first.stderr
    assert "orders: 40 rows arrived" in first.stdout
    assert all(" begins " in line or " done " in line for line in first.stderr.splitlines()), first.stderr
    again = machine.run("olston", "run", folder="demo")
    assert (again.returncode, again.stdout, again.stderr) == (0, "nothing was due\n", "")
    demo = machine.place / "demo"
    shutil.copy(demo / "later" / "orders-2.csv", demo / "data" / "orders")
    later = machine.run("olston", "run", folder="demo")
    assert later.returncode == 0, later.stderr
    assert "orders: 2 rows arrived" in later.stdout
    read = machine.run("olston", "read", "totals", "--format", "csv", folder="demo")
    assert sorted(read.stdout.split()) == ["FR,2,50", "TR,1,12", "US,2,12", "country,orders,amount"]


def test_a_machine_without_java_is_told_what_to_do(machine: Machine) -> None:
    assert machine.run("olston", "init", "nojava").returncode == 0
    told = machine.run("olston", "run", folder="nojava", path=str(machine.place))
    assert told.returncode == 6
    assert told.stderr.splitlines()[-1].startswith("error: ")
    assert "pip install 'olston[java]'" in told.stderr
    assert "Traceback" not in told.stderr


def test_the_examples_come_with_the_wheel(machine: Machine) -> None:
    told = machine.run("olston", "simulate", "search_preprocessing", "--weeks", "0.1")
    assert told.returncode == 0, told.stderr
