"""The exact planner against listed minima and exhaustion, and the planner against the exact one."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

import pytest

from olston.scheduler.alternatives import GOAL, Alternatives, Graph
from olston.scheduler.cheapest import Cheapest
from olston.scheduler.exact import ExactAnswer, SearchLimitError, exact
from olston.scheduler.problem_file import load
from olston.scheduler.prune import Prunings
from olston.scheduler.solve import Solution, Solver
from tests.scheduler.random_problems import random_case

Case = dict[str, Any]

LISTED: list[Case] = json.loads((Path(__file__).parents[1] / "data" / "problems.json").read_text())["cases"]
COUNTEREXAMPLES: list[Case] = json.loads((Path(__file__).parent / "counterexamples.json").read_text())["cases"]
SMALL = 800
"""How many invocations a random case may have to choose from; larger ones are skipped."""


def named(case: Case) -> str:
    return str(case["id"])


def plan(case: Case, replan: bool, effort: int = SMALL) -> Solution | None:
    problem = load(case)
    return Solver(problem, problem.due(), Prunings()).solve(replan, effort)


def exactly(case: Case) -> ExactAnswer:
    try:
        return exact(load(case), limit=SMALL)
    except SearchLimitError:
        pytest.skip("too large to be proven")


@pytest.mark.parametrize("case", LISTED, ids=named)
def test_exact_reproduces_the_listed_minimum(case: Case) -> None:
    answer, expected = exact(load(case)), case["expected"]
    assert answer.feasible == expected["feasible"]
    assert answer.cost == pytest.approx(expected.get("cost", inf))
    assert sum(i.cost for i in answer.invocations) == pytest.approx(expected.get("cost", 0))


@pytest.mark.parametrize("case", LISTED, ids=named)
def test_the_planner_finds_the_listed_minimum(case: Case) -> None:
    solution = plan(case, replan=True)
    assert (solution.cost if solution else inf) == pytest.approx(case["expected"].get("cost", inf))


@pytest.mark.parametrize("hard", [False, True], ids=["plain", "hard"])
@pytest.mark.parametrize("seed", range(40))
def test_the_planner_never_beats_the_exact_one_and_never_misses_a_feasible_case(seed: int, hard: bool) -> None:
    case = random_case(seed, hard)
    answer = exactly(case)
    for replan in (False, True):
        solution = plan(case, replan)
        assert (solution is not None) == answer.feasible
        if solution is not None:
            assert solution.cost >= answer.cost * (1 - 1e-9)


def test_most_random_cases_are_small_enough_to_be_proven() -> None:
    proven = 0
    for seed in range(20):
        try:
            proven += exact(load(random_case(seed)), limit=SMALL).cost >= 0
        except SearchLimitError:
            continue
    assert proven >= 15


@pytest.mark.parametrize("seed", range(25))
def test_planning_again_never_makes_a_plan_dearer_whatever_the_effort(seed: int) -> None:
    case = random_case(seed)
    first = plan(case, replan=False)
    for effort in (0, 300):
        again = plan(case, replan=True, effort=effort)
        assert (first is None) == (again is None)
        if first is not None and again is not None:
            assert again.cost <= first.cost * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_what_the_planner_proves_within_its_effort_is_the_minimum(seed: int) -> None:
    case = random_case(seed)
    answer = exactly(case)
    solution = plan(case, replan=True, effort=20 * SMALL)
    assert (solution.cost if solution else inf) == pytest.approx(answer.cost)


@pytest.mark.parametrize("seed", range(60))
def test_exhaustion_finds_nothing_cheaper_than_branch_and_bound(seed: int) -> None:
    graph = alternatives(random_case(seed))
    if graph is None or len(graph.actions) > 60:
        pytest.skip("too large to exhaust")
    cheapest = Cheapest(graph, 10_000)
    assert not cheapest.cut_short
    assert reached(graph, cheapest.steps)
    assert least_by_exhaustion(graph, cheapest.cost) == pytest.approx(cheapest.cost)


@pytest.mark.parametrize("case", COUNTEREXAMPLES, ids=named)
def test_counterexamples_stay_solved(case: Case) -> None:
    first, again = plan(case, replan=False), plan(case, replan=True)
    assert first is not None
    assert again is not None
    assert first.cost > case["expected"]["cost"] * 1.01
    assert again.cost == pytest.approx(case["expected"]["cost"])
    assert exact(load(case)).cost == pytest.approx(case["expected"]["cost"])


def test_a_shared_step_is_seen_when_planning_again() -> None:
    """DESIGN 6: X costs 5; A is X+1 or 5.5 alone; B is X+1; A ⋈ B is free: 11.5 against 7."""
    first, again = plan(shared_step(), replan=False), plan(shared_step(), replan=True)
    assert first is not None
    assert again is not None
    assert first.cost == pytest.approx(11.5)
    assert again.cost == pytest.approx(7)
    assert exact(load(shared_step())).cost == pytest.approx(7)


def test_a_shared_step_is_seen_by_exchange_alone() -> None:
    again = plan(shared_step(), replan=True, effort=0)
    assert again is not None
    assert again.cost == pytest.approx(7)


def test_a_case_too_large_is_refused_with_a_way_out() -> None:
    with pytest.raises(SearchLimitError, match="raise `limit`"):
        exact(load(LISTED[0]), limit=5)


def test_nothing_due_costs_nothing() -> None:
    assert exact(load(LISTED[0]), due=()) == ExactAnswer(True, 0.0)


def shared_step() -> Case:
    def channel(name: str, paths: int = 1) -> Case:
        cost = {"fixed": 100.0, "per_unit_read": 1.0}
        return {"name": name, "paths": ["in0"] * paths, "weak": {}, "converter_cost": cost}

    def batch(name: str, reads: list[str], writes: str, cost: float) -> Case:
        return {
            "name": name,
            "inputs": [{"channel": c, "kinds": ["B"]} for c in reads],
            "sync": False,
            "outputs": [{"channel": writes, "kind": "B", "size": [1.0] + [0.0] * (len(reads) - 1)}],
            "cost": {"fixed": cost, "per_operand": [0.0] * len(reads)},
        }

    return {
        "id": "shared step",
        "now": 1.0,
        "arrivals": {"in0": [0.0]},
        "channels": [channel("in0"), channel("X"), channel("A"), channel("B"), channel("J", 2)],
        "operators": [
            batch("x", ["in0"], "X", 5.0),
            batch("a", ["X"], "A", 1.0),
            batch("alone", ["in0"], "A", 5.5),
            batch("b", ["X"], "B", 1.0),
            batch("j", ["A", "B"], "J", 0.0),
        ],
        "outputs": [{"channel": "J", "accepts": ["B"], "holds": None}],
        "constraints": [],
        "blocks": [{"channel": "in0", "kind": "B", "source": None, "target": [[0.0]], "size": 1.0}],
    }


def alternatives(case: Case) -> Graph | None:
    """The alternatives that exact planning chooses from, within the cost of the planner's plan."""
    problem = load(case)
    solver = Solver(problem, problem.due(), Prunings())
    solution = solver.solve(False)
    if solution is None:
        return None
    _, existing, block_gen, _ = solver._start(0)
    return Alternatives(existing, block_gen, solver._outputs, solver._bounds).below(solution.cost, SMALL)


