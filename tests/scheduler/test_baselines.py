"""GREEDY and RANDOM, the baselines of section 7."""

from __future__ import annotations

from dataclasses import replace

import pytest

from olston.block import Block
from olston.scheduler.baselines import greedy, random_policy
from olston.scheduler.decide import Decision
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import load
from tests.scheduler.cases import JOIN, MAP, Case, at, base, channel, delta, operator, output, problem, stale
from tests.scheduler.random_problems import random_case
from tests.scheduler.test_infeasible import base_at, drifted

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}
POLICIES = {"greedy": greedy, "random": random_policy(3)}


def mapped(*parts: Case) -> Problem:
    return problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), *parts)


def run(given: Problem, decision: Decision) -> Problem:
    """The state after the single step of `decision`."""
    blocks = {c: list(b) for c, b in given.blocks.items()}
    for step in decision.work:
        for block in step.results:
            blocks.setdefault(block.channel, []).append(block)
    return replace(given, blocks=blocks, holds={**given.holds, **decision.holds_after})


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(10))
def test_a_baseline_takes_at_most_one_step(policy: str, seed: int) -> None:
    assert len(POLICIES[policy](load(random_case(seed))).steps) <= 1


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_due_is_no_step(policy: str) -> None:
    assert POLICIES[policy](problem(7, {"a": [0, 5]}, *MAP, output("c", 0), base("a", 5))) == Decision(())


@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_to_derive_is_no_step(policy: str) -> None:
    assert POLICIES[policy](mapped(output("c", 0))).steps == ()


def test_greedy_takes_the_cheapest_block_that_can_be_derived_directly() -> None:
    (step,) = greedy(mapped(output("c", 0, accepts="B"), base("a", 0), delta("a", [0], [5]))).steps
    assert (str(step.operator), step.cost) == ("c.DB", 1)


def test_greedy_takes_only_what_meets_the_propagated_constraints() -> None:
    # the base at 0 would give an old c for 10; the delta gives a new one
    given = mapped(output("c", 0), base("a", 0), delta("a", [0], [5]))
    given = replace(given, network=given.network.without(["c.DB", "c.BD"]))
    (step,) = greedy(given).steps
    assert [str(b) for b in step.results] == ["c: Δ(⟨{0.0}⟩ ▷ ⟨{5.0}⟩)"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_free_step_such_as_a_delivery_comes_first(policy: str) -> None:
    decision = POLICIES[policy](mapped(output("c", 0), base("a", 0), delta("a", [0], [5]), delta("c", [0], [5])))
    assert decision.cost == 0
    assert decision.holds_after == {"c": at(5)}
    assert [str(b) for b in decision.emitted["c"]] == ["c: Δ(⟨{0.0}⟩ ▷ ⟨{5.0}⟩)"]


@pytest.mark.parametrize("policy", POLICIES)
def test_a_block_that_exists_but_is_hidden_is_never_remade(policy: str) -> None:
    """Pruning 6.2.1 hides the base at 0 and the chain swallows the deltas; both still exist."""
    given = problem(
        9,
        {"a": [0, 5, 8], "b": [0, 6]},
        *JOIN,
        stale("c", 0),
        output("c", 5, 6),
        base("a", 0),
        base("a", 5),
        base("b", 6),
        delta("a", [0], [5]),
        delta("a", [5], [8]),
    )
    made: set[Block] = {b for blocks in given.blocks.values() for b in blocks}
    for _ in range(60):
        decision = POLICIES[policy](given)
        if not decision.steps:
            break
        for step in decision.work:
            assert not any(b in made for b in step.results if len(step.results) == 1)
            made |= set(step.results)
        given = run(given, decision)
    assert not given.due()


def test_a_block_that_has_left_planning_is_never_remade() -> None:
    given = mapped(output("c", 0), delta("a", [0], [5]))
    (step,) = greedy(given).steps
    retired = replace(given, hidden={b.key for b in step.results})
    assert greedy(retired).steps == ()


@pytest.mark.parametrize("policy", POLICIES)
def test_repeated_single_steps_end_with_fresh_outputs_on_a_simple_workflow(policy: str) -> None:
    given = mapped(output("c", 0), base("a", 0), delta("a", [0], [5]))
    for _ in range(20):
        if not given.due():
            break
        given = run(given, POLICIES[policy](given))
    assert given.due() == ()


def test_random_is_reproducible_by_its_seed_and_differs_between_seeds() -> None:
    wide = [channel(f"x{i}", "a") for i in range(8)] + [operator(f"o{i}", {"a": "B"}, f"x{i}", "B") for i in range(8)]
    outputs = [output(f"x{i}", accepts="B") for i in range(8)]
    given = problem(7, {"a": [0, 5]}, *wide, *outputs, base("a", 5))

    def steps(seed: int) -> list[str]:
        policy = random_policy(seed)
        return [str(policy(given).steps[0].operator) for _ in range(6)]

    assert steps(1) == steps(1)
    assert len({tuple(steps(s)) for s in range(5)}) > 1


@pytest.mark.parametrize(("policy", "recomputes"), [("auto", True), ("incremental_strict", False)])
def test_baselines_respect_the_policies_of_widgets(policy: str, recomputes: bool) -> None:
    given = drifted(policy)
    given = replace(given, blocks={**given.blocks, "a": [base_at("a", 60_000_000)]})
    for baseline in (greedy, random_policy(0)):
        assert any("batch" in str(s.operator) for s in baseline(given).work) == recomputes
