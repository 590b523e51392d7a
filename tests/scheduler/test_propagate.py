"""Demands propagated upstream: necessary for what is computed from bases alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE
from olston.provenance import Provenance
from olston.scheduler.problem import Problem
from olston.scheduler.propagate import ANY, Demand, demands
from olston.scheduler.prune import Prunings
from olston.scheduler.simulate.modes import bases_only
from olston.scheduler.solve import Solver
from tests.scheduler.cases import JOIN, MAP, apart, at, base, channel, operator, output, problem, stale

A: dict[str, list[float]] = {"a": [0, 5, 8]}


def demand(given_: Problem, channel_: str) -> Demand:
    due = given_.due()
    within = frozenset().union(*(given_.network.upstream(c) for c in due))
    return demands(given_.network, given_.bounds(), due, within)[channel_]


def test_a_bound_of_an_output_is_carried_to_the_inputs() -> None:
    assert demand(problem(9, A, *MAP, stale("c", 0, 1), output("c", 0)), "a").floors == (8,)


def test_a_channel_adds_its_own_bound_to_what_is_asked_of_it() -> None:
    after = (channel("d", "a"), operator("d.b", {"c": "B"}, "d", "B"))
    given_ = problem(9, A, *MAP, *after, stale("d", 0, 4), stale("c", 0, 1), output("d"))
    assert demand(given_, "d").floors == (5,)
    assert demand(given_, "c").floors == (8,)
    assert demand(given_, "a").floors == (8,)


def test_of_several_consumers_the_loosest_is_carried_on() -> None:
    after = (
        channel("d", "a"),
        channel("e", "a"),
        operator("d.b", {"c": "B"}, "d", "B"),
        operator("e.b", {"c": "B"}, "e", "B"),
    )
    given_ = problem(9, A, *MAP, *after, stale("d", 0, 0), stale("e", 0, 3), output("d", 0), output("e", 0))
    assert demand(given_, "c").floors == (6,)


def test_without_bounds_nothing_is_asked() -> None:
    assert demand(problem(9, A, *MAP, output("c")), "a") == Demand((ANY,))


def test_nothing_may_end_before_what_the_freshest_entry_must_reflect_less_the_inconsistency() -> None:
    given_ = problem(100, {"a": [0, 50], "b": [0, 3]}, *JOIN, stale("c", 0), apart("c", 10), output("c", 0, 0))
    assert demand(given_, "c") == Demand((100, ANY), 10, above=40)  # a reflects 50 at least
    idle = problem(100, {"a": [0, 5], "b": [0, 3]}, *JOIN, stale("c", 0), apart("c", 10), output("c", 0, 0))
    assert demand(idle, "b") == Demand((ANY,), 10, above=-5)  # and not 100 − 10


times = st.lists(st.integers(1, 30), unique=True, max_size=4).map(lambda t: [0.0, *map(float, sorted(t))])


@given(times, times, st.integers(0, 20), st.integers(0, 20), st.booleans(), st.data())
def test_whatever_keeps_the_bounds_of_an_output_meets_the_demands_on_its_parts(
    a: list[float], b: list[float], staleness: int, inconsistency: int, both: bool, data: st.DataObject
) -> None:
    bounds = [stale("c", 0, staleness), apart("c", inconsistency)] + ([stale("c", 1, 3)] if both else [])
    given_ = problem(31, {"a": a, "b": b}, *JOIN, *bounds, output("c"))
    left = data.draw(st.sets(st.sampled_from(a), min_size=1))
    right = data.draw(st.sets(st.sampled_from(b), min_size=1))
    target, asked = Provenance([left, right]), given_.bounds()
    if not list(asked.stale("c", target)) and not list(asked.inconsistent("c", target)):
        assert demand(given_, "c").met_by(asked, ("a", "b"), target)
        assert demand(given_, "a").met_by(asked, ("a",), target.part([0]))
        assert demand(given_, "b").met_by(asked, ("b",), target.part([1]))


@pytest.mark.parametrize("seed", range(20))
def test_every_base_that_a_plan_of_bases_reads_meets_the_demand_on_its_channel(seed: int) -> None:
    from random import Random

    random = Random(seed)
    arrivals = {n: [0.0, *sorted(random.sample(range(1, 20), 3))] for n in ("a", "b")}
    shape = (
        *JOIN,
        channel("d", "a", "b", "b"),
        channel("e", "a", "b"),
        operator("d.b", {"c": "B", "b": "B"}, "d", "B", 1.0),
        operator("e.b", {"c": "B"}, "e", "B", 1.0),
    )
    bounds = [
        stale("d", 0, random.randint(0, 9)),
        stale("e", 1, random.randint(0, 9)),
        apart("d", random.randint(0, 9)),
    ]
    blocks = [base(n, t) for n in arrivals for t in arrivals[n]]
    given_ = problem(20, arrivals, *shape, *bounds, output("d", accepts="B"), output("e", accepts="B"), *blocks)
    given_ = replace(given_, network=bases_only(given_.network))
    due = given_.due()
    solution = Solver(given_, due, Prunings()).solve(False)
    if solution is None:
        return
    for step in solution.ledger.steps(solution.plan):
        for block in () if step.is_delivery else (*step.operands, *step.results):
            assert block.kind == BASE
            inputs = given_.network.inputs[block.channel]
            assert demand(given_, block.channel).met_by(given_.bounds(), inputs, block.target)


def test_an_empty_entry_meets_every_demand() -> None:
    given_ = problem(9, {"a": [0, 5], "b": [0, 6]}, *JOIN, stale("c", 0), stale("c", 1), output("c", 0, 0))
    asked = demand(given_, "c")
    assert asked.met_by(given_.bounds(), ("a", "b"), Provenance([[], [6.0]]))
    assert not asked.met_by(given_.bounds(), ("a", "b"), at(0, 6))
