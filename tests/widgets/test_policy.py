"""Policies: how far a widget may recompute."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import olston as ol
from olston.block import MONOTONE, Block
from olston.errors import UnknownNameError, WorkflowError
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import CostModel
from olston.scheduler.decide import Decision, decide
from olston.scheduler.problem import Problem
from olston.timeline import History, Timeline
from olston.widgets.widget import Policy
from tests.derivation import T, base, delta, variants

Place = Callable[[ol.Channel, str], ol.Channel | tuple[ol.Channel, ...]]
PLACES: dict[str, Place] = {
    "map": lambda c, p: c.map("out", lambda df: df, policy=p),
    "flat_map": lambda c, p: c.flat_map("out", lambda df: df, policy=p),
    "filter": lambda c, p: c.filter("out", "x", policy=p),
    "split": lambda c, p: c.split({"out": "x"}, rest="r", policy=p),
    "extract": lambda c, p: c.extract("out", lambda df: df, key="k", policy=p),
    "aggregate": lambda c, p: c.aggregate("out", by="k", n=ol.count(), policy=p),
    "average": lambda c, p: c.aggregate("out", by="k", n=ol.avg("v"), policy=p),
    "distinct": lambda c, p: c.distinct("out", policy=p),
    "join": lambda c, p: c.join("out", c, on="k", policy=p),
    "union": lambda c, p: c.union("out", c, policy=p),
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("policy", [p.value for p in Policy])
def test_every_widget_takes_every_policy(place: Place, policy: str) -> None:
    wf = ol.Workflow("w")
    place(wf.source("s"), policy)
    assert {w.policy for w in wf.widgets.values()} == {Policy(policy)}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_full_leaves_only_variants_that_recompute(place: Place) -> None:
    wf = ol.Workflow("w")
    place(wf.source("s"), "full")
    for channel in wf.channels.values():
        if not channel.is_source:
            found = variants(wf, channel.name)
            assert found
            assert all(v.removesuffix(", sync").endswith("→ B") for v in found.values())


@pytest.mark.parametrize("policy", ["auto", "incremental", "full"])
def test_a_batch_job_takes_all_policies_but_the_one_it_cannot_keep(policy: str) -> None:
    wf = ol.Workflow("w")
    wf.batch("out", [wf.source("s")], lambda df: df, policy=policy)
    assert wf.widgets["out"].policy == policy


def test_incremental_strict_is_refused_where_there_is_only_recomputing() -> None:
    wf = ol.Workflow("w")
    with pytest.raises(WorkflowError, match=r"\[IMPOSSIBLE_POLICY\] out: .*batch has no incremental variant"):
        wf.batch("out", [wf.source("s")], lambda df: df, policy="incremental_strict")


def test_the_least_of_all_rows_is_computed_from_all_rows_and_cannot_be_strict() -> None:
    rows = ol.Workflow("w").source("s")
    with pytest.raises(WorkflowError, match=r"\[IMPOSSIBLE_POLICY\] out: .*aggregate has no incremental variant"):
        rows.aggregate("out", by=[], x=ol.min("v"), policy="incremental_strict")


def test_an_unknown_policy_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="widget 'out'; did you mean 'full'"):
        ol.Workflow("w").source("s").filter("out", "x", policy="ful")


def refreshed(policy: str, *, delta_there: bool = True, first: bool = False) -> Decision:
    """A map at snapshot 1 (or not filled yet) after an arrival at 2; recomputing is by far the cheapest way."""
    wf = ol.Workflow("w")
    out = wf.source("s").map("out", lambda df: df, policy=policy)
    wf.output(out)
    wf.bound_staleness(out, 0, 0)
    costs = CostModel(variants={("out", "incremental"): {"start": 1_000.0}})
    blocks: dict[str, list[Block]] = {"s": [base("s", T(2))], "out": [] if first else [base("out", T(1))]}
    if delta_there:
        blocks["s"] += [base("s", T(1)), delta("s", MONOTONE, T(1), T(2))]
    history = History({"s": Timeline("s", [1, 2])}, 3)
    return decide(Problem(compile_workflow(wf, costs), blocks, history, {"out": None if first else T(1)}))


def steps(decision: Decision) -> list[str]:
    return [str(s.operator) for s in decision.work]


def test_auto_leaves_it_to_cost() -> None:
    assert steps(refreshed("auto")) == ["out.batch"]


def test_full_recomputes() -> None:
    assert steps(refreshed("full")) == ["out.batch"]


@pytest.mark.parametrize("policy", ["incremental", "incremental_strict"])
def test_incremental_policies_do_not_recompute_what_exists_even_where_that_is_cheaper(policy: str) -> None:
    assert steps(refreshed(policy)) == ["out.incremental"]


@pytest.mark.parametrize("policy", ["incremental", "incremental_strict"])
def test_what_does_not_exist_yet_is_filled_by_computing_it(policy: str) -> None:
    assert steps(refreshed(policy, first=True)) == ["out.batch"]


def test_incremental_recomputes_as_a_last_resort() -> None:
    assert steps(refreshed("incremental", delta_there=False)) == ["out.batch"]


def test_incremental_strict_fails_rather_than_recompute() -> None:
    decision = refreshed("incremental_strict", delta_there=False)
    assert not decision.feasible
    assert decision.infeasible is not None
    assert "out" in decision.infeasible.reason


def test_keep_and_version_are_kept_with_the_widget() -> None:
    wf = ol.Workflow("w")
    wf.source("s").map("out", lambda df: df, keep=True, version="2")
    assert (wf.widgets["out"].keep, wf.widgets["out"].version) == (True, "2")
