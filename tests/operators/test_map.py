"""DESIGN 5: map, filter, flat_map and split."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import olston as ol
from olston.block import DELTA, MONOTONE, Kind, weak
from tests.derivation import Derived, T, base, delta, variants

STATELESS: dict[str, Callable[[ol.Channel], object]] = {
    "map": lambda c: c.map("out", lambda df: df),
    "flat_map": lambda c: c.flat_map("out", lambda df: df),
    "filter": lambda c: c.filter("out", "x > 1"),
    "split": lambda c: c.split({"out": "x > 1"}, rest="other"),
}
KEEPING_THE_KEY: dict[str, Callable[[ol.Channel], object]] = {
    **STATELESS,
    "map": lambda c: c.map("out", lambda df: df, key="url"),
    "flat_map": lambda c: c.flat_map("out", lambda df: df, key="url"),
}


@pytest.mark.parametrize("place", STATELESS.values(), ids=STATELESS)
def test_the_variants_are_batch_and_incremental(place: Callable[[ol.Channel], object]) -> None:
    wf = ol.Workflow("w")
    place(wf.source("s"))
    assert variants(wf, "out") == {"batch": "B → B", "incremental": "Δ → Δ"}


@pytest.mark.parametrize("place", KEEPING_THE_KEY.values(), ids=KEEPING_THE_KEY)
def test_replacement_passes_where_the_key_is_kept(place: Callable[[ol.Channel], object]) -> None:
    wf = ol.Workflow("w")
    place(wf.source("s", key="url"))
    assert variants(wf, "out") == {
        "batch": "B → B",
        "incremental": "Δ → Δ",
        "replace": "δ_replace(url) → δ_replace(url)",
    }


@pytest.mark.parametrize("kind", [DELTA, MONOTONE, weak("replace(url)")])
@pytest.mark.parametrize("place", KEEPING_THE_KEY.values(), ids=KEEPING_THE_KEY)
def test_the_kind_and_the_step_of_a_delta_are_kept(place: Callable[[ol.Channel], object], kind: Kind) -> None:
    wf = ol.Workflow("w")
    place(wf.source("s", key="url"))
    derived = Derived(wf, {"s": [1, 2]}, [delta("s", kind, T(1), T(2))])
    made = {(m.block.kind, m.block.source, m.block.target) for m in derived.made if m.block.channel == "out"}
    assert (kind, T(1), T(2)) in made


def test_both_outputs_of_a_split_have_the_same_variants() -> None:
    wf = ol.Workflow("w")
    wf.source("s").split({"x": "c"}, rest="y")
    assert variants(wf, "x") == variants(wf, "y")


def test_progress_passes_even_if_no_rows_do() -> None:
    """DESIGN 3: an operator whose output is empty still emits a block with advanced provenance."""
    wf = ol.Workflow("w")
    wf.source("s").filter("out", "false")
    derived = Derived(wf, {"s": [1, 2]}, [base("out", T(1), 0), delta("s", MONOTONE, T(1), T(2), rows=0)])
    assert T(2) in derived.bases("out")
