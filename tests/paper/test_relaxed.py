"""DESIGN 3: which deltas may be applied to a base that differs where they do not advance, as the operators say it.

In every case a base at ⟨old, idle⟩ is asked to take a delta that was made beside another state of the idle side.
"""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import DELTA, MONOTONE, Kind, weak
from olston.errors import UnknownNameError
from olston.provenance import Provenance
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, sets

A1, B1, B2, A2 = 1, 2, 3, 4
ARRIVALS = {"a": [A1, A2], "b": [B1, B2]}
RELAXED = sets([A2], [B1, B2])
"""The base ⟨A1, B1⟩ after a delta ⟨A1, B2⟩ ▷ ⟨A2, B2⟩, or the other way round."""


def joined(how: str = "inner", key: str | None = None) -> Workflow:
    wf = ol.Workflow("w")
    wf.source("a", key=key).join("out", wf.source("b"), on="site", how=how)
    return wf


def left_step(wf: Workflow, kind: Kind) -> Derived:
    """`a` advances beside `b` at B2, while the output stands at B1."""
    return Derived(wf, ARRIVALS, [delta("a", kind, T(A1), T(A2)), base("b", T(B2)), base("out", T(A1, B1))])


def test_counterexample_an_asynchronous_join_with_deletions_may_be_applied_exactly_only() -> None:
    """It removes (x, d1, 22) where the base holds (x, d1, 18), and the stale row would stay for ever."""
    derived = left_step(joined(), DELTA)
    assert not derived.block("out", DELTA, T(A1, B2), T(A2, B2)).relaxed
    assert derived.bases("out") == {T(A1, B1)}


def union_of_two() -> tuple[Workflow, ol.Channel]:
    wf = ol.Workflow("w")
    return wf, wf.source("a").union("u", wf.source("b"))


def beside_b1(wf: Workflow, *held: str, kind: Kind = MONOTONE) -> Derived:
    """`a` advances beside a union at ⟨A1, B1⟩, while the channels `held` stand at ⟨A1, B2⟩."""
    blocks = [delta("a", kind, T(A1), T(A2)), base("u", T(A1, B1)), *(base(c, T(A1, B2)) for c in held)]
    return Derived(wf, ARRIVALS, blocks)


def test_counterexample_distinct_of_a_union_may_be_applied_exactly_only() -> None:
    """Base ⟨a1,b2⟩ = {x,y} and Δ(⟨a1,b1⟩ ▷ ⟨a2,b1⟩) = {+y} would give {x,y,y}."""
    wf, union = union_of_two()
    union.distinct("d")
    derived = beside_b1(wf, "d")
    assert not derived.block("d", DELTA, T(A1, B1), T(A2, B1)).relaxed
    assert {t for t in derived.bases("d") if t[1] != {B1}} == {T(A1, B2)}
    assert T(A2, B1) in derived.bases("d"), "exact application stays possible"


@pytest.mark.parametrize("how", ["inner", "left"])
def test_new_rows_through_an_asynchronous_left_join_may_be_applied_relaxed(how: str) -> None:
    derived = left_step(joined(how), MONOTONE)
    assert derived.block("out", MONOTONE, T(A1, B2), T(A2, B2)).relaxed
    assert RELAXED in derived.bases("out")


@pytest.mark.parametrize("how", ["inner", "left"])
def test_replacement_by_a_key_of_the_fresh_side_may_be_applied_relaxed(how: str) -> None:
    kind = weak("replace(url)")
    derived = left_step(joined(how, key="url"), kind)
    assert derived.block("out", kind, T(A1, B2), T(A2, B2)).relaxed
    assert RELAXED in derived.bases("out")


