"""`olston status`."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from olston.catalog import Catalog, beside
from olston.catalog.records import LeaseRecord, PlanRecord, StepRecord
from olston.errors import StepError
from tests.cli.stage import WORKFLOW, Stage
from tests.pretended import Pretended, arrive

FAR = 10**16


def test_an_output_that_holds_nothing_is_stale(stage: Stage) -> None:
    found = stage.json("status")
    assert found["stale"] == ["totals", "located"]
    assert found["outputs"][0]["provenance"] is None
    assert "holds nothing" in stage.run("status").out


def test_fail_if_stale_has_an_exit_code_of_its_own(stage: Stage) -> None:
    assert stage.run("status", "--fail-if-stale").code == 5
    assert stage.run("status").code == 0
    stage.fill(("orders", "customers"))
    assert stage.run("status", "--fail-if-stale").code == 0


def test_each_bound_is_told_with_what_is_left_of_it_and_what_it_bounds(stage: Stage) -> None:
    stage.fill(("orders", "customers"))
    (totals, _) = stage.json("status")["outputs"]
    bounds = {b["bound"]: b for b in totals["bounds"]}
    assert set(bounds) == {
        "bound_staleness(totals, 0, 0)",
        "bound_staleness(totals, 1, 1 day)",
        "bound_inconsistency(totals, 1 week)",
    }
    assert bounds["bound_staleness(totals, 1, 1 day)"]["left_seconds"] == 86_400
    assert bounds["bound_inconsistency(totals, 1 week)"]["measured_seconds"] == 0
    assert bounds["bound_inconsistency(totals, 1 week)"]["left_seconds"] == 7 * 86_400, (
        "and no more, however consistent"
    )
    text = stage.run("status").out
    assert "kept" in text
    assert "1 day" in text


def test_the_next_deadline_is_that_of_what_arrived_and_may_wait(stage: Stage) -> None:
    stage.fill(("orders", "customers"))
    assert stage.json("status")["next_deadline"] is None
    with stage.engine() as engine:
        (wave,) = arrive(engine, "customers")
    found = stage.json("status")
    assert found["next_deadline"] == {"output": "totals", "at": wave.stamp + 86_400_000_000}
    assert "totals breaks a bound at" in stage.run("status").out
    breaks = {b["bound"]: b["breaks_at"] for b in found["outputs"][0]["bounds"]}
    assert breaks.pop("bound_staleness(totals, 1, 1 day)") == wave.stamp + 86_400_000_000
    assert set(breaks.values()) == {None}


def test_what_failed_is_told_with_the_reason(stage: Stage) -> None:
    with stage.engine(Pretended(fails=lambda name: name.startswith("located"))) as engine:
        arrive(engine, "orders", "customers")
        with pytest.raises(StepError):
            engine.refresh()
    found = stage.json("status")
    assert any("located" in f["step"] and "as it was told to" in f["why"] for f in found["failures"])
    assert "as it was told to" in stage.run("status").out
    stage.fill(("orders",))
    assert not [f for f in stage.json("status")["failures"] if "located.batch" in f["step"]]


def test_what_runs_is_told_only_while_its_scheduler_lives(stage: Stage) -> None:
    stage.fill(("orders", "customers"))
    catalog = Catalog(beside(str(stage.folder / "lake")))
    with catalog.transaction() as db:
        db.add(PlanRecord(id="z", workflow="shop", now=1, due=[], cost=1, evidence={}, made_at=FAR, fence=1))
        db.add(
            StepRecord(
                attempt="z", plan="z", workflow="shop", name="paid.batch", state="running", operands=[], results=[],
                expected_seconds=2.0, expected_rows=1.0, started_at=FAR,
            )
        )  # fmt: skip
    assert stage.json("status")["running"] == []
    lease(catalog, os.getpid())
    found = stage.json("status")
    assert [r["step"] for r in found["running"]] == ["paid.batch"]
    assert found["scheduler"] == f"{socket.gethostname()}:{os.getpid()}"
    assert "about 2.0 s" in stage.run("status").out
    lease(catalog, 2**22 - 1)  # no process has this number
    assert stage.json("status")["running"] == []
    catalog.close()


def lease(catalog: Catalog, process: int) -> None:
    with catalog.transaction() as db:
        known = db.get(LeaseRecord, "shop")
        assert known is not None
        known.holder, known.expires_at = f"{socket.gethostname()}:{process}:ab", FAR


def test_a_project_is_found_from_a_folder_within(stage: Stage) -> None:
    within = stage.folder / "deep" / "deeper"
    within.mkdir(parents=True)
    stage.folder = within
    assert stage.json("status")["workflow"] == "shop"
    assert not (Path.cwd() / "lake").exists()


def test_what_is_new_at_followed_sources_is_said_to_arrive_later(stage: Stage) -> None:
    """A newcomer who copies a file and asks for the plan would think that nothing had come of it."""
    assert "arrives with" not in stage.run("status").out + stage.run("plan").out
    file = stage.folder / "workflow.py"
    file.write_text(WORKFLOW.replace('amount int")', 'amount int", files="data/*.csv")'))
    stage.fill(("customers",))
    said = "what is new at orders arrives with run or serve\n"
    assert stage.run("status").out.endswith(said)
    assert stage.run("plan").out == f"nothing is due\n{said}"
    with stage.engine() as engine:
        arrive(engine, "orders")
    assert stage.run("plan").out.endswith(said), "also if something is due: this is not all that run would do"
    for verb in ("status", "plan"):
        assert stage.json(verb)


def test_a_workflow_that_is_only_begun_has_nothing_to_tell(stage: Stage) -> None:
    (stage.folder / "workflow.py").write_text('import olston as ol\n\nwf = ol.Workflow("shop")\n')
    assert stage.json("status")["outputs"] == []
    assert stage.run("plan").out == "nothing is due\n"
    assert stage.run("history").out == "nothing ran yet\n"
