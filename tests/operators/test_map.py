"""DESIGN 5: map, filter, flat_map and split."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.block import DELTA, MONOTONE, Kind, weak
from olston.operators.map import Choose
from tests.derivation import Derived, T, base, delta, variants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


def _long_in_python() -> Any:
    from pyspark.sql import functions as F

    return F.udf(lambda text: len(text) > 1, "boolean")("s")


CONDITIONS: dict[str, Callable[[], Any]] = {
    "SQL": lambda: "if(s IS NULL, raise_error('no text'), length(s) > 1)",
    "Python": _long_in_python,
}


@pytest.mark.parametrize("condition", CONDITIONS.values(), ids=CONDITIONS)
def test_conditions_are_not_asked_of_tombstones(spark: SparkSession, condition: Callable[[], Any]) -> None:
    """All but the key of a tombstone may be null, and a condition need not know what to say of that."""
    marked = spark.createDataFrame(
        [(1, "aa", False), (2, None, True), (3, "a", False)], "k int, s string, _deleted boolean"
    )
    long, rest = ({tuple(row) for row in made.collect()} for made in Choose((condition(),), rest=True).rows(marked))
    assert long == {(1, "aa", False), (2, None, True), (3, "a", True)}
    assert rest == {(1, "aa", True), (2, None, True), (3, "a", False)}
