"""What can be seen without a search, and what an infeasible problem is blamed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olston.block import BASE, DELTA, MONOTONE, weak
from olston.scheduler.decide import decide
from olston.scheduler.problem_file import load
from olston.scheduler.reach import kinds_within_reach, out_of_reach
from tests.scheduler.cases import base, channel, delta, operator, output, problem, stale

Case = dict[str, Any]

DATA = Path(__file__).parents[1] / "data"
LISTED: list[Case] = json.loads((DATA / "problems.json").read_text())["cases"]
INFEASIBLE: list[Case] = json.loads((DATA / "infeasible.json").read_text())["cases"]

A: dict[str, list[float]] = {"a": [0, 5]}


def named(case: Case) -> str:
    return str(case["id"])


def test_kinds_follow_from_what_exists_and_what_operators_read() -> None:
    given = problem(
        9,
        A,
        channel("c", "a"),
        operator("agg.i", {"a": "D"}, "c", "D"),
        stale("c", 0),
        output("c", 0),
        delta("a", [0], [5]),
    )
    assert kinds_within_reach(given, "c") == {"a": {DELTA, MONOTONE}, "c": {DELTA, MONOTONE}}


def test_bases_and_deltas_lead_to_each_other_by_the_built_in_converters() -> None:
    given = problem(
        9,
        A,
        channel("c", "a"),
        operator("map.b", {"a": "B"}, "c", "B"),
        stale("c", 0),
        output("c", 0),
        base("a", 0),
        base("a", 5),
    )
    assert {BASE, DELTA} <= kinds_within_reach(given, "c")["c"]
    assert not out_of_reach(given, "c")


@pytest.mark.parametrize("case", LISTED, ids=named)
def test_what_has_a_plan_is_never_out_of_reach(case: Case) -> None:
    given = load(case)
    if case["expected"]["feasible"]:
        assert not any(out_of_reach(given, channel) for channel in given.due())


@pytest.mark.parametrize("case", INFEASIBLE, ids=named)
def test_infeasible_problems_end_and_name_what_is_in_the_way(case: Case) -> None:
    decision = decide(load(case), ())
    assert decision.infeasible is not None
    expected = case["expected"]
    if "widget" in expected:
        assert decision.infeasible.widget == expected["widget"]
        assert [str(b) for b in decision.infeasible.bounds] == expected["bounds"]


def test_a_missing_converter_is_named() -> None:
    case = next(c for c in INFEASIBLE if c["id"] == "weak_noconv")
    decision = decide(load(case), ())
    assert decision.infeasible is not None
    assert "no converter leads from it" in decision.infeasible.reason
    assert weak("w") in decision.infeasible.reason
