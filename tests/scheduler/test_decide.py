"""Deciding: pure, joint, and only about what is due."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from olston.block import BASE, DELTA, Block
from olston.content import COUNTED, PART
from olston.scheduler.decide import Decision, decide
from olston.scheduler.network import Network, Output
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import load
from tests.scheduler.cases import JOIN, MAP, Case, at, base, channel, delta, operator, output, problem, stale
from tests.scheduler.random_problems import random_case

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}


def shown(decision: Decision) -> list[tuple[str, list[str], list[str], float]]:
    return [(str(s.operator), [*map(str, s.operands)], [*map(str, s.results)], s.cost) for s in decision.steps]


def test_nothing_due_is_an_empty_plan_and_no_search() -> None:
    decision = decide(problem(7, {"a": [0, 5]}, *MAP, output("c", 0)))
    assert decision == Decision(())
    assert decision.feasible
    assert decision.cost == 0


def test_what_is_asked_for_is_planned_although_it_is_not_due() -> None:
    given = problem(7, {"a": [0, 5]}, *MAP, stale("c", 0, 5), output("c", 0), base("a", 0), delta("a", [0], [5]))
    assert given.due() == ()
    assert decide(given, due=("c",)).due == ("c",)


def test_steps_come_after_what_they_depend_on() -> None:
    after = (channel("d", "a"), operator("next.b", {"c": "B"}, "d", "B"))
    parts = [stale("d", 0), output("d", 0, accepts="B"), base("a", 0), delta("a", [0], [5]), base("c", 0)]
    given = problem(7, {"a": [0, 5]}, *MAP, *after, *parts)
    decision = decide(given, ())
    there = {b for blocks in given.blocks.values() for b in blocks} | {Block("→d", BASE, at(0))}
    for step in decision.steps:
        assert set(step.operands) <= there
        there |= set(step.results)
    assert decision.holds_after["d"] == at(5)
    assert decision.cost == sum(s.cost for s in decision.steps)


@pytest.mark.parametrize("seed", range(12))
def test_the_same_state_gives_the_same_plan(seed: int) -> None:
    case = random_case(seed)
    assert shown(decide(load(case), replan=False)) == shown(decide(load(case), replan=False))


@pytest.mark.parametrize("sections", [(), None], ids=["unpruned", "default"])
@pytest.mark.parametrize("seed", range(12))
def test_the_order_in_which_blocks_are_listed_does_not_change_the_cost(seed: int, sections: Any) -> None:
    case = random_case(seed)
    options: dict[str, Any] = {"replan": False} if sections is None else {"prunings": sections, "replan": False}
    first = decide(load(case), **options)
    for i in range(3):
        Random(i).shuffle(case["blocks"])
        again = decide(load(case), **options)
        assert again.feasible == first.feasible
        assert again.cost == pytest.approx(first.cost)


class Watched(dict[str, Any]):
    """Notes which keys are asked for."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.seen: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.seen.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(key)
        return super().get(key, default)


def test_only_blocks_upstream_of_what_is_due_are_looked_at() -> None:
    second = (channel("d", "b"), operator("d.b", {"b": "B"}, "d", "B"))
    parts = [stale("c", 0), output("c", 0), output("d", 0), base("a", 5), base("b", 6)]
    given = problem(7, AB, *MAP, *second, *parts)
    blocks = Watched(given.blocks)
    assert decide(replace(given, blocks=blocks)).feasible
    assert blocks.seen <= {"a", "c"}
    assert blocks.seen


def test_what_is_not_upstream_is_not_made_although_one_step_makes_both() -> None:
    split = (channel("x", "a"), channel("y", "a"), operator("s.b", {"a": "B"}, "x y", "B", 3.0))
    given = problem(7, {"a": [0, 5]}, *split, stale("x", 0), output("x", 0), output("y", 0), base("a", 5))
    decision = decide(given)
    assert decision.due == ("x",)
    assert list(decision.holds_after) == ["x"]


