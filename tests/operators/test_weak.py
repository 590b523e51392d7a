"""[2.4]: a user adds a weak representation by giving one converter to it and one from it."""

from __future__ import annotations

from typing import Any

import pytest

import olston as ol
from olston.block import DELTA, Block, weak
from olston.errors import WeakDeltaError
from olston.operators.weak import FROM_BASES, FROM_DELTA, TO_BASE, TO_DELTA, WeakDelta, increment, replace
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta


def convert(*frames: Any) -> Any:
    return frames


ARGUMENTS = {FROM_DELTA: "from_delta", FROM_BASES: "from_bases", TO_BASE: "to_base", TO_DELTA: "to_delta"}
MINIMAL = [(a, b) for a in (FROM_DELTA, FROM_BASES) for b in (TO_BASE, TO_DELTA)]


def representation(*converters: str) -> WeakDelta:
    arguments: dict[str, Any] = {ARGUMENTS[c]: convert for c in converters}
    return WeakDelta("mine", **arguments)


@pytest.mark.parametrize("given", MINIMAL)
def test_one_converter_to_it_and_one_from_it_are_enough(given: tuple[str, str]) -> None:
    assert representation(*given).supplied == set(given)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ((), "from_delta= or from_bases="),
        ((TO_BASE, TO_DELTA), "from_delta= or from_bases="),
        ((FROM_DELTA, FROM_BASES), "to_base= or to_delta="),
        ((FROM_DELTA,), "to_base= or to_delta="),
    ],
)
def test_a_representation_that_cannot_be_made_or_cannot_be_read_is_refused(given: tuple[str, ...], wanted: str) -> None:
    with pytest.raises(WeakDeltaError) as caught:
        representation(*given)
    assert wanted in str(caught.value)
    assert "'mine'" in str(caught.value)


@pytest.mark.parametrize("given", MINIMAL)
def test_the_missing_converters_are_composed_of_those_given_and_the_two_built_in(given: tuple[str, str]) -> None:
    made = representation(*given)
    composed = {
        FROM_DELTA: ("ΔB", FROM_BASES),
        FROM_BASES: ("BΔ", FROM_DELTA),
        TO_BASE: (TO_DELTA, "ΔB"),
        TO_DELTA: (TO_BASE, "BΔ"),
    }
    for converter, route in composed.items():
        assert made.route(converter) == ((converter,) if converter in given else route)
        assert set(made.route(converter)) <= {*given, "ΔB", "BΔ"}


def test_an_unknown_converter_is_refused() -> None:
    with pytest.raises(WeakDeltaError, match="'δδ' is no converter; known: "):
        representation(FROM_DELTA, TO_BASE).route("δδ")


def test_a_representation_needs_a_name_and_a_ratio_above_0() -> None:
    with pytest.raises(WeakDeltaError, match="needs a name"):
        WeakDelta("", from_delta=convert, to_base=convert)
    with pytest.raises(WeakDeltaError, match="above 0"):
        WeakDelta("mine", from_delta=convert, to_base=convert, expand=0)


def with_mine(given: tuple[str, ...], *feed: str) -> Workflow:
    wf = ol.Workflow("w")
    out = wf.source("s").map("out", lambda df: df)
    wf.weak_delta(out, representation(*given))
    wf.output(out, feed=feed)
    return wf


MINE = weak("mine")
ARRIVALS = {"s": [1, 2]}
STEP = (T(1), T(2))


@pytest.mark.parametrize("given", MINIMAL)
def test_the_planner_gets_from_every_kind_to_every_other(given: tuple[str, str]) -> None:
    bases, strong, own = (
        [base("out", T(1)), base("out", T(2))],
        [base("out", T(1)), delta("out", DELTA, *STEP)],
        [base("out", T(1)), delta("out", MINE, *STEP)],
    )
    assert Derived(with_mine(given, MINE), ARRIVALS, bases).block("out", MINE, *STEP)
    assert Derived(with_mine(given, MINE), ARRIVALS, strong).block("out", MINE, *STEP)
    assert Derived(with_mine(given, "B"), ARRIVALS, own).block("out", "B", None, T(2))
    assert Derived(with_mine(given, "Δ"), ARRIVALS, own).block("out", DELTA, *STEP)


def test_a_user_representation_crosses_nothing() -> None:
    wf = ol.Workflow("w")
    source = wf.source("s", key="k")
    wf.weak_delta(source, representation(FROM_DELTA, TO_BASE))
    assert {w.kind for w in source.weak} == {"δ_replace(k)", MINE}
    assert [w.kind for w in source.filter("f", "x > 1").weak] == ["δ_replace(k)"]


def test_a_source_may_arrive_in_a_user_representation() -> None:
    wf = ol.Workflow("w")
    wf.weak_delta(wf.source("s"), representation(FROM_DELTA, TO_DELTA))
    wf.channel("s").map("out", lambda df: df)
    arrived = Block("s", MINE, T(2), T(1))
    derived = Derived(wf, ARRIVALS, [base("s", T(1)), arrived])
    assert derived.block("out", DELTA, *STEP)


def test_replace_and_increment_ship_with_all_converters() -> None:
    every = {FROM_DELTA, FROM_BASES, TO_BASE, TO_DELTA}
    assert replace(["k"]).supplied == every
    assert increment(["k"], ["n"]).supplied == every


def test_where_a_key_has_several_rows_a_strong_delta_does_not_become_a_replacement_directly() -> None:
    made = replace(["url"], unique=False)
    assert made.supplied == {FROM_BASES, TO_BASE, TO_DELTA}
    assert made.route(FROM_DELTA) == ("ΔB", FROM_BASES)


def test_with_an_order_nothing_becomes_a_replacement_since_a_deletion_may_bring_back_a_lesser_one() -> None:
    assert replace(["url"], "time").supplied == {TO_BASE, TO_DELTA}


def test_representations_of_different_keys_or_orders_are_different_kinds() -> None:
    kinds = [replace(["a"]).kind, replace(["a", "b"]).kind, replace(["a"], "t").kind, increment(["a"], ["n"]).kind]
    assert kinds == ["δ_replace(a)", "δ_replace(a,b)", "δ_replace(a; t)", "δ_increment(a)"]
