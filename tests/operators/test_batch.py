"""DESIGN 5: batch."""

from __future__ import annotations

from typing import Any

import pytest

import olston as ol
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, variants

ARRIVALS = {"a": [1, 4], "b": [2, 3]}


def batch(sync: bool, count: int = 2) -> Workflow:
    def function(*tables: Any) -> Any:
        return tables[0]

    wf = ol.Workflow("w")
    sources = [wf.source("a"), wf.source("b")]
    wf.batch("out", [sources[i % 2] for i in range(count)], function, sync=sync)
    return wf


@pytest.mark.parametrize("count", [1, 2, 3])
def test_it_reads_a_base_of_each_input_and_writes_a_base(count: int) -> None:
    assert variants(batch(False, count), "out") == {"batch": " ; ".join("B" * count) + " → B"}
    assert variants(batch(True, count), "out") == {"batch": " ; ".join("B" * count) + " → B, sync"}


def test_entries_are_concatenated_and_sync_asks_for_one_moment() -> None:
    blocks = [base("a", T(1)), base("a", T(4)), base("b", T(2)), base("b", T(3))]
    free = Derived(batch(False), ARRIVALS, blocks)
    assert free.bases("out") == {T(1, 2), T(1, 3), T(4, 2), T(4, 3)}
    assert Derived(batch(True), ARRIVALS, blocks).bases("out") == {T(1, 2), T(1, 3), T(4, 3)}


def test_it_is_never_fed_with_deltas() -> None:
    derived = Derived(batch(False, 1), {"a": [1, 4], "b": []}, [delta("a", "Δ", T(1), T(4))])
    assert derived.made == []
