"""What can be said of a workflow before anything arrives."""

from __future__ import annotations

from typing import Any

import pytest

import olston as ol
from olston.project import EXAMPLES, find_workflow
from olston.scheduler.solve import Solver


def same(frame: object) -> object:
    return frame


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_in_order(name: str) -> None:
    assert find_workflow(name)[0].check() == []


def test_an_output_without_a_staleness_bound_is_filled_once_and_check_says_so() -> None:
    wf = ol.Workflow("w")
    wf.output(wf.source("a").map("b", same))
    assert [r for r in wf.check() if "'b'" in r and "filled once" in r]


def test_a_workflow_without_outputs_will_never_run_and_check_says_so() -> None:
    wf = ol.Workflow("w")
    wf.source("a").map("b", same)
    assert [r for r in wf.check() if "no output" in r]


def test_channels_that_feed_nothing_are_named() -> None:
    wf = ol.Workflow("w")
    a, _ = wf.source("a"), wf.source("idle")
    a.map("unused", same)
    wf.output(a.map("b", same))
    wf.bound_staleness("b", 0, 0)
    remarks = wf.check()
    assert "channel 'idle' feeds no output, so it will never be read." in remarks
    assert "channel 'unused' feeds no output, so it will never be made." in remarks


def test_promises_that_no_plan_can_keep_are_refused_at_definition_with_bound_or_widget_named() -> None:
    wf = ol.Workflow("w")
    counts = wf.source("a").aggregate("counts", by="k", n=ol.count())
    wf.output(counts, feed={"Δ⁺"})
    wf.bound_staleness(counts, 0, 0)
    with pytest.raises(ol.InfeasibleError, match="'counts'"):
        wf.check()


def test_strict_policies_with_strict_consistency_can_be_kept_where_a_synchronous_variant_exists() -> None:
    wf = ol.Workflow("w")
    joined = wf.source("a").join("j", wf.source("b"), on="k", policy="incremental_strict")
    wf.output(joined)
    wf.bound_staleness(joined, 0, 0)
    wf.bound_inconsistency(joined, 0)
    assert wf.check() == []


def test_whether_promises_can_be_kept_is_asked_without_looking_for_the_cheapest_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def dear(*_: Any) -> None:
        raise AssertionError("with many outputs that takes minutes")

    monkeypatch.setattr(Solver, "_cheapest", dear)
    wf = ol.Workflow("w")
    for number in range(3):
        made = wf.source(f"a{number}").map(f"b{number}", same)
        wf.output(made)
        wf.bound_staleness(made, 0, 0)
    assert wf.check() == []
