"""`blockGen`: which invocations are legal, and what they make."""

from __future__ import annotations

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.problem import Problem
from olston.timeline import History, Timeline
from tests.scheduler.cases import JOIN, MAP, apart, base, channel, delta, one_step, operator, problem, shown, stale

AB = {"a": [0.0, 5.0], "b": [0.0, 6.0]}


def test_an_operator_reads_every_block_of_the_kind_it_takes() -> None:
    made = shown(one_step(problem(7, {"a": [0, 5]}, *MAP, base("a", 0), base("a", 5), delta("a", [0], [5]))))
    assert {m for m in made if m.startswith("map")} == {
        "map.b → c: B(⟨{0.0}⟩)",
        "map.b → c: B(⟨{5.0}⟩)",
        "map.i → c: Δ(⟨{0.0}⟩ ▷ ⟨{5.0}⟩)",
    }


def test_a_pair_is_a_base_and_a_delta_that_starts_exactly_there() -> None:
    blocks = [base("a", 0), delta("a", [0], [5]), delta("a", [5], [8]), base("b", 0), delta("b", [0], [6])]
    made = shown(one_step(problem(9, {"a": [0, 5, 8], "b": [0, 6]}, *JOIN, *blocks)))
    assert {m for m in made if m.startswith("join.i")} == {"join.i → c: Δ(⟨{0.0}, {0.0}⟩ ▷ ⟨{5.0}, {6.0}⟩)"}


def test_an_asynchronous_join_takes_any_base_of_the_other_side() -> None:
    blocks = [delta("a", [0], [5]), base("b", 0), base("b", 6)]
    made = shown(one_step(problem(7, AB, *JOIN, *blocks)))
    assert {m for m in made if m.startswith("join.l")} == {
        "join.l → c: Δ(⟨{0.0}, {0.0}⟩ ▷ ⟨{5.0}, {0.0}⟩)",
        "join.l → c: Δ(⟨{0.0}, {6.0}⟩ ▷ ⟨{5.0}, {6.0}⟩)",
    }


def test_a_synchronous_base_needs_a_consistent_target() -> None:
    # a at 0 is valid in [0, 5), b at 6 from 6 on: together they never were
    made = shown(one_step(problem(7, AB, *JOIN, base("a", 0), base("a", 5), base("b", 0), base("b", 6))))
    assert {m for m in made if m.startswith("join.b ")} == {
        "join.b → c: B(⟨{0.0}, {0.0}⟩)",
        "join.b → c: B(⟨{5.0}, {0.0}⟩)",
        "join.b → c: B(⟨{5.0}, {6.0}⟩)",
    }
    assert "join.ab → c: B(⟨{0.0}, {6.0}⟩)" in made


def test_a_synchronous_delta_needs_a_consistent_source_too() -> None:
    arrivals: dict[str, list[float]] = {"a": [0, 5, 8], "b": [0, 6, 9]}
    consistent = [base("a", 5), delta("a", [5], [8]), base("b", 6), delta("b", [6], [9])]
    assert any(m.startswith("join.i") for m in shown(one_step(problem(10, arrivals, *JOIN, *consistent))))
    torn = [base("a", 0), delta("a", [0], [8]), base("b", 6), delta("b", [6], [9])]
    assert not any(m.startswith("join.i") for m in shown(one_step(problem(10, arrivals, *JOIN, *torn))))


def test_a_side_that_is_not_propagated_leaves_empty_entries() -> None:
    union = (channel("c", "a", "b"), operator("u.l", {"a": "D", "b": ""}, "c", "D"))
    made = shown(one_step(problem(7, AB, *union, delta("a", [0], [5]))))
    assert made == {"u.l → c: Δ(⟨{0.0}, {}⟩ ▷ ⟨{5.0}, {}⟩)"}


def test_a_single_input_operator_keeps_a_delta_monotone() -> None:
    assert "map.i → c: Δ⁺(⟨{0.0}⟩ ▷ ⟨{5.0}⟩)" in shown(
        one_step(problem(7, {"a": [0, 5]}, *MAP, delta("a", [0], [5], "D+")))
    )


