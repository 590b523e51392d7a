"""Where bounds bind (DESIGN 2)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, DELTA, Block
from olston.constraints import Inconsistency, Staleness
from olston.provenance import Provenance
from olston.scheduler.problem import Problem
from tests.scheduler.cases import Case, apart, at, base, channel, delta, one_step, operator, problem, shown, stale

ARRIVALS: dict[str, list[float]] = {"a": [0, 10, 20], "b": [0, 12], "x": [0, 18]}

JOINS = (
    channel("c", "a", "b"),
    channel("d", "a", "b", "x"),
    channel("e", "a", "b", "x"),
    operator("c.b", {"a": "B", "b": "B"}, "c", "B"),
    operator("d.b", {"c": "B", "x": "B"}, "d", "B"),
    operator("d.l", {"c": "D", "x": "B"}, "d", "D"),
    operator("e.b", {"d": "B"}, "e", "B"),
    operator("e.i", {"d": "D"}, "e", "D"),
    operator("e.t", {"d": "BD"}, "e", "D"),
)
"""a and b make c, c and x make d, d makes e."""


def joined(*parts: Case) -> Problem:
    return problem(25, ARRIVALS, *JOINS, *parts)


def content(channel: str, target: Provenance) -> Block:
    return Block(channel, BASE, target)


def test_staleness_counts_from_the_end_of_the_oldest_snapshot_reflected() -> None:
    bounds = joined(stale("c", 0, 5)).bounds()
    assert list(bounds.stale("c", at(10, 0))) == []  # valid until 20, and 20 + 5 ≥ 25
    assert list(bounds.stale("c", at(0, 0))) == [Staleness("c", 0, 5)]
    assert list(bounds.stale("c", Provenance([[0.0, 20.0], [0.0]]))) == [Staleness("c", 0, 5)]
    assert list(bounds.stale("c", at(20, 0))) == []


def test_an_idle_input_is_never_stale() -> None:
    assert list(joined(stale("d", 2, 0)).bounds().stale("d", at(0, 0, 18))) == []


def test_an_empty_entry_claims_nothing_and_breaks_nothing() -> None:
    bounds = joined(stale("c", 0, 0), apart("c", 0)).bounds()
    delta = Block("c", DELTA, Provenance([[], [12.0]]), Provenance([[], [0.0]]))
    assert bounds.readable(delta)


def test_an_inconsistency_bound_is_strict() -> None:
    # a at 0 lasts until 10, b begins at 12: apart by 2
    assert joined(apart("c", 2.5)).bounds().readable(content("c", at(0, 12)))
    assert not joined(apart("c", 2)).bounds().readable(content("c", at(0, 12)))
    assert not joined(apart("c", 0)).bounds().readable(content("c", at(0, 12)))
    assert joined(apart("c", 0)).bounds().readable(content("c", at(10, 12)))


def test_touching_intervals_are_inconsistent_at_bound_zero() -> None:
    given = problem(25, {"a": [0, 10], "b": [0, 10]}, channel("c", "a", "b"), apart("c", 0))
    assert not given.bounds().readable(content("c", at(0, 10)))


def test_bounds_bind_on_their_own_channel_only_unless_they_are_slices() -> None:
    bounds = joined(stale("c", 0, 0)).bounds()
    assert not bounds.readable(content("c", at(0, 0)))
    assert bounds.readable(content("d", at(0, 0, 0)))


def test_a_consistency_bound_upstream_binds_its_slice_in_bases_and_contents_downstream() -> None:
    bounds = joined(apart("c", 1)).bounds()
    torn = at(0, 12, 0)  # through c: a at 0 with b at 12
    assert list(bounds.inconsistent("d", torn)) == [Inconsistency("c", 1)]
    assert list(bounds.inconsistent("e", torn)) == [Inconsistency("c", 1)]
    assert not bounds.readable(content("d", torn))
    # entries that did not come through c may differ as they like
    assert list(bounds.inconsistent("d", at(0, 0, 18))) == []


def test_a_slice_does_not_bind_deltas_only_what_they_add_up_to() -> None:
    bounds = joined(apart("c", 1)).bounds()
    torn = Block("d", DELTA, at(0, 12, 18), at(0, 12, 0))
    assert bounds.readable(torn)
    whole = joined(apart("d", 1)).bounds()
    assert not whole.readable(torn)


def test_many_deltas_each_within_the_bound_do_not_add_up_to_content_that_is_not() -> None:
    """Each delta of d is within the bound of c; applied to the old base they mix snapshots of a that are not."""
    step = delta("d", [10, 12, 0], [20, 12, 0])
    made = joined(apart("c", 1), base("d", [0, 10], 12, 0), step)
    mixed = content("d", Provenance([[0.0, 20.0], [12.0], [0.0]]))
    assert not made.bounds().readable(mixed)
    assert "e.i → e: Δ(⟨{10.0}, {12.0}, {0.0}⟩ ▷ ⟨{20.0}, {12.0}, {0.0}⟩)" in shown(one_step(made))


def test_a_channel_used_twice_is_bound_in_both_of_its_slices() -> None:
    twice = (channel("s", "a", "b", "a", "b"), operator("s.b", {"c": "B"}, "s", "B"))
    twice[1]["inputs"].append({"channel": "c", "kinds": ["B"]})
    twice[1]["outputs"][0]["size"] = twice[1]["cost"]["per_operand"] = [1.0, 1.0]
    bounds = joined(*twice, apart("c", 1)).bounds()
    assert list(bounds.inconsistent("s", at(0, 0, 0, 12)))
    assert list(bounds.inconsistent("s", at(0, 12, 0, 0)))
    # the two uses of c may differ from each other
    assert list(bounds.inconsistent("s", at(0, 0, 20, 12))) == []


def test_the_pair_that_starts_at_an_inconsistent_base_is_judged_by_its_target() -> None:
    parts = [apart("d", 1), base("d", 0, 12, 18), delta("d", [0, 12, 18], [20, 12, 18])]
    assert any(m.startswith("e.t") for m in shown(one_step(joined(*parts))))
    assert not any(m.startswith("e.b") for m in shown(one_step(joined(*parts))))


def test_the_next_moment_at_which_a_bound_breaks_is_known() -> None:
    bounds = joined(stale("c", 0, 9), stale("c", 1, 100)).bounds()
    assert bounds.breaks_at("c", at(10, 0)) == 20 + 9
    assert bounds.breaks_at("c", at(20, 0)) == 12 + 100
    assert bounds.breaks_at("c", at(20, 12)) is None  # newest of both: only an arrival can break it
    assert joined().bounds().breaks_at("c", at(0, 0)) is None


snapshots = st.tuples(
    *(st.sets(st.sampled_from(ARRIVALS[i]), min_size=1).map(lambda s: [float(x) for x in s]) for i in ("a", "b", "x"))
)


@given(snapshots, st.integers(0, 30))
def test_bounds_agree_with_the_definitions_of_the_paper(entries: tuple[list[float], ...], bound: int) -> None:
    made, target = joined(stale("d", 0, bound), apart("d", bound)), Provenance(entries)
    lines = [[*map(float, ARRIVALS[i]), 25.0] for i in ("a", "b", "x")]
    ends = [min(line[line.index(s) + 1] for s in entry) for line, entry in zip(lines, entries, strict=True)]
    newest = max(max(e) for e in entries)
    assert (list(made.bounds().stale("d", target)) == []) == (ends[0] + bound >= 25)
    assert (list(made.bounds().inconsistent("d", target)) == []) == (newest < min(ends) + bound)
    assert made.bounds().consistent("d", target) == (newest < min(ends))


@given(snapshots)
def test_the_inconsistency_of_a_block_does_not_grow_with_time(entries: tuple[list[float], ...]) -> None:
    target = Provenance(entries)
    now, later = (problem(n, ARRIVALS, *JOINS).history for n in (25, 1_000))
    inputs = ("a", "b", "x")
    assert later.inconsistency(target, inputs) <= now.inconsistency(target, inputs)
