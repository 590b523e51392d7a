"""Progress of steps, as the catalog tells it."""

from __future__ import annotations

import json

import pytest

from olston.cli.watch import tell_json, watching
from olston.errors import StepError
from olston.report import Tried
from tests.cli.stage import Stage
from tests.pretended import Pretended, arrive


def test_every_step_begins_and_ends_once(stage: Stage) -> None:
    told: list[Tried] = []
    stage.fill(("orders", "customers"))
    with stage.engine() as engine:
        arrive(engine, "orders")
        with watching(engine, lines=told.append):
            report = engine.refresh()
    begun, ended = ([t.step for t in told if (t.state == "running") is r] for r in (True, False))
    assert sorted(begun) == sorted(ended) == sorted(name for name, _, _ in report.steps)
    for step in begun:
        states = [t.state for t in told if t.step == step]
        assert states == ["running", "done"]


def test_where_nobody_watches_there_are_lines_on_standard_error(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    with stage.engine(Pretended(fails=lambda name: name == "paid.batch")) as engine:
        arrive(engine, "orders", "customers")
        with watching(engine), pytest.raises(StepError):
            engine.refresh()
    out, err = capsys.readouterr()
    assert out == ""
    assert "begins paid.batch + located.batch, about" in err
    assert "failed paid.batch + located.batch in" in err
    assert "as it was told to" in err


def test_quiet_says_nothing(stage: Stage, capsys: pytest.CaptureFixture[str]) -> None:
    with stage.engine() as engine:
        arrive(engine, "orders", "customers")
        with watching(engine, quiet=True):
            engine.refresh()
    assert capsys.readouterr() == ("", "")


def test_a_step_is_a_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    tell_json(Tried("a.batch", "done", 1, 2.0, 3.0, 4.0, 5.0))
    assert json.loads(capsys.readouterr().out) == {
        "step": "a.batch", "state": "done", "started_at": 1, "expected_seconds": 2.0, "seconds": 3.0, "rows": 5.0,
        "error": None,
    }  # fmt: skip