def test_abutting_deltas_chain_for_free_with_the_sum_of_their_sizes() -> None:
    blocks = [delta("a", [0], [5], size=3), delta("a", [5], [6], "D+", size=4), delta("a", [8], [9])]
    chains = [e for e in one_step(problem(10, {"a": [0, 5, 6, 8, 9]}, *blocks)) if e.made_by is None]
    assert shown(chains) == {"chain → a: Δ(⟨{0.0}⟩ ▷ ⟨{6.0}⟩)"}
    assert chains[0].cost == 0
    assert chains[0].block.rows == 7


def test_a_delta_applies_relaxed_to_a_base_that_differs_where_it_does_not_advance() -> None:
    blocks = [base("c", 0, [0, 6]), delta("c", [0, 6], [5, 6]), delta("c", [5, 0], [5, 6])]
    made = shown(one_step(problem(7, AB, *JOIN, *blocks)))
    assert "c.DB → c: B(⟨{5.0}, {0.0,6.0}⟩)" in made
    assert len({m for m in made if m.startswith("c.DB")}) == 1  # the second advances an entry that differs


def test_two_bases_make_a_delta_only_forwards() -> None:
    made = shown(one_step(problem(7, {"a": [0, 5]}, base("a", 5), base("a", 0))))
    assert made == {"c.BD → a: Δ(⟨{0.0}⟩ ▷ ⟨{5.0}⟩)"}


def test_weak_deltas_become_strong_exactly_and_bases_relaxed() -> None:
    weak = channel("c", "a", "b", w=["wB", "wD"])
    blocks = [base("c", 0, 6), delta("c", [0, 0], [5, 0], "w")]
    made = shown(one_step(problem(7, AB, weak, *blocks)))
    assert made == {"c.wB → c: B(⟨{5.0}, {0.0,6.0}⟩)"}


def test_all_outputs_of_a_split_come_from_one_invocation() -> None:
    split = (channel("x", "a"), channel("y", "a"), operator("s", {"a": "B"}, "x y", "B", 3.0))
    made = one_step(problem(7, {"a": [0]}, *split, base("a", 0)))
    assert shown(made) == {"s → x: B(⟨{0.0}⟩)", "s → y: B(⟨{0.0}⟩)"}
    assert made[0].made_by is made[1].made_by


def test_what_breaks_a_bound_is_read_by_converters_only() -> None:
    blocks = [base("c", 0), delta("c", [0], [5]), delta("c", [5], [8])]
    chain = (channel("d", "a"), operator("next.b", {"c": "B"}, "d", "B"), operator("next.i", {"c": "D"}, "d", "D"))
    made = shown(one_step(problem(9, {"a": [0, 5, 8]}, *MAP, *chain, stale("c", 0, 0), *blocks)))
    assert "c.DB → c: B(⟨{5.0}⟩)" in made
    assert "chain → c: Δ(⟨{0.0}⟩ ▷ ⟨{8.0}⟩)" in made
    assert {m for m in made if m.startswith("next")} == {"next.i → d: Δ(⟨{5.0}⟩ ▷ ⟨{8.0}⟩)"}


def test_of_a_pair_the_bound_binds_the_target_and_not_the_old_base() -> None:
    step = (channel("d", "a"), operator("touched", {"c": "BD"}, "d", "D"))
    fresh = [base("c", 0), delta("c", [0], [8])]
    given = problem(9, {"a": [0, 5, 8]}, *MAP, *step, stale("c", 0, 0), *fresh)
    assert "touched → d: Δ(⟨{0.0}⟩ ▷ ⟨{8.0}⟩)" in shown(one_step(given))
    late = [base("c", 0), delta("c", [0], [5])]
    given = problem(9, {"a": [0, 5, 8]}, *MAP, *step, stale("c", 0, 0), *late)
    assert not any(m.startswith("touched") for m in shown(one_step(given)))


