"""Figure 2 of the paper: conversion among bases, strong and weak deltas, and chaining."""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block, Kind, weak
from olston.operators.chain import Chain
from olston.operators.convert import Apply, ApplyWeak, Complete, Difference, Strengthen, WeakDifference, Weaken
from olston.operators.estimate import Statistics
from olston.operators.operator import Operator
from olston.operators.signature import Relaxed
from olston.operators.weak import replace
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, sets

REPLACE = weak("replace(k)")
FIGURE_2: dict[str, tuple[Operator, str]] = {
    "c.ΔB": (Apply(), "B,Δ → B"),
    "c.BΔ": (Difference(), "B,B → Δ"),
    f"c.{REPLACE}B": (ApplyWeak(replace("k")), f"B,{REPLACE} → B"),
    f"c.{REPLACE}Δ": (Strengthen(replace("k")), f"B,{REPLACE} → Δ"),
    f"c.Δ{REPLACE}": (Weaken(replace("k")), f"Δ → {REPLACE}"),
    f"c.B{REPLACE}": (WeakDifference(replace("k")), f"B,B → {REPLACE}"),
}


@pytest.mark.parametrize(("name", "found"), FIGURE_2.items(), ids=FIGURE_2)
def test_the_six_conversions(name: str, found: tuple[Operator, str]) -> None:
    operator, signature = found
    assert (operator.name, str(operator.signature)) == (name, signature)
    assert not operator.signature.sync


def test_only_weakening_does_without_the_old_base() -> None:
    without = {n for n, (o, _) in FIGURE_2.items() if BASE not in o.signature.reads[0].kinds}
    assert without == {f"c.Δ{REPLACE}"}


@pytest.mark.parametrize("operator", [Difference(), Strengthen(replace("k")), WeakDifference(replace("k"))])
def test_a_delta_made_from_what_a_base_holds_fits_that_base_only(operator: Operator) -> None:
    assert operator.signature.relaxed is Relaxed.NEVER


def joined(*feed: Kind) -> Workflow:
    wf = ol.Workflow("w")
    out = wf.source("a", key="k").join("out", wf.source("b", key="k"), on="k")
    if feed:
        wf.output(out, feed=feed)
    return wf


ARRIVALS = {"a": [1, 4, 5], "b": [2, 3]}


@pytest.mark.parametrize("kind", [DELTA, MONOTONE, REPLACE])
def test_applying_takes_the_delta_relaxed_and_gives_the_union_of_what_differs(kind: Kind) -> None:
    derived = Derived(joined(), ARRIVALS, [base("out", T(1, 2)), delta("out", kind, T(1, 3), T(4, 3))])
    assert derived.bases("out") == {T(1, 2), sets([4], [2, 3])}


@pytest.mark.parametrize("kind", [DELTA, MONOTONE, REPLACE])
def test_a_delta_does_not_apply_where_the_base_differs_in_what_it_advances(kind: Kind) -> None:
    derived = Derived(joined(), ARRIVALS, [base("out", T(5, 2)), delta("out", kind, T(1, 2), T(4, 2))])
    assert derived.bases("out") == {T(5, 2)}


@pytest.mark.parametrize(
    ("old", "new", "made"),
    [
        (T(1, 2), T(4, 3), True),
        (T(4, 3), T(1, 2), False),
        (T(1, 3), T(4, 2), False),
        (T(1, 2), sets([1, 4], [2]), True),
    ],
)
def test_a_difference_leads_forward_only(old: Provenance, new: Provenance, made: bool) -> None:
    derived = Derived(joined(DELTA), ARRIVALS, [base("out", old), base("out", new)])
    found = [(m.block.source, m.block.target) for m in derived.by("out.c.BΔ")]
    assert ((old, new) in found) == made


def test_strengthening_needs_the_base_at_which_the_delta_starts() -> None:
    near = Derived(joined(DELTA), ARRIVALS, [base("out", T(1, 3)), delta("out", REPLACE, T(1, 3), T(4, 3))])
    assert {m.block.kind for m in near.by(f"out.c.{REPLACE}Δ")} == {DELTA}
    far = Derived(joined(DELTA), ARRIVALS, [base("out", T(1, 2)), delta("out", REPLACE, T(1, 3), T(4, 3))])
    assert far.by(f"out.c.{REPLACE}Δ") == []


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [(MONOTONE, MONOTONE, MONOTONE), (MONOTONE, DELTA, DELTA), (DELTA, DELTA, DELTA), (REPLACE, REPLACE, REPLACE)],
)
def test_abutting_deltas_act_as_one(first: Kind, second: Kind, kind: Kind) -> None:
    blocks = (delta("a", first, T(0), T(1), 2), delta("a", second, T(1), T(4), 3))
    derived = Derived(joined(), ARRIVALS, blocks)
    (made,) = (m.block for m in derived.by("chain") if m.operands == blocks)
    assert (made.kind, made.source, made.target, made.rows) == (kind, T(0), T(4), 5)


@pytest.mark.parametrize(
    ("first", "second", "gap"), [(REPLACE, DELTA, 0), (DELTA, REPLACE, 0), (DELTA, DELTA, 1), (REPLACE, REPLACE, 1)]
)
def test_deltas_of_different_kinds_or_with_a_gap_do_not_chain(first: Kind, second: Kind, gap: int) -> None:
    blocks = (delta("a", first, T(0), T(1)), delta("a", second, T(4 if gap else 1), T(5)))
    derived = Derived(joined(), ARRIVALS, blocks)
    assert not any(m.operands == blocks for m in derived.by("chain"))


def test_chaining_and_completing_cost_nothing() -> None:
    wf = ol.Workflow("w")
    wf.source("a").union("u", wf.source("b"))
    by_name = {v.name: v for v in compile_workflow(wf).variants}
    one_sided = delta("u", DELTA, sets([1], []), sets([4], []))
    assert by_name["u.complete"].price([base("u", T(1, 2)), one_sided]) == (0.0, (2,))
    assert by_name["u.chain"].price([one_sided, one_sided])[0] == 0.0
    assert not by_name["u.chain"].listed
    assert (str(Complete().signature), str(Chain(DELTA).signature)) == ("B,Δ → Δ", "Δ,Δ → Δ")


def test_groups_are_expected_to_change_while_there_are_as_many_and_other_rows_are_not() -> None:
    old, new = Block("c", BASE, T(1), rows=20_007), Block("c", BASE, T(2), rows=20_036)
    for operator in (Difference(), WeakDifference(replace("k"))):
        assert operator.estimate([old, new], Statistics()).written[0] <= 29
        assert operator.estimate([old, new], Statistics(groups=20_000)).written[0] > 1_000
        assert operator.estimate([Block("c", BASE, T(0)), new], Statistics(groups=20_000)).written[0] > 10_000


def test_declared_bounds_do_not_bind_on_what_a_converter_reads() -> None:
    variants = compile_workflow(joined(DELTA)).variants
    converters = [v for v in variants if v.inputs == v.outputs]
    assert converters
    assert not any(v.foreign for v in converters)
