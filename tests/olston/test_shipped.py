"""What travels to Spark's workers by value; tests/cli/test_run.py sees it run there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from olston import shipped
from olston.project import find_workflow


def test_the_modules_beside_a_workflow_are_noted_and_those_of_an_environment_below_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: set[str] = set()
    monkeypatch.setattr(shipped, "_noted", noted)
    installed = tmp_path / ".venv" / "site-packages"
    for folder, name in ((tmp_path, "beside_it"), (tmp_path / "of_package", "inside_it"), (installed, "installed_it")):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(str(installed))
    file = tmp_path / "workflow.py"
    file.write_text("import beside_it, of_package.inside_it, installed_it, olston\nwf = olston.Workflow('w')\n")
    find_workflow(str(file))
    assert noted == {"_olston_workflow", "beside_it", "of_package"}
    assert str(tmp_path) not in sys.path
