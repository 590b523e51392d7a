"""Infeasibility names the constraint and the widget in the way."""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import BASE, MONOTONE, Block
from olston.constraints import Inconsistency, Staleness
from olston.errors import InfeasibleError
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.decide import decide
from olston.scheduler.infeasible import Infeasible
from olston.scheduler.problem import Problem
from olston.timeline import History, Timeline
from tests.scheduler.cases import MAP, apart, base, channel, delta, operator, output, problem, stale

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}


def why(given: Problem) -> Infeasible:
    decision = decide(given)
    assert decision.infeasible is not None
    return decision.infeasible


def test_a_consistency_bound_that_the_only_variants_break_is_named_with_the_widget() -> None:
    one_sided = (channel("c", "a", "b"), operator("join.r", {"a": "B", "b": "D"}, "c", "D"))
    parts = [stale("c", 1), apart("c", 0), output("c", 0, 0), base("a", 0), delta("b", [0], [6])]
    found = why(problem(7, AB, *one_sided, *parts))
    assert found.outputs == ("c",)
    assert found.bounds == (Inconsistency("c", 0.0),)
    assert found.widget == "join"
    assert "bound_inconsistency(c, 0.0)" in found.reason
    assert "'join'" in found.reason


def test_a_staleness_bound_that_nothing_arrived_can_meet_is_named() -> None:
    found = why(problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c"), base("a", 0)))
    assert found.bounds == (Staleness("c", 0, 0.0),)
    assert found.widget == "map"


def test_a_bound_upstream_is_named_at_the_widget_that_cannot_keep_it() -> None:
    after = (channel("d", "a"), operator("next.b", {"c": "B"}, "d", "B"))
    found = why(problem(7, {"a": [0, 5]}, *MAP, *after, stale("c", 0), output("d"), base("a", 0)))
    assert found.outputs == ("d",)
    assert found.bounds == (Staleness("c", 0, 0.0),)
    assert found.widget == "map"


def test_bounds_that_are_impossible_only_together_are_all_named() -> None:
    synchronous = (channel("c", "a", "b"), operator("join.ab", {"a": "B", "b": "B"}, "c", "B"))
    # b at 6 is needed fresh and a at 5 is missing: either staleness of a, or nothing
    parts = [stale("c", 0), stale("c", 1), output("c"), base("a", 0), base("b", 0)]
    found = why(problem(7, AB, *synchronous, *parts))
    assert set(found.bounds) == {Staleness("c", 0, 0.0), Staleness("c", 1, 0.0)}


def test_a_consumer_of_deltas_that_holds_nothing_is_told_so() -> None:
    found = why(problem(7, {"a": [0, 5]}, *MAP, output("c", accepts="D"), base("a", 0), delta("a", [0], [5])))
    assert found.bounds == ()
    assert "holds nothing" in found.reason
    assert "accept B" in found.reason
    assert found.widget == "map"


def test_a_channel_without_blocks_is_named() -> None:
    found = why(
        problem(7, AB, channel("c", "a", "b"), operator("j", {"a": "B", "b": "B"}, "c", "B"), output("c"), base("a", 5))
    )
    assert "'b'" in found.reason
    assert "ingest" in found.reason


def test_a_widget_that_can_make_nothing_acceptable_is_named() -> None:
    bare = (channel("c", "a"), operator("map.w", {"a": "D+"}, "c", "D"))
    found = why(problem(7, {"a": [0, 5]}, *bare, stale("c", 0), output("c", 0), base("a", 0), delta("a", [0], [5])))
    assert found.widget == "map"
    assert "'map'" in found.reason


def test_of_several_outputs_only_those_that_are_stuck_are_named() -> None:
    other = (channel("d", "b"), operator("d.b", {"b": "B"}, "d", "B"))
    parts = [stale("c", 0), stale("d", 0), output("c"), output("d"), base("a", 0), base("b", 6)]
    found = why(problem(7, AB, *MAP, *other, *parts))
    assert found.outputs == ("c",)
    both = [stale("c", 0), stale("d", 0), output("c"), output("d"), base("a", 0), base("b", 0)]
    found = why(problem(7, AB, *MAP, *other, *both))
    assert found.outputs == ("c", "d")
    assert "bound_staleness(c" in found.reason
    assert "bound_staleness(d" in found.reason


def test_the_error_carries_the_reason_and_a_stable_code() -> None:
    error = why(problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c"), base("a", 0))).error()
    assert isinstance(error, InfeasibleError)
    assert isinstance(error, ValueError)
    assert str(error).startswith("[INFEASIBLE_BOUNDS] c: ")


def drifted(policy: str, bound: str = "1 s") -> Problem:
    """A join whose content mixes two snapshots of b, which no delta can mend."""
    wf = ol.Workflow("w")
    joined = wf.source("a", "k int").join("scored", wf.source("b", "k int"), on="k", policy=policy)
    wf.output(joined)
    wf.bound_staleness(joined, 0, 0)
    wf.bound_inconsistency(joined, bound)
    second = 1_000_000
    held = Provenance([[5 * second], [0, 6 * second]])
    blocks = {
        "a": [
            Block("a", MONOTONE, Provenance.at(60 * second), Provenance.at(5 * second), 10),
            base_at("a", 5 * second),
        ],
        "b": [base_at("b", 6 * second)],
        "scored": [Block("scored", BASE, held, rows=100)],
    }
    lines = {"a": Timeline("a", [5 * second, 60 * second]), "b": Timeline("b", [6 * second])}
    return Problem(compile_workflow(wf), blocks, History(lines, 61 * second), {"scored": held})


def base_at(name: str, stamp: int) -> Block:
    return Block(name, BASE, Provenance.at(stamp), rows=100)


def test_a_strict_widget_fails_rather_than_recompute_and_is_named() -> None:
    found = why(drifted("incremental_strict"))
    assert found.widget == "scored"
    assert found.bounds == (Inconsistency("scored", 1_000_000),)
    assert "policy" in found.reason


@pytest.mark.parametrize("policy", ["auto", "incremental", "full"])
def test_other_policies_recompute_instead(policy: str) -> None:
    decision = decide(drifted(policy))
    assert decision.feasible
    assert any("batch" in str(s.operator) for s in decision.work)


def test_a_widget_of_policy_incremental_recomputes_as_a_last_resort_only() -> None:
    decision = decide(drifted("incremental"))
    assert decision.rung is not None
    assert decision.rung.last_resort
    loose = decide(drifted("incremental", "1 week"))
    assert loose.rung is not None
    assert not loose.rung.last_resort
    assert [str(s.operator) for s in loose.work] == ["scored.async_left"]


def test_a_strict_widget_that_can_keep_its_bounds_by_deltas_does() -> None:
    assert [str(s.operator) for s in decide(drifted("incremental_strict", "1 week")).work] == ["scored.async_left"]


def test_a_strict_widget_may_fill_what_does_not_exist_yet() -> None:
    given = drifted("incremental_strict")
    empty = Problem(
        given.network, {k: v for k, v in given.blocks.items() if k != "scored"}, given.history, {"scored": None}
    )
    assert decide(empty).feasible
