"""DESIGN 5: union."""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import DELTA, MONOTONE, Kind
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, sets, variants

UNION = {
    "batch": "B ; B → B, sync",
    "async_batch": "B ; B → B",
    "incremental": "Δ ; Δ → Δ, sync",
    "async_left": "Δ ; ∅ → Δ",
    "async_right": "∅ ; Δ → Δ",
}
ARRIVALS = {"a": [1, 4], "b": [2, 3], "c": [5, 6]}


def union(names: str = "ab") -> Workflow:
    wf = ol.Workflow("w")
    first, *others = (wf.source(n) for n in names)
    first.union("u", *others)
    return wf


def test_the_variants_of_a_union() -> None:
    assert variants(union(), "u") == UNION


def test_a_union_of_n_is_a_cascade_of_unions_of_two() -> None:
    wf = union("abc")
    assert list(wf.channels) == ["a", "b", "c", "u#1", "u"]
    assert variants(wf, "u#1") == variants(wf, "u") == UNION


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
def test_one_side_alone_leaves_the_entries_of_the_other_empty(kind: Kind) -> None:
    left = Derived(union(), ARRIVALS, [delta("a", kind, T(1), T(4))])
    assert left.block("u", kind, sets([1], []), sets([4], []))
    right = Derived(union(), ARRIVALS, [delta("b", kind, T(2), T(3))])
    assert right.block("u", kind, sets([], [2]), sets([], [3]))


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
@pytest.mark.parametrize("channel", ["a", "b", "c"])
def test_one_side_alone_passes_a_whole_cascade(channel: str, kind: Kind) -> None:
    old, new = ARRIVALS[channel]
    derived = Derived(union("abc"), ARRIVALS, [delta(channel, kind, T(old), T(new)), base("u", T(1, 2, 5))])
    expected = [new if name == channel else t for name, t in zip("abc", (1, 2, 5), strict=True)]
    assert T(*expected) in derived.bases("u")


def test_the_deltas_of_both_sides_together_need_no_base() -> None:
    derived = Derived(union(), ARRIVALS, [delta("a", DELTA, T(1), T(4)), delta("b", MONOTONE, T(2), T(3))])
    assert derived.block("u", DELTA, T(1, 2), T(4, 3))


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
def test_a_one_sided_delta_beside_a_base_is_completed_for_free(kind: Kind) -> None:
    wf = union()
    wf.channel("u").aggregate("m", by="k", x=ol.min("v"))
    derived = Derived(wf, ARRIVALS, [delta("a", kind, T(1), T(4)), base("u", T(1, 3))])
    assert derived.block("u", kind, T(1, 3), T(4, 3))
    assert {m.block.target for m in derived.by("m.touched_groups")} == {T(4, 3)}, "readers of B,Δ pairs can follow"


def test_a_one_sided_delta_is_not_completed_by_a_base_that_stands_elsewhere_on_its_own_side() -> None:
    derived = Derived(union(), ARRIVALS, [delta("a", DELTA, T(1), T(4)), base("u", T(0, 3))])
    assert derived.by("u.complete") == []


def test_what_is_not_one_sided_is_not_completed() -> None:
    derived = Derived(union(), ARRIVALS, [delta("u", DELTA, T(1, 3), T(4, 3)), base("u", T(1, 2))])
    assert derived.by("u.complete") == []