def shared(private: float) -> Problem:
    """x and y are each made from m, which costs 5, or alone for `private`."""
    shape = (
        channel("m", "a"),
        channel("x", "a"),
        channel("y", "a"),
        operator("m.b", {"a": "B"}, "m", "B", 5.0),
        operator("x.m", {"m": "B"}, "x", "B", 1.0),
        operator("y.m", {"m": "B"}, "y", "B", 1.0),
        operator("x.a", {"a": "B"}, "x", "B", private),
        operator("y.a", {"a": "B"}, "y", "B", private),
    )
    return problem(7, {"a": [0, 5]}, *shape, stale("x", 0), stale("y", 0), output("x", 0), output("y", 0), base("a", 5))


def test_several_outputs_are_planned_jointly_and_a_shared_step_is_paid_once() -> None:
    decision = decide(shared(9.0))
    assert decision.cost == 7
    assert [str(s.operator) for s in decision.work].count("m.b") == 1
    assert decision.holds_after == {"x": at(5), "y": at(5)}


def test_joint_planning_sees_that_sharing_pays_where_each_alone_would_not() -> None:
    # alone each costs 5 privately and 6 through m; together 10 against 7
    assert decide(shared(5.0)).cost == 7
    assert decide(shared(5.0), replan=False).cost == 10
    assert decide(shared(3.0)).cost == 6


def test_emitted_blocks_are_listed_per_output_in_the_order_of_delivery() -> None:
    decision = decide(shared(9.0))
    assert {o: [str(b) for b in blocks] for o, blocks in decision.emitted.items()} == {
        "x": ["x: B(⟨{5.0}⟩)"],
        "y": ["y: B(⟨{5.0}⟩)"],
    }


def test_one_output_that_is_stuck_makes_the_decision_infeasible_and_names_it() -> None:
    second = (channel("d", "b"), operator("d.b", {"b": "B"}, "d", "B"))
    parts = [stale("c", 0), stale("d", 0), output("c", 0), output("d", 0), base("a", 5), base("b", 0)]
    decision = decide(problem(7, AB, *MAP, *second, *parts))
    assert decision.infeasible is not None
    assert decision.infeasible.outputs == ("d",)


def test_a_variant_that_fails_can_be_planned_around() -> None:
    parts = [stale("c", 0), output("c", 0, 0), base("a", 0), base("b", 0), delta("a", [0], [5])]
    given = problem(7, AB, *JOIN, *parts)
    assert [str(s.operator) for s in decide(given, ()).work] == ["join.l"]
    around = replace(given, network=given.network.without(["join.l"]))
    assert "join.l" not in [str(s.operator) for s in decide(around, ()).work]
    assert decide(around, ()).feasible


def test_a_deep_pipeline_is_planned() -> None:
    """A thousand steps in a row: plans are laid out without recursion."""
    depth = 1_200
    names = ["a", *(f"m{i}" for i in range(depth))]
    parts = [channel(n, "a") for n in names[1:]]
    parts += [operator(f"o{i}", {names[i]: "B"}, names[i + 1], "B") for i in range(depth)]
    decision = decide(problem(7, {"a": [0, 5]}, *parts, output(names[-1]), base("a", 5)))
    assert decision.cost == depth
    assert len(decision.work) == depth


def test_ten_thousand_other_channels_are_not_searched() -> None:
    parts = [stale("c", 0), output("c", 0), base("a", 0), delta("a", [0], [5])]
    small = problem(7, {"a": [0, 5]}, *MAP, *parts)
    inputs = {**small.network.inputs, **{f"x{i}": ("a",) for i in range(10_000)}}
    outputs = {**small.network.outputs, **{f"x{i}": Output(f"x{i}", frozenset({BASE, DELTA})) for i in range(10_000)}}
    network = Network(inputs, small.network.variants, outputs, small.network.staleness)
    blocks = Watched(small.blocks)
    decision = decide(Problem(network, blocks, small.history, {**small.holds}), due=("c",))
    assert decision.cost == decide(small).cost
    assert blocks.seen <= {"a", "c"}