def test_replacement_by_a_key_of_a_fresh_right_side_may_be_applied_relaxed() -> None:
    wf, kind = ol.Workflow("w"), weak("replace(site)")
    wf.source("b").join("out", wf.source("a", key="site"), on="site")
    blocks = [delta("a", kind, T(A1), T(A2)), base("b", T(B2)), base("out", T(B1, A1))]
    derived = Derived(wf, ARRIVALS, blocks)
    assert derived.block("out", kind, T(B2, A1), T(B2, A2)).relaxed
    assert sets([B1, B2], [A2]) in derived.bases("out")


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
def test_a_one_sided_union_may_be_applied_relaxed_even_with_deletions(kind: Kind) -> None:
    wf, _ = union_of_two()
    derived = Derived(wf, ARRIVALS, [delta("a", kind, T(A1), T(A2)), base("u", T(A1, B2))])
    assert derived.block("u", kind, sets([A1], []), sets([A2], [])).relaxed
    assert T(A2, B2) in derived.bases("u")


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
def test_linear_operators_after_a_union_keep_that(kind: Kind) -> None:
    """map, filter, and count as increments."""
    wf, union = union_of_two()
    union.map("m", lambda df: df).filter("f", "x > 1").aggregate("n", by="k", n=ol.count())
    derived = beside_b1(wf, "m", "f", "n", kind=kind)
    for channel, made in (("m", kind), ("f", kind), ("n", weak("increment(k)"))):
        assert derived.block(channel, made, sets([A1], []), sets([A2], [])).relaxed
        assert T(A2, B2) in derived.bases(channel), channel


def not_linear(name: str) -> Workflow:
    wf, union = union_of_two()
    if name == "extract":
        union.extract("out", lambda df: df, key="k", order_by="time")
    else:
        union.aggregate("out", by="k", x=ol.min("v"))
    return wf


@pytest.mark.parametrize("name", ["extract", "min"])
def test_operators_that_are_not_linear_make_deltas_for_one_base_only(name: str) -> None:
    derived = beside_b1(not_linear(name), "out")
    assert {t for t in derived.bases("out") if t[1] != {B1}} == {T(A1, B2)}
    made = [b for b in derived.blocks.values() if b.channel == "out" and not b.is_base]
    assert made, "there is a delta, for exact application"
    assert not any(b.relaxed for b in made)


def test_touched_keys_of_a_left_join_may_be_applied_exactly_only() -> None:
    blocks = [
        base("a", T(A2)), base("b", T(B1)), delta("b", MONOTONE, T(B1), T(B2)), base("out", T(A1, B1)),
    ]  # fmt: skip
    derived = Derived(joined("left"), ARRIVALS, blocks)
    assert not derived.block("out", DELTA, T(A2, B1), T(A2, B2)).relaxed
    assert sets([A1, A2], [B2]) not in derived.bases("out")


def test_new_rows_on_the_right_of_an_inner_join_may_be_applied_relaxed() -> None:
    blocks = [base("a", T(A2)), delta("b", MONOTONE, T(B1), T(B2)), base("out", T(A1, B1))]
    derived = Derived(joined(), ARRIVALS, blocks)
    assert sets([A1, A2], [B2]) in derived.bases("out")


def test_a_difference_of_bases_fits_the_first_base_only() -> None:
    wf = ol.Workflow("w")
    out = wf.source("a").join("out", wf.source("b"), on="k")
    wf.output(out, feed={"Δ"})
    derived = Derived(wf, ARRIVALS, [base("out", T(A1, B2)), base("out", T(A2, B2))])
    assert not derived.block("out", DELTA, T(A1, B2), T(A2, B2)).relaxed


def test_not_being_linear_does_no_harm_before_pathways_meet() -> None:
    """distinct(a) is not linear, but a base of it can differ in nothing else; so its union with b may be relaxed."""
    wf = ol.Workflow("w")
    wf.source("a").distinct("d").union("u", wf.source("b"))
    blocks = [delta("a", DELTA, T(A1), T(A2)), base("d#counts", T(A1)), base("u", T(A1, B2))]
    derived = Derived(wf, ARRIVALS, blocks)
    assert derived.block("d", DELTA, T(A1), T(A2)).relaxed
    assert T(A2, B2) in derived.bases("u")


def test_a_chain_may_be_applied_relaxed_only_if_all_its_links_may() -> None:
    a3 = 5
    arrivals = {"a": [A1, A2, a3], "b": [B1, B2]}
    steps: list[tuple[Kind, Provenance, Provenance]] = [(MONOTONE, T(A1), T(A2)), (DELTA, T(A2), T(a3))]
    blocks = [*(delta("a", *s) for s in steps), base("b", T(B2)), base("out", T(A1, B1))]
    derived = Derived(joined(), arrivals, blocks)
    assert not derived.block("out", DELTA, T(A1, B2), T(a3, B2)).relaxed
    assert derived.bases("out") == {T(A1, B1), RELAXED}
    with pytest.raises(UnknownNameError):
        derived.block("out", MONOTONE, T(A1, B2), T(a3, B2))
