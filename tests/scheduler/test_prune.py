"""Each pruning on a small case, with the traps of DESIGN 6."""

from __future__ import annotations

import pytest

from olston.block import BASE, DELTA, Block
from olston.errors import UnknownNameError
from olston.provenance import Provenance
from olston.scheduler.decide import decide
from olston.scheduler.exact import SearchLimitError, exact
from olston.scheduler.plan import NO_STEPS, Entry
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import load
from olston.scheduler.prune import SECTIONS, Pruning, Prunings, chain, chained
from tests.scheduler.cases import JOIN, MAP, apart, at, base, channel, delta, named, operator, output, problem, stale
from tests.scheduler.random_problems import random_case

A: dict[str, list[float]] = {"a": [0, 5, 8]}


def start(given: Problem, *sections: str) -> Pruning:
    due = given.due()
    within = frozenset().union(*(given.network.upstream(c) for c in due))
    return Prunings(sections).start(given, due, given.bounds(), within)


def existing(given: Problem, *sections: str) -> set[str]:
    return set(named(start(given, *sections).existing()))


def generates(given: Problem, section: str, *blocks: Block) -> list[bool]:
    pruning = start(given, *section.split(","))
    return [pruning.generates(Entry(b, NO_STEPS, 1.0)) for b in blocks]


def test_without_prunings_everything_is_looked_at() -> None:
    given = problem(9, A, *MAP, stale("c", 0), output("c", 5), base("a", 0), base("a", 5), delta("a", [5], [8]))
    assert len(existing(given)) == 3
    assert generates(given, "6.2.1", Block("c", BASE, at(0))) == [True]


def test_an_unknown_pruning_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"6\.9"):
        Prunings(["6.9"])


# 6.2.1


def test_blocks_behind_the_newest_base_on_or_before_the_frontier_are_hidden() -> None:
    blocks = [base("a", 0), base("a", 5), base("a", 8), delta("a", [0], [5]), delta("a", [5], [8])]
    given = problem(9, A, *MAP, stale("c", 0), output("c", 5), *blocks)
    assert existing(given, "6.2.1") == {
        "a: B(⟨{5.0}⟩)",
        "a: B(⟨{8.0}⟩)",
        "a: Δ(⟨{0.0}⟩ ▷ ⟨{5.0}⟩)",
        "a: Δ(⟨{5.0}⟩ ▷ ⟨{8.0}⟩)",
    }


def test_without_a_base_behind_the_frontier_nothing_is_hidden() -> None:
    blocks = [base("a", 8), delta("a", [0], [5]), delta("a", [5], [8])]
    given = problem(9, A, *MAP, stale("c", 0), output("c", 5), *blocks)
    assert len(existing(given, "6.2.1")) == 3


def test_an_output_that_holds_nothing_has_no_frontier_and_keeps_all_that_feeds_it() -> None:
    blocks = [base("a", 0), base("a", 5), delta("a", [0], [5]), delta("a", [0], [8])]
    assert len(existing(problem(9, A, *MAP, output("c"), *blocks), "6.2.1")) == 4


def test_one_output_that_holds_nothing_is_enough_to_keep_what_it_shares() -> None:
    twin = (channel("d", "a"), operator("d.b", {"a": "B"}, "d", "B"))
    blocks = [base("a", 0), base("a", 8)]
    parts = [*MAP, *twin, stale("c", 0), stale("d", 0)]
    assert len(existing(problem(9, A, *parts, output("c", 5), output("d"), *blocks), "6.2.1")) == 2
    far = problem(9, A, *parts, output("c", 5), output("d", 0), base("a", 0), base("a", 5))
    # the frontier set of a is {5, 0}: only what is behind both may go
    assert len(existing(far, "6.2.1")) == 2


# 6.2.2


def test_abutting_deltas_act_as_one() -> None:
    blocks = [delta("a", [0], [5], size=2), delta("a", [5], [8], size=3)]
    pruning = start(problem(9, A, *MAP, stale("c", 0), output("c", 0), *blocks), "6.2.2")
    (only,) = pruning.existing()
    assert str(only) == "a: Δ(⟨{0.0}⟩ ▷ ⟨{8.0}⟩)"
    assert only.rows == 5


CHAIN = [delta("a", [0], [5]), delta("a", [5], [8])]


def test_a_chain_breaks_at_a_base_of_its_own_channel() -> None:
    assert len(existing(problem(9, A, *MAP, stale("c", 0), output("c", 0), base("a", 5), *CHAIN), "6.2.2")) == 3


def test_a_chain_breaks_at_the_frontier() -> None:
    assert len(existing(problem(9, A, *MAP, stale("c", 0), output("c", 5), *CHAIN), "6.2.2")) == 2


