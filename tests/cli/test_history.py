"""`olston history`."""

from __future__ import annotations

import re

import pytest

from olston.cli.show import console
from olston.errors import StepError
from tests.cli.stage import Stage
from tests.pretended import Pretended, arrive


def test_steps_are_told_with_expected_against_actual(stage: Stage) -> None:
    assert stage.run("history").out == "nothing ran yet\n"
    stage.fill(("orders", "customers"), ("orders",))
    steps = stage.json("history")["steps"]
    assert {s["state"] for s in steps} == {"done"}
    assert all(s["seconds"] is not None for s in steps)
    assert any(s["expected_seconds"] > 0 for s in steps)
    assert len(stage.json("history", "--limit", "2")["steps"]) == 2
    text = stage.run("history").out
    assert re.match(r" +expected +took +expected *\nstarted +step +s +s +rows +rows", text)
    assert "→ totals" in text


def test_costs_are_told_by_variant(stage: Stage) -> None:
    assert "nothing ran yet" in stage.run("history", "--costs").out
    stage.fill(("orders", "customers"))
    variants = stage.json("history", "--costs")["variants"]
    assert {(v["widget"], v["variant"]) for v in variants} >= {("paid", "batch"), ("totals", "batch")}
    assert "learned" in stage.run("history", "--costs").out or "prior" in stage.run("history", "--costs").out


def test_why_a_step_failed_has_a_line_of_its_own(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the table it would be squeezed into a column."""
    with stage.engine(Pretended(fails=lambda name: name.startswith("located"))) as made:
        arrive(made, "orders", "customers")
        with pytest.raises(StepError):
            made.refresh()
    monkeypatch.setattr(console, "width", 80)
    lines = stage.run("history").out.splitlines()
    assert lines[-1].endswith(" [STEP_FAILED] located.batch: failed, as it was told to."), lines
