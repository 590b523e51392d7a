"""`olston init`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olston.cli import main
from olston.project_file import find_project


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def test_a_project_is_made_whose_workflow_has_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("init", str(tmp_path / "sales"), "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["workflow"] == "sales"
    made = {str(Path(f).relative_to(tmp_path / "sales")) for f in told["files"]}
    assert {"olston.yml", "workflow.py", ".gitignore", "data/orders/1.csv", "data/customers/1.json"} <= made
    assert "lake/" in (tmp_path / "sales" / ".gitignore").read_text()
    workflow, _ = find_project(tmp_path / "sales").find_workflow()
    assert workflow.name == "sales"
    assert workflow.check() == []


def test_what_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").mkdir()
    assert run("init", str(tmp_path / "mine")) == 0
    assert run("init", str(tmp_path / "mine")) == 2
    assert "ALREADY_THERE" in capsys.readouterr().err
    assert run("init", str(tmp_path / "a b")) == 2
    assert not (tmp_path / "a b").exists()


def test_its_rates_can_be_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("init", str(tmp_path / "demo"))
    capsys.readouterr()
    assert run("-C", str(tmp_path / "demo"), "simulate", "--weeks", "0.01", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 4
    setting = "staleness(totals, customers>located)=1 hour,1 day"
    code = run("-C", str(tmp_path / "demo"), "simulate", "--weeks", "0.01", "--set", setting, "--json")
    told = capsys.readouterr()
    assert code == 0, told.err


def test_a_project_is_made_where_the_option_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-C", str(tmp_path), "init", "demo") == 0
    assert (tmp_path / "demo" / "olston.yml").exists()
    assert f"cd {tmp_path}/demo" in " ".join(capsys.readouterr().out.split()), "and it says so, on several lines"
