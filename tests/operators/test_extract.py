"""DESIGN 5: extract."""

from __future__ import annotations

import olston as ol
from olston.block import DELTA, MONOTONE
from olston.workflow import Workflow
from tests.derivation import Derived, T, delta, variants


def links() -> Workflow:
    wf = ol.Workflow("w")
    wf.source("fetches").extract("links", lambda df: df, key="url", order_by="time")
    return wf


def test_the_variants_are_batch_and_replacement_by_key_and_order() -> None:
    assert variants(links(), "links") == {"batch": "B → B", "incremental": "Δ⁺ → δ_replace(url; time)"}


def test_without_order_by_replacement_is_by_key_alone() -> None:
    wf = ol.Workflow("w")
    wf.source("fetches").extract("links", lambda df: df, key=["site", "page"])
    assert variants(wf, "links")["incremental"] == "Δ⁺ → δ_replace(site,page)"


def test_a_delta_with_deletions_is_not_read_since_an_older_row_might_become_the_newest() -> None:
    new = Derived(links(), {"fetches": [1, 2]}, [delta("fetches", MONOTONE, T(1), T(2))])
    assert [m.block.kind for m in new.by("links.incremental")] == ["δ_replace(url; time)"]
    with_deletions = Derived(links(), {"fetches": [1, 2]}, [delta("fetches", DELTA, T(1), T(2))])
    assert with_deletions.by("links.incremental") == []


def test_a_strong_delta_does_not_show_all_rows_of_a_key_so_none_is_weakened() -> None:
    """One page has many links; a strong delta of them may show some of a page's links only."""
    wf = links()
    wf.output("links", feed={"B", "δ_replace(url; time)"})
    derived = Derived(wf, {"fetches": [1, 2]}, [delta("links", DELTA, T(1), T(2))])
    assert derived.made == []