def test_a_search_given_up_does_not_claim_that_there_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    case = json.loads((Path(__file__).parents[1] / "data" / "problems.json").read_text())["cases"][0]
    monkeypatch.setattr("olston.scheduler.solve.LIMIT", 3)
    decision = decide(load(case), ())
    assert decision.infeasible is not None
    assert "there may be one" in decision.infeasible.reason


def test_where_an_unpruned_search_is_given_up_the_prunings_may_still_find_the_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cases = json.loads((Path(__file__).parents[1] / "data" / "problems.json").read_text())["cases"]
    monkeypatch.setattr("olston.scheduler.solve.LIMIT", 25)
    rescued = [d for c in cases if (d := decide(load(c), ())).rung is not None and d.rung.prunings.sections]
    assert rescued
    assert all(d.feasible for d in rescued)


def overlaid(per_overlay: float, *, read: float = 0.0) -> Problem:
    """c is computed anew for 10, or laid over the old one for 2, which makes handing it over dearer.

    With `read`, d reads c too: for 1, and that much per row of overlay.
    """
    apply: Case = {"name": "c.BΔB", "kinds": ["B", "D"], "writes": "B", "lays_over": True, "size": [1.0, 1.0]}
    laid = channel("c", "a") | {"converters": [apply | {"cost": {"fixed": 0.0, "per_operand": [0.0, 0.0]}}]}
    way = {"fixed": 1.0, "per_row": 0.0, "per_overlay": per_overlay}
    to_c = output("c", 0, accepts="B") | {"delivery": {"B": [way]}}
    parts = [laid, *MAP[1:], to_c, stale("c", 0), base("a", 0), base("a", 5), delta("a", [0], [5]), base("c", 0)]
    if read:
        reading = operator("d.b", {"c": "B"}, "d", "B")
        reading["cost"]["per_overlay"] = read
        parts += [channel("d", "a"), reading, output("d", 0, accepts="B"), stale("d", 0)]
    return problem(7, {"a": [0, 5]}, *parts)


OVERLAY = COUNTED + PART + 2
"""What reading the c of `overlaid` costs beyond its rows: a row that changes is counted with one row."""


@pytest.mark.parametrize("replan", [True, False])
def test_a_base_that_is_cheap_to_lay_over_another_does_not_hide_the_one_that_is_cheap_to_read(replan: bool) -> None:
    onward, anew = decide(overlaid(7 / OVERLAY), replan=replan), decide(overlaid(9 / OVERLAY), replan=replan)
    assert [str(s.operator) for s in onward.work] == ["map.i", "c.BΔB"]
    assert onward.cost == pytest.approx(2 + 1 + 7)
    assert [str(s.operator) for s in anew.work] == ["map.b"]
    assert anew.cost == 10 + 1


@pytest.mark.parametrize("replan", [True, False])
def test_a_base_is_made_once_although_its_readers_would_each_choose_another_way(replan: bool) -> None:
    # for the consumer of c alone computing anew pays, for d laying over; together everything reads what was made anew
    decision = decide(overlaid(20 / OVERLAY, read=3 / OVERLAY), replan=replan)
    assert sorted(str(s.operator) for s in decision.work) == ["d.b", "map.b"]
    assert decision.cost == 10 + 1 + 1


def test_what_each_reader_pays_for_an_overlay_adds_up() -> None:
    assert decide(overlaid(5 / OVERLAY, read=1 / OVERLAY)).cost == pytest.approx(2 + (1 + 5) + (1 + 1))
    assert decide(overlaid(5 / OVERLAY, read=5 / OVERLAY)).cost == 10 + 1 + 1, "5 and 5 are more than the 8 saved"
