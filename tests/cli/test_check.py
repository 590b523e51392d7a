"""`olston check`."""

from __future__ import annotations

from tests.cli.stage import WORKFLOW, Stage


def test_what_is_odd_is_told(stage: Stage) -> None:
    found = stage.json("check")
    assert found["sources"] == ["orders", "customers"]
    assert found["outputs"] == ["totals", "located"]
    assert len(found["remarks"]) == 1
    assert "'located' has no staleness bound" in found["remarks"][0]
    assert "odd: output 'located'" in stage.run("check").out
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace("wf.output(located)", ""))
    assert "its promises can be kept" in stage.run("check").out


def test_promises_that_no_plan_can_keep_have_an_exit_code_of_their_own(stage: Stage) -> None:
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace("wf.output(totals)", 'wf.output(totals, feed={"Δ⁺"})'))
    told = stage.run("check", "--json")
    assert told.code == 3
    assert told.json["error"]["code"] == "INFEASIBLE_BOUNDS"
    assert "'totals'" in told.err


def test_a_fault_in_the_workflow_is_told_with_its_line(stage: Stage) -> None:
    (stage.folder / "workflow.py").write_text("import olston as ol\n1 / 0\n")
    told = stage.run("check")
    assert told.code == 2
    assert "workflow.py:2: ZeroDivisionError" in told.err
    assert "Traceback" not in told.err