def test_a_chain_breaks_where_blocks_downstream_stand() -> None:
    """Else the delta that the next incremental step needs is swallowed: c stands at 5 though its consumer is at 0."""
    parts = [*MAP, stale("c", 0), output("c", 0, accepts="B"), base("c", 0), base("c", 5), base("a", 0), *CHAIN]
    given = problem(9, A, *parts)
    assert "a: Δ(⟨{5.0}⟩ ▷ ⟨{8.0}⟩)" in existing(given, "6.2.2")
    assert decide(given, ["6.2.2"]).cost == decide(given, ()).cost == 3


def test_deltas_of_different_kinds_are_not_chained_and_forks_are_kept() -> None:
    weak = channel("a", w=["wB"])
    kinds = problem(
        9, A, weak, *MAP, stale("c", 0), output("c", 0), delta("a", [0], [5], "w"), delta("a", [5], [8], "D")
    )
    assert len(existing(kinds, "6.2.2")) == 2
    fork = problem(9, A, *MAP, stale("c", 0), output("c", 0), *CHAIN, delta("a", [0], [8]))
    assert "a: Δ(⟨{0.0}⟩ ▷ ⟨{8.0}⟩)" in existing(fork, "6.2.2")


def test_a_chain_may_be_relaxed_and_is_monotone_only_if_all_of_it_is() -> None:
    def step(old: float, new: float, kind: str, relaxed: bool) -> Block:
        return Block("c", kind, at(new, 0), at(old, 0), 1, relaxed)

    assert chain([step(0, 5, "Δ⁺", True), step(5, 8, DELTA, False)]).kind == DELTA
    assert not chain([step(0, 5, DELTA, True), step(5, 8, DELTA, False)]).relaxed
    assert chain([step(0, 5, "Δ⁺", True), step(5, 8, "Δ⁺", True)]).kind == "Δ⁺"
    assert len(chained([step(0, 5, DELTA, True), step(5, 8, DELTA, True)], {at(5, 0)})) == 2


# 6.2.3


def test_what_cannot_become_fresh_enough_downstream_is_not_made() -> None:
    after = (channel("d", "a"), operator("next.b", {"c": "B"}, "d", "B"))
    given = problem(9, A, *MAP, *after, stale("d", 0, 1), output("d", 0), base("a", 0))
    assert generates(given, "6.2.3", Block("c", BASE, at(5)), Block("c", BASE, at(8))) == [True, True]
    strict = problem(9, A, *MAP, *after, stale("d", 0, 0), output("d", 0), base("a", 0))
    assert generates(strict, "6.2.3", Block("c", BASE, at(5)), Block("c", BASE, at(8))) == [False, True]


def test_the_base_on_the_frontier_is_spared() -> None:
    """It is stale by nature, but the next incremental step starts there."""
    touched = (channel("d", "a"), operator("t", {"c": "BD"}, "d", "D", 1.0))
    parts = [*MAP, *touched, stale("d", 0), output("d", 0, accepts="D"), base("a", 0), delta("a", [0], [8])]
    given = problem(9, A, *parts)
    for section in ("6.1", "6.2.3"):
        assert generates(given, section, Block("c", BASE, at(0))) == [True]
    decision = decide(given)
    assert decision.rung is not None
    assert decision.rung.number == 0
    assert decision.cost == 10 + 2 + 1  # map.b makes the old base, map.i the delta that starts there


def test_of_several_consumers_the_loosest_bound_is_the_one_for_generating() -> None:
    twins = (
        channel("d", "a"),
        channel("e", "a"),
        operator("d.b", {"c": "B"}, "d", "B"),
        operator("e.b", {"c": "B"}, "e", "B"),
    )
    bounds = [stale("d", 0, 0), stale("e", 0, 1)]
    given = problem(9.5, A, *MAP, *twins, *bounds, output("d", 0), output("e", 0), base("a", 0))
    assert generates(given, "6.2.3", Block("c", BASE, at(5))) == [False]
    bounds = [stale("d", 0, 0), stale("e", 0, 2)]
    given = problem(9.5, A, *MAP, *twins, *bounds, output("d", 0), output("e", 0), base("a", 0))
    assert generates(given, "6.2.3", Block("c", BASE, at(5))) == [True]


def test_an_idle_input_is_not_asked_to_be_fresher_than_consistency_needs() -> None:
    """The paper's clamp of staleness to the inconsistency bound would hide b at 0 here."""
    parts = [stale("c", 0), apart("c", 10), output("c", 0, 0), base("b", 0), delta("a", [0], [5])]
    given = problem(100, {"a": [0, 5], "b": [0, 3]}, *JOIN, *parts)
    assert generates(given, "6.2.3", Block("b", BASE, at(0))) == [True]
    decision = decide(given)
    assert decision.rung is not None
    assert decision.rung.number == 0
    assert decision.cost == 2


