"""Contents are put together without reading anything: what is checked here is which parts they end up with."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, DELTA, MONOTONE, Block, Kind, weak
from olston.content import MANY, SHUFFLED, TOLD_APART, Anchor, Content, Part, laid_over, run_of, runs, told_apart
from olston.provenance import Provenance

ANCHOR = Anchor("pages/anchors/a0", "a0", rows=10, bytes=100)


def part(attempt: str, kind: Kind = MONOTONE) -> Part:
    return Part("pages/deltas", attempt, kind, rows=2, bytes=20, label=f"the delta {attempt}")


P, Q, R = part("p"), part("q"), part("r", DELTA)
W = part("w", "δ_replace(url)")


def base(*parts: Part) -> Content:
    return Content(ANCHOR, parts)


def delta(*parts: Part) -> Content:
    return Content(None, parts)


def test_a_delta_goes_on_top_of_a_base_and_the_anchor_stays() -> None:
    assert base(P).then(delta(Q, R)) == base(P, Q, R)


def test_abutting_deltas_are_one_list_of_parts() -> None:
    assert delta(P).then(delta(R)).then(delta(W)) == delta(P, R, W)


def test_bases_with_a_common_anchor_differ_by_what_was_put_on_top() -> None:
    assert base(P).until(base(P, Q, R)) == delta(Q, R)


def test_what_the_newer_base_does_not_have_is_taken_back_last_first() -> None:
    assert base(P, Q, R).until(base(P)) == delta(R.inverse(), Q.inverse())


def test_bases_that_are_the_same_differ_by_nothing() -> None:
    assert base(P).until(base(P)) == delta()


def test_the_order_in_which_strong_deltas_were_applied_makes_no_difference() -> None:
    """Two sides of a union advance: left first here, right first there."""
    assert base(P).until(base(Q, P)) == delta(Q)
    assert base(P).then(delta(Q)).until(base(Q, P)) == delta()


def test_bases_with_different_anchors_have_to_be_compared() -> None:
    other = Content(Anchor("pages/anchors/a1", "a1", 10, 100), (P,))
    assert base(P).until(other) is None
    assert Content().until(base(P)) is None


def test_what_a_weak_delta_did_does_not_show_in_the_parts() -> None:
    assert base().until(base(W)) is None
    assert base(W).until(base()) is None
    assert base(W).until(base(W, P)) == delta(P), "what both have in common is passed over"


def test_what_is_taken_back_and_what_was_added_cancel_out() -> None:
    assert base(P, Q).then(delta(P.inverse())) == base(Q)
    assert base(P.inverse()).then(delta(P)) == base()


def test_nothing_cancels_out_across_a_weak_delta_which_may_have_changed_what_was_there() -> None:
    assert base(P, W).then(delta(P.inverse())) == base(P, W, P.inverse())


@given(st.lists(st.integers(0, 30), unique=True, max_size=8), st.lists(st.integers(0, 30), unique=True, max_size=8))
def test_a_difference_applied_to_the_older_base_gives_the_newer_one(old: list[int], new: list[int]) -> None:
    older, newer = (base(*(part(str(n)) for n in numbers)) for numbers in (old, new))
    between = older.until(newer)
    assert between is not None
    assert Counter(older.then(between).parts) == Counter(newer.parts)
    assert older.then(between).anchor == newer.anchor


def test_a_delta_is_monotone_unless_a_part_deletes_or_is_taken_back() -> None:
    assert delta(P, Q).monotone
    assert not delta(P, R).monotone
    assert not delta(P.inverse()).monotone
    assert delta().monotone


def test_taking_back_twice_is_the_part_itself() -> None:
    assert P.inverse().inverse() == P


def test_sizes_and_the_attempts_whose_files_are_needed() -> None:
    found = base(P, R)
    assert (found.bytes, found.overlay_bytes) == (140, 40)
    assert found.attempts == {"a0", "p", "r"}
    assert (Content().bytes, Content().attempts) == (0, frozenset())


def test_an_arrival_is_stamped_in_all_it_consists_of() -> None:
    stamped = base(P, Q).arrived(7)
    assert stamped.anchor is not None
    assert {stamped.anchor.stamp, *(p.stamp for p in stamped.parts)} == {7}
    assert base(P).anchor == ANCHOR, "what was there is not changed"


@given(st.booleans(), st.lists(st.sampled_from([P, Q, R, W, P.inverse(), delta(R).arrived(3).parts[0]]), max_size=5))
def test_a_content_survives_being_written_down(anchored: bool, parts: list[Part]) -> None:
    content = Content(ANCHOR if anchored else None, tuple(parts))
    assert Content.from_dict(json.loads(json.dumps(content.to_dict()))) == content


def test_what_only_adds_rows_below_all_deletions_is_read_apart() -> None:
    assert [kept for _, kept in runs((P, Q, R, P, W, P))] == [(P, Q), (R, P), (W,), (P,)]
    assert [kept for _, kept in runs((P, Q, R), lambda part: part == P)] == [(P,), (Q, R)]


def test_errors_call_a_few_parts_by_their_names_and_many_by_the_first_and_the_last() -> None:
    named = [Part("d", f"a{i}", DELTA, 1, 1, f"delta {i}") for i in range(5)]
    assert Content(ANCHOR).label == ""
    assert delta(*named[:3]).label == "delta 0; delta 1; delta 2"
    assert delta(*named).label == "one of those from delta 0 to delta 4"


@pytest.mark.parametrize(("few", "many"), [(100_000, 125_001), (MANY, MANY + 1)])
def test_changes_that_are_many_are_expected_to_shuffle_what_they_lie_on(few: int, many: int) -> None:
    """Many of all, or too many to be sent around; whether they lie there already or are planned to."""
    rows = 1_000_000 if few < MANY else 10 * MANY

    def lying(changes: int) -> float:
        overlaid = Part("t", "b", weak("increment(k)"), changes, 1, "b")
        return Content(Anchor("t", "a", rows, 1), (overlaid,)).overlay

    def planned(changes: int) -> float:
        below = Block("c", BASE, Provenance.at(1), rows=rows)
        over = Block("c", weak("increment(k)"), Provenance.at(2), Provenance.at(1), rows=changes)
        return laid_over(below, over)

    for overlay in (lying, planned):
        assert rows < overlay(few) < 2 * rows < SHUFFLED * rows < overlay(many)


def test_changes_of_another_kind_are_looked_up_apart_and_read_what_lies_below_twice() -> None:
    """As they lie and as they are planned: increments, deletions over them, and increments over those."""
    kinds, rows = [weak("increment(k)"), weak("increment(k)"), DELTA, weak("increment(k)")], 1_000_000
    content, planned = Content(Anchor("t", "a", rows, 1)), Block("c", BASE, Provenance.at(1), rows=rows)
    seen = []
    for i, kind in enumerate(kinds):
        content = content.then(Content(None, (Part("t", f"b{i}", kind, 1_000, 1, "b"),)))
        delta = Block("c", kind, Provenance.at(i + 2), Provenance.at(i + 1), rows=1_000)
        overlay = laid_over(planned, delta)
        planned = Block("c", BASE, delta.target, rows=rows, overlay=overlay)
        planned.over = run_of(kind)
        assert overlay == pytest.approx(content.overlay, rel=0.02)
        assert content.over == planned.over
        seen.append(overlay)
    one, two, deleted, again = seen
    assert two < 1.1 * one
    assert deleted > 2.9 * one
    assert again > 6.9 * one


@given(st.integers(0, 500))
def test_errors_tell_so_many_parts_apart_and_no_more(count: int) -> None:
    parts = [part(str(i)) for i in range(count)]
    apart = told_apart(parts)
    assert [p for some in apart for p in some] == parts
    assert len(apart) == min(count, TOLD_APART)
    assert {len(some) for some in apart} <= {count // TOLD_APART, count // TOLD_APART + 1}


def test_rows_are_known_unread_where_nothing_can_cancel_anything() -> None:
    anchor = Anchor("t", "a", 5, 1)
    plain, weighted = (Part("t", "b", MONOTONE, 2, 1, "b", plain=p) for p in (True, False))
    assert [Content(anchor).counted, Content(None, (weighted,)).counted, Content().counted] == [5, 2, 0]
    assert Content(anchor, (plain, plain)).counted == 9
    assert Content(anchor, (weighted,)).counted is None
    assert Content(anchor, (plain.inverse(),)).counted is None
