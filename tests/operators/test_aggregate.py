"""DESIGN 5: count and sum; avg, var, stddev; min, max and user aggregates; distinct."""

from __future__ import annotations

from typing import Any

import pytest

import olston as ol
from olston.block import DELTA, MONOTONE, Kind, weak
from olston.operators.states import Aggregation
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, variants

INCREMENTS = {"batch": "B → B", "increment": "Δ → δ_increment(k)"}
TOUCHED = {"batch": "B → B", "touched_groups": "B,Δ → δ_replace(k)"}
MAPPED = {"batch": "B → B", "incremental": "Δ → Δ"}


def aggregated(**columns: Any) -> Workflow:
    wf = ol.Workflow("w")
    wf.source("s").aggregate("out", by="k", **columns)
    return wf


@pytest.mark.parametrize(
    "columns", [{"n": ol.count()}, {"x": ol.sum("v")}, {"n": ol.count(), "x": ol.sum("v"), "y": ol.sum("w")}]
)
def test_count_and_sum_travel_as_increments(columns: dict[str, Aggregation]) -> None:
    wf = aggregated(**columns)
    assert variants(wf, "out") == INCREMENTS
    assert list(wf.channels) == ["s", "out"]


@pytest.mark.parametrize("x", [ol.avg("v"), ol.var("v"), ol.stddev("v")])
def test_avg_var_and_stddev_keep_counts_and_sums_on_an_internal_channel_and_map_them(x: Aggregation) -> None:
    wf = aggregated(x=x, n=ol.count())
    assert list(wf.channels) == ["s", "out#sums", "out"]
    assert variants(wf, "out#sums") == INCREMENTS
    assert variants(wf, "out") == MAPPED


@pytest.mark.parametrize("x", [ol.min("v"), ol.max("v"), ol.agg("percentile(v, 0.5)")])
def test_min_max_and_user_aggregates_recompute_the_groups_touched(x: Aggregation) -> None:
    assert variants(aggregated(x=x), "out") == TOUCHED


@pytest.mark.parametrize("x", [ol.min("v"), ol.max("v"), ol.agg("percentile(v, 0.5)")])
def test_of_one_global_row_every_row_is_touched_so_there_is_nothing_but_recomputing(x: Aggregation) -> None:
    wf = ol.Workflow("w")
    wf.source("s").aggregate("out", by=[], x=x)
    assert variants(wf, "out") == {"batch": "B → B"}


def test_one_column_without_increments_makes_all_of_them_recompute_the_groups_touched() -> None:
    assert variants(aggregated(n=ol.count(), x=ol.max("v"), y=ol.avg("v")), "out") == TOUCHED


def test_distinct_is_counts_on_an_internal_channel_and_a_map() -> None:
    wf = ol.Workflow("w")
    wf.source("s").distinct("out")
    assert list(wf.channels) == ["s", "out#counts", "out"]
    assert variants(wf, "out#counts") == {"batch": "B → B", "increment": "Δ → δ_increment(*)"}
    assert variants(wf, "out") == MAPPED


@pytest.mark.parametrize("kind", [DELTA, MONOTONE])
def test_increments_are_made_without_reading_any_base(kind: Kind) -> None:
    derived = Derived(aggregated(n=ol.count()), {"s": [1, 2]}, [delta("s", kind, T(1), T(2))])
    assert [(m.block.kind, m.block.source, m.block.target) for m in derived.by("out.increment")] == [
        (weak("increment(k)"), T(1), T(2))
    ]


def test_touched_groups_read_the_base_before_the_delta() -> None:
    wf = aggregated(x=ol.min("v"))
    alone = Derived(wf, {"s": [1, 2]}, [delta("s", DELTA, T(1), T(2))])
    assert alone.by("out.touched_groups") == []
    both = Derived(wf, {"s": [1, 2]}, [base("s", T(1)), delta("s", DELTA, T(1), T(2))])
    assert {(m.block.kind, m.block.source) for m in both.by("out.touched_groups")} == {(weak("replace(k)"), T(1))}


def test_the_chain_of_distinct_and_count_is_incremental_all_the_way() -> None:
    """Figure 1: new clicks become new counts without recomputing anything."""
    wf = ol.Workflow("w")
    wf.source("clicks").distinct("pairs").aggregate("counts", by="site", users=ol.count())
    held = [base(c, T(1)) for c in ("pairs#counts", "counts")]
    derived = Derived(wf, {"clicks": [1, 2]}, [*held, delta("clicks", MONOTONE, T(1), T(2))])
    assert T(2) in derived.bases("counts")