def test_an_inconsistency_bound_hides_what_is_too_old_for_the_freshest_entry() -> None:
    parts = [stale("c", 0), apart("c", 4), output("c", 0, 0), base("b", 0)]
    given = problem(100, {"a": [0, 50], "b": [0, 3]}, *JOIN, *parts)
    # a must reflect 50; b at 0 ended at 3, more than 4 before
    assert not start(given, "6.2.3").scene.meets_demand(Block("b", BASE, at(0)))
    assert start(given, "6.2.3").scene.meets_demand(Block("b", BASE, at(3)))


# 6.2.4


OVERKILL = "6.2.3,6.2.4"


def test_nothing_newer_is_made_where_what_exists_is_new_enough() -> None:
    after = (channel("d", "a"), operator("next.b", {"c": "B"}, "d", "B"))
    given = problem(9, A, *MAP, *after, stale("d", 0, 1), output("d", 0), base("c", 5))
    assert generates(given, OVERKILL, Block("c", BASE, at(8))) == [False]
    assert generates(given, OVERKILL, Block("c", DELTA, at(8), at(5))) == [True]
    strict = problem(9, A, *MAP, *after, stale("d", 0, 0), output("d", 0), base("c", 5))
    assert generates(strict, OVERKILL, Block("c", BASE, at(8))) == [True]


# 6.3


def long_term() -> Problem:
    """Making c from a at 5 is enough and cheaper; from a at 8 it lasts longer."""
    c = (channel("c", "a"), operator("map.b", {"a": "B"}, "c", "B", 1.0, rate=1.0))
    return problem(9, A, *c, stale("c", 0, 3), output("c", 0), base("a", 5, size=1), base("a", 8, size=2))


def test_work_that_lasts_is_preferred_to_what_is_cheapest_now() -> None:
    assert decide(long_term(), ()).holds_after["c"] == at(5)
    assert decide(long_term(), ["6.3"]).holds_after["c"] == at(8)


def test_dominance_does_not_depend_on_the_order_of_enumeration() -> None:
    older, newer = Block("c", BASE, at(5)), Block("c", BASE, at(8))
    assert generates(long_term(), "6.3", newer, older) == [True, False]
    pruning = start(long_term(), "6.3")
    assert pruning.generates(Entry(older, NO_STEPS, 1.0))
    assert pruning.generates(Entry(newer, NO_STEPS, 2.0))
    assert not pruning.selects(Entry(older, NO_STEPS, 1.0))
    assert pruning.selects(Entry(newer, NO_STEPS, 2.0))


def test_existing_blocks_are_always_selected() -> None:
    pruning = start(long_term(), *SECTIONS)
    assert pruning.generates(Entry(Block("c", BASE, at(8)), NO_STEPS, 2.0))
    assert pruning.selects(Entry(Block("c", BASE, at(5)), NO_STEPS, 0.0))


def test_deltas_are_compared_only_at_equal_source_and_footprint() -> None:
    given = problem(9, {"a": [0, 5, 8], "b": [0, 6]}, *JOIN, stale("c", 0), output("c", 0, 0))

    def step(source: Provenance, target: Provenance) -> Block:
        return Block("c", DELTA, target, source)

    first, second = step(at(0, 0), at(5, 0)), step(at(5, 0), at(8, 0))
    assert generates(given, "6.3", second, first) == [True, True]  # another source
    both, left = step(at(0, 0), at(8, 6)), step(at(0, 0), at(5, 0))
    assert generates(given, "6.3", both, left) == [True, True]  # another footprint
    further = step(at(0, 0), at(8, 0))
    assert generates(given, "6.3", further, left) == [True, False]


def test_blocks_of_different_kinds_do_not_compete() -> None:
    given = problem(9, A, *MAP, stale("c", 0), output("c", 0))
    assert generates(given, "6.3", Block("c", BASE, at(8)), Block("c", DELTA, at(5), at(0))) == [True, True]


# all


@pytest.mark.parametrize("section", [*SECTIONS, "all"])
@pytest.mark.parametrize("seed", range(8))
def test_no_pruning_makes_a_feasible_case_infeasible_or_beats_the_exact_planner(seed: int, section: str) -> None:
    given = load(random_case(seed))
    try:
        reference = exact(given, limit=1_500)
    except SearchLimitError:
        pytest.skip("too large to be proven")
    decision = decide(given, SECTIONS if section == "all" else [section], replan=False)
    assert decision.feasible == reference.feasible
    if decision.feasible:
        assert decision.cost >= reference.cost * (1 - 1e-9)
        bounds = given.bounds()
        for channel_, content in decision.holds_after.items():
            assert not list(bounds.stale(channel_, content))
            assert not list(bounds.inconsistent(channel_, content))
