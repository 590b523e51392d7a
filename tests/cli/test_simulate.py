"""`olston simulate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olston.cli import main

SHORT = ("--weeks", "0.02")

WORKFLOW = """
import olston as ol

wf = ol.Workflow("mine")
pages = wf.source("pages", "url string")
out = pages.map("digests", lambda df: df)
wf.output(out)
wf.bound_staleness(out, 0, 0)
"""

RATES = """
unit = "euros"
[sources.pages]
rows = 100
every = "1 hour"
initial = 1e4
[costs]
start = 1
base = 0.1
delta = 0.1
"""


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["simulate", *arguments])
    return int(caught.value.code or 0)


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run("--json", *arguments) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    (tmp_path / "workflow.py").write_text(WORKFLOW)
    (tmp_path / "rates.toml").write_text(RATES)
    return tmp_path / "workflow.py"


def test_the_four_modes_stand_next_to_table_5(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "search_preprocessing", *SHORT)
    assert [r["name"] for r in found["rows"]] == ["Async/Incr", "Sync/Incr", "Async/Batch", "Sync/Batch"]
    assert found["rows"][0]["paper"] == {"lag": 0.0606, "cost": 28_900, "seconds": 6.25}
    assert found["unit"] == "CPU hours"
    assert found["weeks"] == pytest.approx(0.02)
    for row in found["rows"]:
        assert set(row) >= {"name", "lag", "cost", "scheduler_seconds", "unrepaired", "paper"}
        assert row["unrepaired"] == 0


def test_a_person_sees_a_table_with_the_papers_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("search_preprocessing", *SHORT) == 0
    text = capsys.readouterr().out
    for word in ("Async/Incr", "Sync/Batch", "paper", "lag", "cost", "28,900"):
        assert word in text


def test_policies_stand_next_to_table_6(capsys: pytest.CaptureFixture[str]) -> None:
    found = report(capsys, "feedback_prioritization", "--policies", "--weeks", "0.02")
    assert [r["name"] for r in found["rows"]] == ["DYN. PROG.", "GREEDY", "RANDOM"]
    assert found["rows"][1]["paper"]["lag"] == 5.1


def test_what_would_this_promise_cost(capsys: pytest.CaptureFixture[str]) -> None:
    setting = "inconsistency(output)=1 day,1 week,4 weeks"
    found = report(capsys, "search_preprocessing", *SHORT, "--set", setting)
    assert [r["name"] for r in found["rows"]] == ["1 day", "1 week", "4 weeks"]
    assert found["title"].endswith("inconsistency(output)")
    assert run("search_preprocessing", *SHORT, "--set", setting) == 0
    assert "█" in capsys.readouterr().out


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("A.PNG", b"\x89PNG")])
def test_a_picture_is_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str, start: bytes) -> None:
    file = tmp_path / name
    report(capsys, "feedback_prioritization", *SHORT, "--plot", str(file))
    assert file.read_bytes().startswith(start)
    curve = tmp_path / f"curve{file.suffix}"
    setting = ("--set", "staleness(output, 1)=1 hour,1 day")
    report(capsys, "feedback_prioritization", *SHORT, *setting, "--plot", str(curve))
    assert curve.read_bytes().startswith(start)


def test_a_users_own_workflow_with_rates_beside_it(capsys: pytest.CaptureFixture[str], mine: Path) -> None:
    found = report(capsys, str(mine), *SHORT)
    assert (found["workflow"], found["unit"]) == ("mine", "euros")
    assert all(r["paper"] is None for r in found["rows"])
    costs = [r["cost"] for r in found["rows"]]
    assert costs[0] < costs[2]
    folder = report(capsys, str(mine.parent), *SHORT)
    assert [r["cost"] for r in folder["rows"]] == costs
    assert run(str(mine), *SHORT) == 0
    assert "paper" not in capsys.readouterr().out


def test_rates_from_another_file(capsys: pytest.CaptureFixture[str], mine: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(RATES.replace("euros", "pounds"))
    assert report(capsys, str(mine), *SHORT, "--rates", str(other))["unit"] == "pounds"


def test_without_being_told_it_takes_as_long_as_a_bound_takes_to_break(
    capsys: pytest.CaptureFixture[str], mine: Path
) -> None:
    with mine.open("a") as file:
        file.write('wf.bound_inconsistency(out, "2 days")\n')
    assert report(capsys, str(mine))["weeks"] == pytest.approx((48 + 1) / (7 * 24))
    setting = ("--set", "staleness(digests, 0)=1 hour,3 days")
    assert report(capsys, str(mine), *setting)["weeks"] == pytest.approx((72 + 1) / (7 * 24))
    assert run(str(mine)) == 0
    assert "2 days 1 hour" in (text := capsys.readouterr().out)
    assert "--weeks N takes longer" in text
    assert run(str(mine), *SHORT) == 0
    assert "takes longer" not in capsys.readouterr().out


def test_the_seed_and_the_number_of_runs_are_respected(capsys: pytest.CaptureFixture[str], mine: Path) -> None:
    first, same, other = (report(capsys, str(mine), *SHORT, "--seed", s)["rows"][0]["cost"] for s in ("1", "1", "2"))
    assert first == same != other
    several = report(capsys, str(mine), *SHORT, "--seed", "1", "--runs", "2")
    assert several["runs"] == 2
    assert several["rows"][0]["cost"] == pytest.approx((first + other) / 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serch_preprocessing"], "search_preprocessing"),
        (["nowhere/workflow.py"], "nowhere"),
        (["search_preprocessing", "--set", "inconsistency(zz)=1 day"], "zz"),
        (["search_preprocessing", "--set", "nonsense"], "--set"),
        (["search_preprocessing", "--rates", "nowhere.toml"], "nowhere.toml"),
        (["search_preprocessing", *SHORT, "--plot", "picture.gif"], ".gif"),
        (["search_preprocessing", *SHORT, "--plot", "nowhere/picture.png"], "nowhere"),
    ],
)
def test_errors_go_to_stderr_without_a_traceback(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: [")
    assert message in err
    assert "Traceback" not in err


def test_a_workflow_without_rates_is_told_what_to_write(capsys: pytest.CaptureFixture[str], mine: Path) -> None:
    (mine.parent / "rates.toml").unlink()
    assert run(str(mine)) == 2
    assert "--rates" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [("x = 1", "must define one workflow"), ("1 / 0", "workflow.py:1: ZeroDivisionError"), ("def", "workflow.py:1")],
)
def test_a_broken_workflow_file_is_named_with_the_line(
    capsys: pytest.CaptureFixture[str], mine: Path, text: str, message: str
) -> None:
    mine.write_text(text)
    assert run(str(mine)) == 2
    assert message in capsys.readouterr().err
