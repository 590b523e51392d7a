"""Delivery: what consumers accept, and sequences of deliveries (DESIGN 2, 5 of the paper)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, DELTA, MONOTONE, Block
from olston.provenance import Provenance
from olston.scheduler.decide import decide
from olston.scheduler.delivery import accepted, held_after
from olston.scheduler.network import Output
from tests.scheduler.cases import JOIN, MAP, apart, at, base, channel, delta, operator, output, problem, stale

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}


def test_a_consumer_of_nothing_takes_a_base_and_no_delta() -> None:
    assert held_after(None, Block("c", BASE, at(5))) == at(5)
    assert held_after(None, Block("c", DELTA, at(5), at(0))) is None


def test_a_consumer_takes_a_base_only_if_it_is_ahead() -> None:
    assert held_after(at(0, 6), Block("c", BASE, at(5, 6))) == at(5, 6)
    assert held_after(at(5, 6), Block("c", BASE, at(5, 6))) is None
    assert held_after(at(5, 0), Block("c", BASE, at(0, 6))) is None
    mixed = Provenance([[0.0, 5.0], [6.0]])
    assert held_after(mixed, Block("c", BASE, at(5, 6))) == at(5, 6)


def test_a_consumer_takes_a_delta_that_applies_by_the_relaxed_rule() -> None:
    step = Block("c", DELTA, at(5, 6), at(0, 6))
    assert held_after(at(0, 6), step) == at(5, 6)
    assert held_after(at(0, 0), step) == Provenance([[5.0], [0.0, 6.0]])
    assert held_after(at(5, 6), step) is None  # it starts at 0, which the content has left


def test_a_delta_that_would_bring_back_an_older_snapshot_is_refused() -> None:
    """Made beside b at 0, it would mix 0 into content that reflects b at 6 only: behind in that entry."""
    step = Block("c", DELTA, at(5, 0), at(0, 0))
    assert held_after(at(0, 6), step) is None
    assert held_after(Provenance([[0.0], [0.0, 6.0]]), step) == Provenance([[5.0], [0.0, 6.0]])


def test_a_delta_that_must_be_exact_is_taken_exactly_only() -> None:
    step = Block("c", DELTA, at(5, 6), at(0, 6), relaxed=False)
    assert held_after(at(0, 6), step) == at(5, 6)
    assert held_after(at(0, 0), step) is None


def test_a_one_sided_delta_leaves_the_other_entry_alone() -> None:
    """The union of 3.3: ⟨9, 9⟩ and Δ(⟨{}, 9⟩ ▷ ⟨{}, 10⟩) give ⟨9, 10⟩."""
    step = Block("c", MONOTONE, Provenance([[], [10.0]]), Provenance([[], [9.0]]))
    assert held_after(at(9, 9), step) == at(9, 10)


def test_a_consumer_of_strong_deltas_takes_those_without_deletions_too() -> None:
    assert accepted(Output("c", frozenset({DELTA})), MONOTONE)
    assert not accepted(Output("c", frozenset({MONOTONE})), DELTA)
    assert not accepted(Output("c", frozenset({DELTA})), BASE)


entries = st.lists(st.sets(st.sampled_from([0.0, 5.0, 8.0]), min_size=1), min_size=2, max_size=2)


@given(entries, entries, entries)
def test_what_a_consumer_holds_only_ever_moves_ahead(
    held: list[set[float]], source: list[set[float]], target: list[set[float]]
) -> None:
    before, old, new = Provenance(held), Provenance(source), Provenance(target)
    blocks = [Block("c", BASE, new)] + ([Block("c", DELTA, new, old)] if old.precedes(new) else [])
    for block in blocks:
        after = held_after(before, block)
        assert after is None or before.precedes(after)


def test_a_kind_that_is_not_accepted_is_not_delivered() -> None:
    blocks = [base("a", 0), base("c", 0), delta("a", [0], [5])]
    only_bases = problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c", 0, accepts="B"), *blocks)
    decision = decide(only_bases, ())
    assert [b.kind for b in decision.emitted["c"]] == [BASE]
    assert decision.cost == 3  # map.i, then c.DB
    both = problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c", 0), *blocks)
    assert decide(both, ()).cost == 2


def test_several_blocks_are_delivered_in_sequence() -> None:
    """Two one-sided steps, each within the bound, are cheaper than the synchronous one."""
    blocks = [base("a", 0), base("b", 0), delta("a", [0], [5]), delta("b", [0], [6])]
    union = (
        channel("c", "a", "b"),
        operator("u.i", {"a": "D", "b": "D"}, "c", "D", 9.0, sync=True),
        operator("u.l", {"a": "D", "b": ""}, "c", "D", 2.0),
        operator("u.r", {"a": "", "b": "D"}, "c", "D", 3.0),
    )
    given_ = problem(7, AB, *union, stale("c", 0), stale("c", 1), output("c", 0, 0), *blocks)
    decision = decide(given_, ())
    assert decision.cost == 5
    assert len(decision.emitted["c"]) == 2
    assert decision.holds_after["c"] == at(5, 6)


def sequence(bound: float, *also: dict[str, object]) -> float | None:
    """The cost of bringing both sides up to date by two one-sided steps, b first or a first."""
    blocks = [delta("a", [0], [5]), delta("b", [0], [6])]
    union = (
        channel("c", "a", "b"),
        operator("u.l", {"a": "D", "b": ""}, "c", "D", 2.0),
        operator("u.r", {"a": "", "b": "D"}, "c", "D", 3.0),
    )
    constraints = [stale("c", 0), stale("c", 1), apart("c", bound)]
    decision = decide(problem(7, AB, *union, *constraints, output("c", 0, 0), *blocks, *also), ())
    return decision.cost if decision.feasible else None


def test_inconsistency_binds_after_each_delivery_and_so_fixes_their_order() -> None:
    # after a alone: ⟨5, 0⟩, consistent; after b alone: ⟨0, 6⟩, apart by 1
    assert sequence(0) == 5
    blocks = [delta("a", [0], [5]), delta("b", [0], [6])]
    union = (channel("c", "a", "b"), operator("u.r", {"a": "", "b": "D"}, "c", "D", 3.0))
    for bound, feasible in ((0.0, False), (1.0, False), (1.5, True)):
        parts = [*union, stale("c", 1), apart("c", bound), output("c", 0, 0), *blocks]
        assert decide(problem(7, AB, *parts), ()).feasible == feasible


def test_staleness_binds_after_the_last_delivery_only() -> None:
    chain = [delta("c", [0], [5]), delta("c", [5], [8])]
    given_ = problem(9, {"a": [0, 5, 8]}, *MAP, stale("c", 0), output("c", 0), *chain)
    decision = decide(given_, ())
    assert decision.feasible
    assert decision.cost == 0
    assert decision.holds_after["c"] == at(8)


def test_a_base_and_then_a_delta_fill_a_consumer_that_holds_nothing() -> None:
    # the newest base of c would cost 10; the old one and a delta cost 2
    blocks = [base("a", 0), base("c", 0), delta("a", [0], [5])]
    decision = decide(problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c"), *blocks), ())
    assert decision.cost == 2
    assert [b.kind for b in decision.emitted["c"]] == [BASE, DELTA]


def test_a_delivered_slice_of_an_intermediate_bound_binds_the_content() -> None:
    """c is bound to be consistent; d, made of c's deltas, may not come to hold what c never was."""
    after = (channel("d", "a", "b"), operator("next.i", {"c": "D"}, "d", "D", 1.0))
    blocks = [delta("c", [5, 0], [5, 6])]
    held = output("d", [0, 5], 0)
    parts = [*JOIN, *after, stale("d", 1), held, *blocks]
    assert decide(problem(7, AB, *parts), ()).feasible
    decision = decide(problem(7, AB, *parts, apart("c", 0)), ())
    assert not decision.feasible


@pytest.mark.parametrize("price", [0.0, 7.0])
def test_the_price_of_a_delivery_is_part_of_the_plan(price: float) -> None:
    from dataclasses import replace

    given_ = problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c", 0), base("a", 0), delta("a", [0], [5]))
    outputs = {"c": replace(given_.network.outputs["c"], price=lambda block: price if block.kind != BASE else 0.0)}
    dear = replace(given_, network=replace(given_.network, outputs=outputs))
    assert decide(dear, ()).cost == 2 + price
