"""`olston pause` and `olston resume`."""

from __future__ import annotations

from tests.cli.stage import Stage


def test_a_paused_workflow_says_so_and_runs_nothing(stage: Stage) -> None:
    assert stage.json("pause") == {"workflow": "shop", "paused": True}
    assert stage.json("status")["paused"]
    assert stage.json("plan")["paused"]
    assert "paused: nothing is begun until resume" in stage.run("plan").out
    told = stage.run("run")
    assert told.code == 7
    assert told.err == "error: [PAUSED] workflow 'shop': is paused; resume it first.\n"
    assert stage.json("resume") == {"workflow": "shop", "paused": False}
    assert not stage.json("status")["paused"]
    assert not stage.json("plan")["paused"]
    assert "paused" not in stage.run("plan").out
    assert stage.run("pause").out == "shop: paused\n"