def reached(graph: Graph, steps: frozenset[int]) -> bool:
    """Whether carrying out `steps`, each when what it needs is there, reaches the goal."""
    return GOAL in closed(graph, {0}, steps)


def closed(graph: Graph, facts: set[int], steps: frozenset[int]) -> frozenset[int]:
    held, before = set(facts), 0
    while len(held) > before:
        before = len(held)
        for s in steps:
            if held.issuperset(graph.actions[s].needs):
                held.update(graph.actions[s].gives)
    return frozenset(held)


def least_by_exhaustion(graph: Graph, upper: float) -> float:
    """The least cost over all orders of applying actions, found by trying them all in order of cost."""
    free = frozenset(s for s, a in enumerate(graph.actions) if a.cost == 0)
    start = closed(graph, {0}, free)
    queue, seen = {start: 0.0}, set[frozenset[int]]()
    while queue:
        facts = min(queue, key=lambda f: queue[f])
        cost = queue.pop(facts)
        if GOAL in facts:
            return cost
        seen.add(facts)
        if len(seen) > 400:
            pytest.skip("too large to exhaust")
        for action in graph.actions:
            total = cost + action.cost
            if total <= upper * (1 + 1e-9) and facts.issuperset(action.needs) and not facts.issuperset(action.gives):
                after = closed(graph, set(facts).union(action.gives), free)
                if after not in seen:
                    queue[after] = min(total, queue.get(after, inf))
    return inf
