"""The folders at the top level are packages of olston, each module under one name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("olston", "examples", "operators", "scheduler", "widgets")
LINKED = FOLDERS[1:]
ACTING = {"dispatch", "lease", "loop"}
"""Modules of the scheduler that may know Spark; all others decide."""


def settings() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def files(suffix: str) -> Iterator[Path]:
    """Files of the packages, as the wheel should name them."""
    for folder in FOLDERS:
        for place, _, names in os.walk(ROOT / folder):  # does not descend into the symlinks
            inside = Path(place).relative_to(ROOT)
            yield from (
                inside / name if folder == "olston" else "olston" / inside / name
                for name in names
                if name.endswith(suffix)
            )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Names in a wheel built from a copy, so that no `build` folder of an earlier day slips in."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, source / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", build, str(out)], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    with ZipFile(built) as archive:
        return archive.namelist()


def test_every_folder_with_an_init_is_listed_and_every_listed_one_exists() -> None:
    found = {".".join(path.parent.parts) for path in files(".py") if path.name == "__init__.py"}
    listed = set(settings()["tool"]["setuptools"]["packages"])
    assert not found - listed, "add these to `packages` in pyproject.toml"
    assert not listed - found, "`packages` in pyproject.toml lists folders that do not exist"


@pytest.mark.parametrize("folder", LINKED)
def test_each_folder_is_linked_into_olston(folder: str) -> None:
    link = ROOT / "olston" / folder
    assert link.is_symlink(), f"{link} is not a symlink; on Windows, clone with core.symlinks=true"
    assert link.readlink().as_posix() == f"../{folder}"


def test_the_wheel_holds_each_module_once_under_its_olston_name(wheel: list[str]) -> None:
    modules = [name for name in wheel if name.endswith(".py")]
    assert len(modules) == len(set(modules))
    assert set(modules) == {path.as_posix() for path in files(".py")}


def test_the_wheel_has_no_top_level_name_but_olston(wheel: list[str]) -> None:
    version = settings()["project"]["version"]
    assert {name.split("/")[0] for name in wheel} == {"olston", f"olston-{version}.dist-info"}


def test_the_wheel_holds_the_data_beside_the_modules(wheel: list[str]) -> None:
    data = {
        path.as_posix()
        for suffix in (".toml", ".md", ".ipynb")
        for path in files(suffix)
        if path.parts[1] == "examples"
    }
    assert {"olston/py.typed"} | data <= set(wheel)


def test_the_wheel_holds_what_init_copies(wheel: list[str]) -> None:
    folder = ROOT / "olston" / "cli" / "template"
    copied = {p.relative_to(ROOT).as_posix() for p in folder.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    assert {"olston/cli/template/olston.yml", "olston/cli/template/data/orders/1.csv"} <= copied
    assert copied <= set(wheel)


def test_deciding_does_not_import_spark() -> None:
    deciding = sorted(
        ".".join(path.with_suffix("").parts).removesuffix(".__init__")
        for path in files(".py")
        if path.parts[1] == "scheduler" and path.with_suffix("").parts[2] not in ACTING
    )
    assert "olston.scheduler.planner" in deciding
    script = f"import sys, {', '.join(deciding)}; sys.exit('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or "a deciding module imports pyspark"