def test_the_order_in_which_operands_are_settled_does_not_matter() -> None:
    step = (channel("d", "a"), operator("touched", {"c": "BD"}, "d", "D"))
    blocks = [base("c", 0), delta("c", [0], [8])]
    one = problem(9, {"a": [0, 8]}, *MAP, *step, stale("c", 0, 0), *blocks)
    other = problem(9, {"a": [0, 8]}, *MAP, *step, stale("c", 0, 0), *blocks[::-1])
    assert shown(one_step(one)) == shown(one_step(other))


def test_inconsistent_blocks_are_not_read_downstream() -> None:
    chain = (channel("d", "a", "b"), operator("next.b", {"c": "B"}, "d", "B"))
    given = problem(9, AB, *JOIN, *chain, apart("c", 0), base("c", 0, 6), base("c", 5, 6))
    assert {m for m in shown(one_step(given)) if m.startswith("next")} == {"next.b → d: B(⟨{5.0}, {6.0}⟩)"}


def test_variants_that_are_barred_and_channels_not_asked_for_are_left_out() -> None:
    given = problem(7, {"a": [0, 5]}, *MAP, base("a", 0), delta("a", [0], [5]))
    batch = next(v for v in given.network.variants if v.name == "map.b")
    assert not any(m.startswith("map.b") for m in shown(one_step(given, frozenset({batch}))))
    assert not any(m.startswith("map") for m in shown(one_step(given, within="a")))


def a_join(kind: str) -> Problem:
    """A workflow's join: a delta of `kind` on the left, and content that differs on the right."""
    wf = ol.Workflow("w")
    wf.output(wf.source("a", "k int").join("c", wf.source("b", "k int"), on="k"))
    blocks = {
        "a": [Block("a", kind, Provenance.at(5), Provenance.at(0), 1)],
        "b": [Block("b", BASE, Provenance.at(6), rows=1)],
    }
    history = History({"a": Timeline("a", [5]), "b": Timeline("b", [6])}, 7)
    return Problem(compile_workflow(wf), blocks, history, {"c": Provenance.at(0, 0)})


def test_a_one_sided_join_may_be_applied_relaxed_only_without_deletions() -> None:
    """The counterexample of DESIGN 3: it would remove (x, d1, 22) where the base holds (x, d1, 18)."""
    for kind, relaxed in ((MONOTONE, True), (DELTA, False)):
        made = [e.block for e in one_step(a_join(kind)) if e.block.channel == "c"]
        assert [b.relaxed for b in made] == [relaxed]


def test_a_delta_that_must_not_be_relaxed_is_not_applied_to_another_base() -> None:
    def applied(relaxed: bool) -> bool:
        given = a_join(DELTA)
        content = [
            Block("c", BASE, Provenance([[0], [0, 6]]), rows=1),
            Block("c", DELTA, Provenance.at(5, 6), Provenance.at(0, 6), 1, relaxed),
        ]
        given = Problem(given.network, {"c": content}, given.history, given.holds)
        return any(m.startswith("c.c.ΔB") for m in shown(one_step(given)))

    assert applied(True)
    assert not applied(False)


def test_a_one_sided_delta_is_completed_for_free_beside_a_base() -> None:
    wf = ol.Workflow("w")
    union = wf.source("a", "k int").union("c", wf.source("b", "k int"))
    wf.output(union)
    delta_ = Block("c", MONOTONE, Provenance([[5], []]), Provenance([[0], []]), 1)
    blocks = {"c": [Block("c", BASE, Provenance.at(0, 6), rows=1), delta_]}
    history = History({"a": Timeline("a", [5]), "b": Timeline("b", [6])}, 7)
    given = Problem(compile_workflow(wf), blocks, history, {"c": None})
    (made,) = [e for e in one_step(given) if e.made_by is not None and str(e.made_by.operator) == "c.complete"]
    assert str(made.block) == "c: Δ⁺(⟨{0}, {6}⟩ ▷ ⟨{5}, {6}⟩)"
    assert made.cost == 0
