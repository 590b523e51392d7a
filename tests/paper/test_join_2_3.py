"""Sections 2.3 and 2.4: the delta blocks of the asynchronous join of Tables 1 to 3, and the bases made with them."""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import DELTA, MONOTONE, Block
from olston.provenance import Provenance
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, sets

SUN3PM, MON1AM, MON8AM, TUE1AM, TUE11AM, TUE5PM, WED1AM, WED2PM = range(1, 9)
ARRIVALS = {"crawl": [SUN3PM, MON8AM, TUE11AM, TUE5PM, WED2PM], "scores": [MON1AM, TUE1AM, WED1AM]}
DELTAS = [
    (T(SUN3PM, MON1AM), T(MON8AM, MON1AM)),
    (T(MON8AM, TUE1AM), T(TUE11AM, TUE1AM)),
    (T(TUE11AM, TUE1AM), T(TUE5PM, TUE1AM)),
    (T(TUE5PM, WED1AM), T(WED2PM, WED1AM)),
]
BASES = [
    sets([MON8AM], [MON1AM]),
    sets([TUE11AM], [MON1AM, TUE1AM]),
    sets([TUE5PM], [MON1AM, TUE1AM]),
    sets([WED2PM], [MON1AM, TUE1AM, WED1AM]),
]


def crawl_and_scores() -> Workflow:
    wf = ol.Workflow("w")
    wf.source("crawl").join("output", wf.source("scores"), on="site")
    return wf


@pytest.mark.parametrize(("source", "target"), DELTAS)
def test_the_four_delta_blocks_of_the_asynchronous_join(source: Provenance, target: Provenance) -> None:
    new_pages = delta("crawl", MONOTONE, source.part([0]), target.part([0]))
    derived = Derived(crawl_and_scores(), ARRIVALS, [new_pages, base("scores", target.part([1]))])
    (made,) = derived.by("output.async_left")
    assert made.block == Block("output", MONOTONE, target, source)


def test_the_four_base_blocks_they_add_up_to() -> None:
    steps = [delta("output", MONOTONE, source, target) for source, target in DELTAS]
    derived = Derived(crawl_and_scores(), ARRIVALS, [base("output", T(SUN3PM, MON1AM)), *steps])
    held = T(SUN3PM, MON1AM)
    for step, expected in zip(steps, BASES, strict=True):
        held = held.apply(step.source or held, step.target)
        assert held == expected
        assert derived.block("output", "B", None, expected)
    assert [derived.history.consistent(t, ("crawl", "scores")) for t in BASES] == [True, False, False, False]


def test_the_synchronous_join_gives_the_deltas_of_table_2() -> None:
    """After Mon 8am the next consistent step takes in both new pages and new scores, as Table 2 shows at Tue 11am."""
    blocks = [
        base("crawl", T(MON8AM)), delta("crawl", MONOTONE, T(MON8AM), T(TUE11AM)),
        base("scores", T(MON1AM)), delta("scores", DELTA, T(MON1AM), T(TUE1AM)),
    ]  # fmt: skip
    derived = Derived(crawl_and_scores(), ARRIVALS, blocks)
    made = {m.block for m in derived.by("output.incremental")}
    assert made == {Block("output", DELTA, T(TUE11AM, TUE1AM), T(MON8AM, MON1AM))}


def test_the_synchronous_join_refuses_a_step_that_does_not_end_consistent() -> None:
    blocks = [
        base("crawl", T(MON8AM)), delta("crawl", MONOTONE, T(MON8AM), T(TUE5PM)),
        base("scores", T(MON1AM)), delta("scores", DELTA, T(MON1AM), T(WED1AM)),
    ]  # fmt: skip
    derived = Derived(crawl_and_scores(), {**ARRIVALS, "crawl": [SUN3PM, MON8AM, TUE5PM, WED1AM]}, blocks)
    assert derived.by("output.incremental") == []


def test_the_synchronous_join_refuses_a_step_that_does_not_start_consistent() -> None:
    blocks = [
        base("crawl", T(SUN3PM)), delta("crawl", MONOTONE, T(SUN3PM), T(TUE11AM)),
        base("scores", T(TUE1AM)), delta("scores", DELTA, T(TUE1AM), T(WED1AM)),
    ]  # fmt: skip
    derived = Derived(crawl_and_scores(), {"crawl": [SUN3PM, MON8AM, TUE11AM], "scores": [TUE1AM, WED1AM]}, blocks)
    assert derived.by("output.incremental") == []
