from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.errors import ProvenanceError
from olston.provenance import Provenance
from olston.timeline import History
from tests.strategies import applications, ascending, histories, provenances, same_width

MON, TUE, WED = 1, 2, 3


def one(*stamps: int) -> Provenance:
    return Provenance([stamps])


def recomputed(t: Provenance) -> Provenance:
    """The same entries, without whatever was remembered about them."""
    return Provenance([frozenset(e) for e in t])


@given(provenances())
def test_no_provenance_precedes_itself(t: Provenance) -> None:
    assert not t.precedes(t)


@given(same_width(2))
def test_the_order_is_asymmetric(pair: tuple[Provenance, Provenance]) -> None:
    first, second = pair
    assert not (first.precedes(second) and second.precedes(first))


@given(same_width(3, latest=3))
def test_the_order_is_transitive(triple: tuple[Provenance, Provenance, Provenance]) -> None:
    first, second, third = triple
    if first.precedes(second) and second.precedes(third):
        assert first.precedes(third)


@given(ascending(4))
def test_along_a_chain_every_earlier_one_precedes_every_later_one_and_never_the_other_way(
    chain: tuple[Provenance, ...],
) -> None:
    for i, first in enumerate(chain):
        for second in chain[i + 1 :]:
            assert first.precedes(second)
            assert not second.precedes(first)


@given(histories())
def test_the_order_compares_both_ends_of_each_entry_as_the_definition_says(
    drawn: tuple[History, tuple[str, ...], tuple[Provenance, Provenance]],
) -> None:
    """No entry is behind in `⁻` or `⁺`, and some entry is ahead in one; empty and non-empty don't compare."""
    history, inputs, (first, second) = drawn
    ahead = False
    for i, (old, new) in enumerate(zip(first, second, strict=True)):
        if not old and not new:
            continue
        if not old or not new:
            assert not first.precedes(second)
            assert not second.precedes(first)
            return
        old_end, new_end = history.entry_end(first, inputs, i), history.entry_end(second, inputs, i)
        assert old_end is not None
        assert new_end is not None
        if new_end < old_end or max(new) < max(old):
            assert not first.precedes(second)
            return
        ahead |= new_end > old_end or max(new) > max(old)
    assert first.precedes(second) == ahead


def test_a_repair_is_progress() -> None:
    assert one(MON, TUE, WED).precedes(one(WED))


def test_an_asynchronous_step_is_progress() -> None:
    assert one(MON).precedes(one(MON, TUE))


def test_what_gains_at_one_end_and_loses_at_the_other_is_no_progress() -> None:
    assert not one(MON, WED).precedes(one(TUE))
    assert not one(TUE).precedes(one(MON, WED))


def test_sets_with_equal_ends_are_not_ordered() -> None:
    assert not one(MON, TUE, WED).precedes(one(MON, WED))
    assert not one(MON, WED).precedes(one(MON, TUE, WED))


def test_empty_against_non_empty_is_incomparable() -> None:
    assert not Provenance([(), (MON,)]).precedes(Provenance([(MON,), (TUE,)]))
    assert not Provenance([(MON,), (MON,)]).precedes(Provenance([(), (TUE,)]))


def test_an_entry_empty_on_both_sides_takes_no_part() -> None:
    assert Provenance([(), (MON,)]).precedes(Provenance([(), (TUE,)]))


def test_one_entry_ahead_does_not_make_up_for_another_behind() -> None:
    assert not Provenance.at(MON, TUE).precedes(Provenance.at(WED, MON))


def test_provenance_of_different_channels_cannot_be_compared() -> None:
    with pytest.raises(ProvenanceError, match="different channels"):
        Provenance.at(1).precedes(Provenance.at(1, 2))


@given(applications())
def test_relaxed_application_agrees_with_the_set_formula(
    drawn: tuple[Provenance, Provenance, Provenance],
) -> None:
    """[2.4]: `T₄[i] = (T₁[i] \\ T₂[i]) ∪ T₃[i]`, computed here on plain sets."""
    held, source, target = drawn
    expected = [(set(a) - set(b)) | set(c) for a, b, c in zip(held, source, target, strict=True)]
    assert held.admits(source, target)
    after = held.apply(source, target)
    assert [set(e) for e in after] == expected
    assert after.oldest == recomputed(after).oldest
    assert after.newest == recomputed(after).newest


@given(same_width(3, latest=2))
def test_a_delta_applies_iff_every_entry_is_equal_in_base_and_source_or_idle(
    triple: tuple[Provenance, Provenance, Provenance],
) -> None:
    held, source, target = triple
    applies = all(a == b or b == c for a, b, c in zip(held, source, target, strict=True))
    assert held.admits(source, target) == applies
    if not applies:
        with pytest.raises(ProvenanceError, match="does not apply"):
            held.apply(source, target)


@given(ascending(2, empty=False))
def test_exact_application_gives_the_target(pair: tuple[Provenance, Provenance]) -> None:
    source, target = pair
    assert source.apply(source, target) == target


def test_a_delta_of_another_channel_does_not_apply() -> None:
    with pytest.raises(ProvenanceError, match="different channels"):
        Provenance.at(1, 2).apply(Provenance.at(1), Provenance.at(2))
    with pytest.raises(ProvenanceError, match="different channels"):
        Provenance.at(1).admits(Provenance.at(1, 2), Provenance.at(2, 3))


@given(provenances(), provenances())
def test_concatenation_keeps_all_entries_in_order(first: Provenance, second: Provenance) -> None:
    both = first + second
    assert list(both) == [*first, *second]
    assert isinstance(both, Provenance)
    assert (both.oldest, both.newest) == (recomputed(both).oldest, recomputed(both).newest)


@given(provenances(), st.data())
def test_a_part_has_the_entries_asked_for(t: Provenance, data: st.DataObject) -> None:
    positions = data.draw(st.lists(st.sampled_from(range(len(t))), min_size=1, unique=True))
    part = t.part(positions)
    assert list(part) == [t[i] for i in positions]
    assert (part.oldest, part.newest) == (recomputed(part).oldest, recomputed(part).newest)


@given(provenances())
def test_provenance_is_a_value(t: Provenance) -> None:
    again = recomputed(t)
    assert again == t
    assert hash(again) == hash(t)
    assert Provenance(t.to_json()) == t


@given(provenances())
def test_ends_are_those_of_the_sets_and_of_an_empty_entry_there_are_none(t: Provenance) -> None:
    assert t.oldest == tuple(min(e) if e else None for e in t)
    assert t.newest == tuple(max(e) if e else None for e in t)
    assert t.has_empty_entry == any(not e for e in t)


def test_at_gives_one_snapshot_to_each_pathway() -> None:
    assert Provenance.at(3, 5) == Provenance([{3}, {5}])


def test_unclaimed_has_an_empty_entry_for_each_pathway() -> None:
    assert list(Provenance.unclaimed(2)) == [frozenset(), frozenset()]


def test_provenance_is_written_as_in_the_paper() -> None:
    assert str(Provenance([[3, 1], []])) == "⟨{1,3}, {}⟩"


def test_provenance_without_entries_is_refused() -> None:
    with pytest.raises(ProvenanceError, match="at least one pathway"):
        Provenance([])


@pytest.mark.parametrize("stamp", [-1, float("nan"), "Mon", None, True])
def test_what_is_no_timestamp_is_refused_with_the_entry_named(stamp: object) -> None:
    with pytest.raises(ProvenanceError, match="entry 1"):
        Provenance([[1], [stamp]])  # type: ignore[list-item]
