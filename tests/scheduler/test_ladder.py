"""Never stuck: the ladder of DESIGN 6, with a case for each rung that only that rung solves."""

from __future__ import annotations

from itertools import pairwise

import pytest

from olston.errors import UnknownNameError
from olston.scheduler.decide import decide
from olston.scheduler.ladder import rungs
from olston.scheduler.problem import Problem
from olston.scheduler.prune import SECTIONS, Prunings
from tests.scheduler.cases import MAP, base, channel, delta, operator, output, problem, stale


def test_prunings_are_given_up_in_the_order_of_the_design() -> None:
    kept = [set(r.prunings.sections) for r in rungs(SECTIONS, False)]
    given_up = [before - after for before, after in pairwise(kept)]
    assert given_up == [{"6.2.4"}, {"6.3"}, {"6.2.3"}, {"6.1"}, {"6.2.1", "6.2.2"}]
    assert kept[-1] == set()


def test_steps_that_change_nothing_are_left_out_and_numbers_have_no_gaps() -> None:
    assert [(r.number, r.prunings.sections) for r in rungs(["6.3", "6.2.2"], False)] == [
        (0, ("6.2.2", "6.3")),
        (1, ("6.2.2",)),
        (2, ()),
    ]
    assert [r.prunings.sections for r in rungs([], False)] == [()]


def test_recomputing_against_a_policy_is_the_very_last_resort() -> None:
    *before, last = rungs(SECTIONS, True)
    assert last.last_resort
    assert last.prunings.sections == ()
    assert not any(r.last_resort for r in before)


def test_an_unknown_pruning_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"6\.2\.4"):
        list(rungs(["6.2.5"], False))


def overkill() -> Problem:
    """m at 5 is new enough for the bounds, but only m at 8 is consistent with b at 9."""
    return problem(
        10,
        {"a": [0, 5, 8], "b": [0, 9]},
        channel("m", "a"),
        channel("c", "a", "b"),
        operator("map.b", {"a": "B"}, "m", "B"),
        operator("join.b", {"m": "B", "b": "B"}, "c", "B", sync=True),
        stale("c", 1),
        output("c", 0, 0),
        base("a", 8),
        base("m", 5),
        base("b", 9),
    )


def dominated() -> Problem:
    """m at 8 is further ahead than m at 5, but only m at 5 is consistent with the one base of b."""
    return problem(
        9,
        {"a": [0, 5, 8], "b": [0, 6]},
        channel("m", "a"),
        channel("c", "a", "b"),
        operator("map.b", {"a": "B"}, "m", "B"),
        operator("join.b", {"m": "B", "b": "B"}, "c", "B", sync=True),
        stale("c", 0, 3),
        output("c", 0, 0),
        base("a", 5),
        base("a", 8),
        base("b", 0),
    )


def two_steps(*bounded: str) -> Problem:
    """Only two one-sided steps on m lead on, and after the first one side is still old."""
    return problem(
        7,
        {"a": [0, 5], "b": [0, 6]},
        channel("m", "a", "b"),
        channel("d", "a", "b"),
        operator("join.l", {"a": "D", "b": "B"}, "m", "D"),
        operator("join.r", {"a": "B", "b": "D"}, "m", "D"),
        operator("map.i", {"m": "D"}, "d", "D"),
        *(stale(channel_, path) for channel_ in bounded for path in (0, 1)),
        output("d", 0, 0, accepts="D"),
        base("a", 5),
        base("b", 0),
        delta("a", [0], [5]),
        delta("b", [0], [6]),
    )


def old() -> Problem:
    """The base at 6 is on the frontier, but the only delta starts at the one behind it."""
    return problem(
        10,
        {"a": [0, 6, 9]},
        *MAP,
        stale("c", 0),
        output("c", 6, accepts="B"),
        base("a", 0),
        base("a", 6),
        delta("a", [0], [9]),
    )


CASES = {"6.2.4": overkill(), "6.3": dominated(), "6.2.3": two_steps("d"), "6.1": two_steps("m", "d"), "6.2.1": old()}


@pytest.mark.parametrize("section", CASES)
def test_a_case_that_only_a_lower_rung_solves_is_solved_and_says_so(section: str) -> None:
    decision = decide(CASES[section])
    assert decision.feasible
    assert decision.rung is not None
    expected = ["6.2.4", "6.3", "6.2.3", "6.1", "6.2.1"].index(section) + 1
    assert decision.rung.number == expected
    assert section not in decision.rung.prunings.sections


@pytest.mark.parametrize("section", CASES)
def test_that_pruning_alone_is_what_hides_the_plan(section: str) -> None:
    alone = decide(CASES[section], [section, "6.2.3"] if section == "6.2.4" else [section])
    assert alone.rung is not None
    assert alone.rung.number == 1
    assert section not in alone.rung.prunings.sections


def test_overkill_is_looked_for_only_together_with_the_propagated_constraints() -> None:
    assert Prunings(["6.2.4", "6.3"]).sections == ("6.3",)
    assert Prunings(["6.2.3", "6.2.4"]).sections == ("6.2.3", "6.2.4")


@pytest.mark.parametrize("section", CASES)
def test_the_plan_of_a_lower_rung_costs_what_an_unpruned_search_finds(section: str) -> None:
    assert decide(CASES[section]).cost == decide(CASES[section], ()).cost


def test_only_the_last_rung_answers_infeasible() -> None:
    stuck = problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c", 0), base("c", 0))
    decision = decide(stuck)
    assert not decision.feasible
    assert decision.rung is None
    assert decision.steps == ()


def test_a_rung_reads_as_text() -> None:
    first, *_, last = rungs(["6.2.1"], True)
    assert str(first) == "0 (prunings: 6.2.1)"
    assert "none" in str(last)
    assert "last resort" in str(last)
