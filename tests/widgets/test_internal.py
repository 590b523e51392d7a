"""Internal channels: same pathways as the public one; no bounds, no reads from outside, never published."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import olston as ol
from olston.workflow import Workflow


def two() -> Workflow:
    wf = ol.Workflow("w")
    wf.source("a").join("s", wf.source("b"), on="k")
    return wf


Place = Callable[[ol.Channel], ol.Channel]
NESTED: dict[str, tuple[Place, str]] = {
    "avg": (lambda c: c.aggregate("o", by="k", x=ol.avg("v")), "o#sums"),
    "var": (lambda c: c.aggregate("o", by="k", x=ol.var("v")), "o#sums"),
    "stddev": (lambda c: c.aggregate("o", by="k", x=ol.stddev("v"), n=ol.count()), "o#sums"),
    "distinct": (lambda c: c.distinct("o"), "o#counts"),
}


@pytest.mark.parametrize(("place", "internal"), NESTED.values(), ids=NESTED)
def test_counts_and_sums_live_on_an_internal_channel_with_the_same_pathways(place: Place, internal: str) -> None:
    wf = two()
    public = place(wf.channel("s"))
    inside = wf.channels[internal]
    assert inside.internal
    assert not public.internal
    assert [p.input for p in inside.pathways] == [p.input for p in public.pathways] == ["a", "b"]
    assert [p.name for p in public.pathways] == ["a>s", "b>s"]
    assert internal not in wf.public


@pytest.mark.parametrize(("place", "internal"), NESTED.values(), ids=NESTED)
def test_increments_stay_on_the_internal_channel(place: Place, internal: str) -> None:
    wf = two()
    public = place(wf.channel("s"))
    assert public.weak == ()
    assert wf.channels[internal].weak[0].name.startswith("increment(")


@pytest.mark.parametrize("x", [ol.count(), ol.sum("v"), ol.min("v"), ol.max("v"), ol.agg("first(v)")])
def test_other_aggregates_need_no_internal_channel(x: object) -> None:
    wf = two()
    wf.channel("s").aggregate("o", by="k", x=x)  # type: ignore[arg-type]
    assert [c for c in wf.channels if "#" in c] == []


@pytest.mark.parametrize("count", [2, 3, 5])
def test_a_union_of_n_has_n_minus_2_internal_channels_in_a_cascade(count: int) -> None:
    wf = ol.Workflow("w")
    first, *others = (wf.source(f"s{i}") for i in range(count))
    union = first.union("u", *others)
    internal = [c for c in wf.channels.values() if c.internal]
    assert [c.name for c in internal] == [f"u#{i}" for i in range(1, count - 1)]
    assert [len(c.pathways) for c in (*internal, union)] == list(range(2, count + 1))
    assert union.weak == ()


def test_the_graph_leads_through_internal_channels() -> None:
    wf = ol.Workflow("w")
    a, b, c = (wf.source(n) for n in "abc")
    a.union("u", b, c)
    assert set(wf.graph.edges) == {("a", "u#1"), ("b", "u#1"), ("u#1", "u"), ("c", "u")}
