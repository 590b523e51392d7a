"""`olston plan --problem`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from olston.cli import main
from olston.cli.show import console
from tests.cli.stage import WORKFLOW, Stage
from tests.pretended import arrive
from tests.scheduler.cases import MAP, case, delta, output, stale

ROOT = Path(__file__).parents[2]
PROBLEMS = ROOT / "tests" / "data" / "problems.json"
LISTED = {c["id"]: c for c in json.loads(PROBLEMS.read_text())["cases"]}


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    return int(caught.value.code or 0)


def answers(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run("plan", "--json", *arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_every_case_of_the_file_is_answered_at_the_listed_minimum(capsys: pytest.CaptureFixture[str]) -> None:
    found = answers(capsys, "--problem", str(PROBLEMS))
    assert [a["id"] for a in found] == list(LISTED)
    for answer in found:
        expected = LISTED[answer["id"]]["expected"]
        assert answer["feasible"] == expected["feasible"]
        if not expected["feasible"]:
            assert answer["why"]
            continue
        assert answer["cost"] == pytest.approx(expected["cost"])
        assert sum(i["cost"] for i in answer["invocations"]) == pytest.approx(expected["cost"])
        assert sorted(answer["repaired"]) == sorted(expected["repaired"])
        if expected["unique_invocations"]:
            assert sorted(map(plain, answer["invocations"])) == sorted(map(plain, expected["invocations"]))
            assert answer["holds_after"] == expected["holds_after"]


def plain(invocation: dict[str, Any]) -> str:
    return json.dumps({k: invocation[k] for k in ("operator", "channel", "operands", "results")}, sort_keys=True)


def test_a_case_is_answered_by_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    found = answers(capsys, "--problem", str(PROBLEMS), "--case", "problem05")
    assert found["id"] == "problem05"
    expected = LISTED["problem05"]["expected"]
    assert set(expected) - {"unique_invocations"} <= set(found)
    assert set(expected["invocations"][0]) <= set(found["invocations"][0])
    assert set(found["evidence"]) == {"due", "slack", "alternatives"}


def test_a_file_of_one_case_is_answered_by_one_object(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(LISTED["problem05"]))
    assert answers(capsys, "--problem", str(file))["cost"] == pytest.approx(LISTED["problem05"]["expected"]["cost"])
    file.write_text(json.dumps({"cases": [LISTED["problem05"]]}))
    assert isinstance(answers(capsys, "--problem", str(file)), list)


def test_an_infeasible_case_is_named_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    found = answers(capsys, "--problem", str(PROBLEMS), "--case", "problem24")
    assert found["feasible"] is False
    assert found["cost"] is None
    assert found["invocations"] == []
    assert found["outputs"] == ["c2"]
    assert "c2" in found["why"]


def test_prunings_are_turned_on_and_the_rung_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    found = answers(capsys, "--problem", str(PROBLEMS), "--case", "problem05")
    assert (found["rung"], found["prunings"]) == (0, [])
    found = answers(capsys, "--problem", str(PROBLEMS), "--case", "problem05", "--prunings", "6.2.2, 6.2.1")
    assert found["prunings"] == ["6.2.1", "6.2.2"]
    found = answers(capsys, "--problem", str(PROBLEMS), "--prunings", "all")
    assert all(isinstance(a["rung"], int) for a in found if a["feasible"])
    for answer in found:
        expected = LISTED[answer["id"]]["expected"]
        assert answer["feasible"] == expected["feasible"]
        assert not answer["feasible"] or answer["cost"] >= expected["cost"] * (1 - 1e-9)


def test_without_json_a_person_sees_steps_slack_and_alternatives(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "--problem", str(PROBLEMS), "--case", "problem06") == 0
    text = capsys.readouterr().out
    for word in ("problem06", "due", "steps", "join1.l", "left of each bound", "rejected", "dearer by"):
        assert word in text


def test_nothing_due_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "calm.json"
    file.write_text(json.dumps(case(7, {"a": [0, 5]}, *MAP, output("c", 0))))
    assert run("plan", "--problem", str(file)) == 0
    assert "nothing is due" in capsys.readouterr().out
    assert answers(capsys, "--problem", str(file))["cost"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problem", "nowhere.json"], "nowhere.json"),
        (["--problem", str(PROBLEMS), "--case", "problem99"], "problem99"),
        (["--problem", str(PROBLEMS), "--prunings", "6.9"], "6.9"),
        (["--problem", str(ROOT / "README.md")], "not JSON"),
        ([], "no olston.yml"),
        (["--case", "problem05"], "--problem"),
    ],
)
def test_errors_go_to_stderr_without_a_traceback(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run("plan", *arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: [")
    assert message in err
    assert "Traceback" not in err


def test_errors_are_json_too_if_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "--problem", "nowhere.json", "--json") == 2
    out, err = capsys.readouterr()
    assert json.loads(out)["error"]["code"] == "BAD_PROBLEM"
    assert "nowhere.json" in err


def test_as_a_program_it_exits_with_2_and_shows_a_traceback_only_in_debug() -> None:
    def program(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "olston", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    wrong = program("plan", "--problem", "nowhere.json")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Traceback" not in wrong.stderr
    debug = program("--debug", "plan", "--problem", "nowhere.json")
    assert (debug.returncode, debug.stdout) == (2, "")
    assert "Traceback" in debug.stderr
    assert debug.stderr.endswith(wrong.stderr), "after the traceback all is as without it"
    right = program("plan", "--problem", str(PROBLEMS), "--case", "problem05", "--json")
    assert right.returncode == 0
    assert json.loads(right.stdout)["id"] == "problem05"


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan", "--help") == 0
    assert "olston plan --problem" in capsys.readouterr().out


def test_a_case_that_one_step_repairs_reads_as_the_format_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(case(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c", 0), delta("a", [0], [5]))))
    found = answers(capsys, "--problem", str(file))
    source = {"channel": "a", "kind": "D", "source": [[0.0]], "target": [[5.0]]}
    made = {"channel": "c", "kind": "D", "source": [[0.0]], "target": [[5.0]]}
    step = found["invocations"][0]
    assert {k: step[k] for k in ("operator", "channel", "operands", "results", "cost")} == {
        "operator": "map.i",
        "channel": "c",
        "operands": [source],
        "results": [made],
        "cost": 2.0,
    }
    assert found["emitted"] == {"c": [made]}
    assert found["holds_after"] == {"c": [[5.0]]}


def test_the_plan_of_the_moment_is_a_tree_with_bounds_and_what_was_rejected(stage: Stage) -> None:
    text = stage.run("plan").out
    assert "totals holds nothing yet" in text
    stage.fill(("orders", "customers"))
    assert "nothing is due" in stage.run("plan").out
    with stage.engine() as engine:
        arrive(engine, "orders")
    text = stage.run("plan").out
    for words in ("totals is", "behind orders>paid>located", "paid.incremental", "→ totals", "totals reflects then"):
        assert words in text
    for words in ("1 day", "consistent", "rejected", "dearer by"):
        assert words in text


def test_names_of_steps_are_not_broken_in_a_narrow_terminal(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.fill(("orders", "customers"))
    with stage.engine() as engine:
        arrive(engine, "orders")
    steps = {step["step"] for step in stage.json("plan")["steps"]}
    monkeypatch.setattr(console, "width", 72)
    text = stage.run("plan").out
    assert max(map(len, text.splitlines())) <= 72
    for step in steps:
        assert f" {step} " in text


def test_a_changed_definition_comes_first(stage: Stage) -> None:
    stage.fill(("orders", "customers"))
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace("amount > 0", "amount > 1"))
    text = stage.run("plan").out
    assert "paid is changed" in text
    assert "totals is made anew, since paid changed" in text
    assert stage.json("plan")["changes"][0] == {
        "channel": "paid",
        "change": "changed",
        "parts": ["function"],
        "because": [],
    }
    assert "totals holds what another definition made" in stage.run("plan").out
    assert "of another definition" in stage.run("status").out


def test_what_is_held_then_is_told_as_data_with_what_the_declared_bounds_have_left(stage: Stage) -> None:
    """Also of an output that holds nothing, which is planned for as if it were to be the newest."""
    for wave in ((), ("orders", "customers")):
        with stage.engine() as engine:
            blocks = arrive(engine, *wave) if wave else []
        found = stage.json("plan", "--select", "totals")
        (totals,) = found["reflects"]
        stamps = [b.stamp for b in blocks] or [0, 0]
        assert totals == {
            "output": "totals", "consistent": True, "inconsistency_seconds": 0,
            "bound_seconds": 7 * 86_400, "left_seconds": 7 * 86_400,
            "pathways": [
                {"index": 0, "name": "orders>paid>located", "snapshots": [stamps[0]],
                 "bound_seconds": 0, "left_seconds": 0},
                {"index": 1, "name": "customers>located", "snapshots": [stamps[1]],
                 "bound_seconds": 86_400, "left_seconds": 86_400},
            ],
        }  # fmt: skip
        assert all(step["rows"] >= 0 for step in found["steps"])
        assert set(found["evidence"]) == {"due", "alternatives"}


def test_named_outputs_are_planned_as_run_would(stage: Stage) -> None:
    stage.fill(("orders", "customers"))
    found = stage.json("plan", "--select", "totals, located", "--full-refresh", "located")
    assert [p["due"] for p in found] == [["located"], ["totals"]]
    assert stage.json("plan", "--full-refresh-all")["due"] == ["totals", "located"]
    told = stage.run("plan", "--select", "locate")
    assert told.code == 2
    assert "did you mean 'located'?" in told.err


def test_what_was_rejected_is_told_in_seconds_and_without_bounds_that_nobody_declared(stage: Stage) -> None:
    stage.fill(("orders", "customers"), ("orders",))
    with stage.engine() as made:
        arrive(made, "customers")
    told = stage.json("plan", "--full-refresh", "totals")["evidence"]["alternatives"]
    reasons = [a["reason"] for a in told]
    assert any(re.fullmatch(r"dearer by [\d.e+-]+ s", r) for r in reasons), reasons
    assert any("is not the newest of customers>located" in r for r in reasons), reasons
    assert not any("bound_staleness(totals, 1, 0)" in r for r in reasons), reasons
    text = " ".join(stage.run("plan", "--full-refresh", "totals").out.split())
    assert "is not the newest of customers>located" in text


def test_a_plan_that_was_dumped_is_solved_again(stage: Stage, tmp_path: Path) -> None:
    stage.fill(("orders", "customers"))
    with stage.engine() as engine:
        arrive(engine, "orders")
    file = tmp_path / "problem.json"
    planned = stage.json("plan", "--dump", str(file))
    solved = stage.json("plan", "--problem", str(file))
    assert solved["cost"] == pytest.approx(planned["cost"], rel=0.01)
    work = [s["step"] for s in planned["steps"] if not s["step"].startswith("→")]
    assert [i["operator"] for i in solved["invocations"]] == work
    stage.run("plan", "--full-refresh", "located", "--select", "totals", "--dump", str(file))
    assert [a["id"] for a in stage.json("plan", "--problem", str(file))] == ["shop-1", "shop-2"]
    assert stage.run("plan", "--dump", str(tmp_path / "no" / "folder.json")).code == 2


@pytest.mark.parametrize("option", ["--select", "--full-refresh", "--anew"])
def test_a_list_without_names_is_not_taken_for_all(stage: Stage, option: str) -> None:
    for verb in ("run",) if option == "--anew" else ("plan", "run"):
        for given in ("", " , "):
            told = stage.run(verb, option, given, "--json")
            assert (told.code, told.json["error"]["code"]) == (2, "USAGE")
            assert told.err.startswith(f"error: [USAGE] Invalid value for '{option}': it names nothing")
