"""Shell completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olston.cli.complete import channels, followed, outputs, sources
from tests.cli.stage import WORKFLOW, Stage

SCRIPT = "import sys; sys.argv[0] = 'olston'; from olston.cli import main; main()"


def completed(folder: Path, words: str) -> list[str]:
    """What bash is offered for the last word."""
    asked = {"_OLSTON_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=folder, env={**os.environ, **asked}, capture_output=True, text=True
    )
    return run.stdout.split()


def test_verbs_options_and_channels_are_completed(stage: Stage) -> None:
    assert completed(stage.folder, "olston sta") == ["status"]
    assert "--fail-if-stale" in completed(stage.folder, "olston status --fail")
    assert completed(stage.folder, "olston read to") == ["totals"]
    assert completed(stage.folder, "olston ingest o") == ["orders"]
    assert completed(stage.folder, "olston run --select to") == ["totals"]


def test_without_a_project_nothing_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    monkeypatch.chdir(tmp_path)
    assert channels("") == sources("") == outputs("") == followed("") == []
    monkeypatch.chdir(stage.folder)
    assert channels("") == ["orders", "customers", "paid", "located", "totals"]
    assert sources("") == ["orders", "customers"]


def test_lists_are_completed_by_what_they_do_not_have_yet(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> None:
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace('amount int")', 'amount int", files="data/*.csv")'))
    monkeypatch.chdir(stage.folder)
    assert outputs("") == ["totals", "located"]
    assert outputs("totals,") == ["totals,located"]
    assert outputs("x,to") == ["x,totals"]
    assert followed("") == ["orders"]


def test_the_script_for_a_shell_is_shown() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, "--show-completion", "bash"], capture_output=True, text=True, check=False,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert "complete_bash" in run.stdout
