"""docs/decisions/obscure-deltas.md: where snapshots mix, a delta that fits one base only stays on its channel."""

from __future__ import annotations

from dataclasses import replace

import pytest

import olston as ol
from olston.block import DELTA, Block
from olston.provenance import Provenance
from olston.scheduler.bounds import Bounds
from olston.scheduler.compile import compile_workflow
from olston.scheduler.decide import decide
from olston.scheduler.problem import Problem
from olston.timeline import History, Timeline

MIXED = Provenance((frozenset({10, 20}), frozenset({10, 30})))
REPAIRED = Provenance.at(20, 30)


def problem(delta: Block) -> Problem:
    """A join whose consumer holds what mixes, and a delta that would repair it."""
    wf = ol.Workflow("w")
    out = wf.source("left", "k int").join("out", wf.source("right", "k int"), on="k")
    wf.output(out)
    wf.bound_staleness(out, 0, 0)
    history = History({"left": Timeline("left", (10, 20)), "right": Timeline("right", (10, 30))}, 40)
    return Problem(compile_workflow(wf), {"out": [delta]}, history, {"out": MIXED})


@pytest.mark.parametrize(
    ("delta", "obscure"),
    [
        (Block("out", DELTA, REPAIRED, MIXED, relaxed=False), True),
        (Block("out", DELTA, REPAIRED, MIXED, relaxed=True), False),
        (Block("out", DELTA, REPAIRED, Provenance.at(10, 10), relaxed=False), False),
    ],
)
def test_it_is_the_source_that_mixes_and_the_one_base_that_make_it_so(delta: Block, obscure: bool) -> None:
    assert delta.obscure == obscure
    given = problem(delta)
    assert Bounds(given.network, given.history).readable(delta) != obscure


def test_it_is_not_delivered_where_there_is_content_to_go_wrong() -> None:
    given = problem(Block("out", DELTA, REPAIRED, MIXED, relaxed=False))
    assert given.due() == ("out",)
    assert not decide(given).feasible
    decided = decide(replace(given, network=replace(given.network, wary=False)))
    assert decided.holds_after == {"out": REPAIRED}
