"""`olston provenance`, without Spark."""

from __future__ import annotations

from tests.cli.stage import Stage


def test_snapshots_are_told_by_date_and_time(stage: Stage) -> None:
    stage.fill(("orders", "customers"), ("orders",))
    found = stage.json("provenance", "totals")
    assert [p["name"] for p in found["pathways"]] == ["orders>paid>located", "customers>located"]
    assert found["consistent"] is True
    text = stage.run("provenance", "totals").out
    assert "consistent" in text
    assert "20" in text
    assert stage.json("provenance", "totals", "--at", str(found["pathways"][0]["snapshots"][0] + 10**9))


def test_nothing_held_and_unknown_channels_are_errors(stage: Stage) -> None:
    told = stage.run("provenance", "totals")
    assert (told.code, told.out) == (6, "")
    assert "NOTHING_HELD" in told.err
    told = stage.run("provenance", "totls", "--json")
    assert told.code == 2
    assert "did you mean 'totals'?" in told.json["error"]["message"]


def test_a_time_that_is_none_is_refused(stage: Stage) -> None:
    told = stage.run("provenance", "totals", "--at", "yesterday")
    assert told.code == 2
    assert "[BAD_TIME]" in told.err
    assert "2026-03-01T12:00" in told.err


def test_what_is_not_there_yet_is_told_with_the_verb_that_makes_it(stage: Stage) -> None:
    told = stage.run("provenance", "totals")
    assert told.code == 6
    assert told.err.startswith("error: [NOTHING_HELD] totals: its consumer holds nothing yet")
    assert "olston run" in told.err
