"""DESIGN 5: join, inner and left."""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Kind, weak
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, variants

BATCH = {"batch": "B ; B → B, sync", "async_batch": "B ; B → B"}
INNER = {**BATCH, "incremental": "B,Δ ; B,Δ → Δ, sync", "async_left": "Δ ; B → Δ", "async_right": "B ; Δ → Δ"}
LEFT = {**INNER, "async_right": "B ; B,Δ → Δ"}


def joined(how: str = "inner", left: str | None = None, right: str | None = None) -> Workflow:
    wf = ol.Workflow("w")
    wf.source("a", key=left).join("out", wf.source("b", key=right), on="site", how=how)
    return wf


def test_the_variants_of_an_inner_join() -> None:
    assert variants(joined(), "out") == INNER


def test_the_variants_of_a_left_join_recompute_touched_keys_on_the_right() -> None:
    assert variants(joined("left"), "out") == LEFT


def test_replacement_by_a_key_passes_on_either_side_of_an_inner_join() -> None:
    assert variants(joined(left="url", right="site"), "out") == {
        **INNER,
        "replace_left": "δ_replace(url) ; B → δ_replace(url)",
        "replace_right": "B ; δ_replace(site) → δ_replace(site)",
    }


def test_replacement_passes_on_the_left_of_a_left_join_only() -> None:
    """A right-hand row that goes leaves a row behind: replacement by its key would lose it."""
    found = variants(joined("left", left="url", right="site"), "out")
    assert found == {**LEFT, "replace_left": "δ_replace(url) ; B → δ_replace(url)"}


ARRIVALS = {"a": [1, 4], "b": [2, 3]}


@pytest.mark.parametrize("kind", [DELTA, MONOTONE, weak("replace(url)")])
def test_the_left_alone_meets_what_the_right_holds(kind: Kind) -> None:
    derived = Derived(joined(left="url"), ARRIVALS, [delta("a", kind, T(1), T(4)), base("b", T(3))])
    made = derived.block("out", kind, T(1, 3), T(4, 3))
    assert not made.is_base


@pytest.mark.parametrize("kind", [DELTA, MONOTONE, weak("replace(site)")])
def test_the_right_alone_meets_what_the_left_holds(kind: Kind) -> None:
    derived = Derived(joined(right="site"), ARRIVALS, [base("a", T(1)), delta("b", kind, T(2), T(3))])
    assert derived.block("out", kind, T(1, 2), T(1, 3))


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
def test_in_a_left_join_a_new_match_deletes_the_row_without_one(kind: Kind) -> None:
    blocks = [base("a", T(1)), base("b", T(2)), delta("b", kind, T(2), T(3))]
    derived = Derived(joined("left"), ARRIVALS, blocks)
    assert {m.block.kind for m in derived.by("out.async_right")} == {DELTA}


@pytest.mark.parametrize(("how", "kind"), [("inner", MONOTONE), ("left", DELTA)])
def test_new_rows_on_both_sides_of_a_left_join_delete_and_of_an_inner_join_do_not(how: str, kind: Kind) -> None:
    blocks = [base("a", T(1)), delta("a", MONOTONE, T(1), T(4)), base("b", T(2)), delta("b", MONOTONE, T(2), T(3))]
    derived = Derived(joined(how), ARRIVALS, blocks)
    made = {
        (m.block.kind, m.block.source, m.block.target)
        for m in derived.by("out.incremental")
        if {b.kind for b in m.operands} == {BASE, MONOTONE}
    }
    assert made == {(kind, T(1, 2), T(4, 3))}


def test_both_sides_may_be_one_channel() -> None:
    wf = ol.Workflow("w")
    a = wf.source("a")
    a.join("out", a, on="k")
    derived = Derived(wf, {"a": [1, 2]}, [base("a", T(1)), delta("a", MONOTONE, T(1), T(2))])
    assert {T(1, 1), T(2, 2), T(1, 2), T(2, 1)} <= derived.bases("out")
    assert {m.block.target for m in derived.by("out.incremental")} == {T(2, 2)}


def test_what_changes_on_the_right_supersedes_by_a_key_that_is_unique_there() -> None:
    wf = ol.Workflow("w")
    scores = wf.source("b").aggregate("scores", by="site", n=ol.count())
    wf.source("a").join("out", scores, on="site")
    assert variants(wf, "out") == {**INNER, "supersede_right": "B ; Δ → δ_replace(site)"}
    derived = Derived(wf, ARRIVALS, [base("a", T(1)), delta("scores", DELTA, T(2), T(3))])
    assert derived.block("out", weak("replace(site)"), T(1, 2), T(1, 3))
    wf.channel("a").join("left", scores, on="site", how="left")
    assert "supersede_right" not in variants(wf, "left"), "there a row without a match is left behind"
    wf.channel("a").join("narrow", scores, on=["site", "n"])
    assert "supersede_right" in variants(wf, "narrow")
    wf.channel("a").join("wide", scores, on="n")
    assert "supersede_right" not in variants(wf, "wide"), "several sites may have one number"
