"""From workflows to networks."""

from __future__ import annotations

import pytest

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block
from olston.operators.estimate import Statistics
from olston.project import EXAMPLES, find_workflow
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import CostModel, Rates
from olston.scheduler.network import Network, Recompute


def variants(network: Network, prefix: str) -> set[str]:
    return {
        v.name.removeprefix(prefix + ".") for v in network.variants if v.name.startswith(prefix + ".") and v.foreign
    }


def joined(**options: str) -> ol.Workflow:
    wf = ol.Workflow("w")
    wf.output(wf.source("a", "k int").join("c", wf.source("b", "k int"), on="k", **options))
    return wf


def test_a_join_has_all_its_variants_also_the_asynchronous_batch_one() -> None:
    network = compile_workflow(joined())
    assert variants(network, "c") == {"batch", "async_batch", "incremental", "async_left", "async_right"}


def test_a_policy_full_leaves_batch_variants_only() -> None:
    assert variants(compile_workflow(joined(policy="full")), "c") == {"batch", "async_batch"}


@pytest.mark.parametrize(
    ("policy", "recompute"),
    [("auto", Recompute.ALLOWED), ("incremental", Recompute.LAST_RESORT), ("incremental_strict", Recompute.FIRST_FILL)],
)
def test_a_policy_says_when_a_batch_variant_may_recompute(policy: str, recompute: Recompute) -> None:
    network = compile_workflow(joined(policy=policy))
    batch = [v for v in network.variants if v.widget == "c" and v.foreign and not v.signature.incremental]
    assert {v.recompute for v in batch} == {recompute}
    others = [v for v in network.variants if v.signature.incremental]
    assert {v.recompute for v in others} == {Recompute.ALLOWED}


def test_an_aggregate_that_drifts_has_no_increments_either_to_convert_to() -> None:
    wf = ol.Workflow("w")
    sums = wf.source("a", "k int, x double").aggregate("sums", by="k", t=ol.sum("x"))
    wf.output(sums, feed={BASE, DELTA, *(w.kind for w in sums.weak)})
    names = {v.name for v in compile_workflow(wf).variants}
    assert "sums.c.Δδ_increment(k)" in names
    drifting = {v.name for v in compile_workflow(wf, drifting=["sums"]).variants}
    assert not [name for name in drifting if "increment" in name]
    assert "sums.c.Δδ_replace(k)" in drifting


def test_bounds_outputs_and_pathways_are_carried_over() -> None:
    wf, _ = find_workflow("search_preprocessing")
    network = compile_workflow(wf)
    assert network.inputs["output"] == ("pages", "clicks")
    assert network.inputs["pairs#counts"] == ("clicks",)
    assert set(network.outputs) == {"output"}
    assert list(network.staleness) == wf.staleness
    assert list(network.inconsistency) == wf.inconsistency


@pytest.mark.parametrize("name", EXAMPLES)
def test_channels_are_in_topological_order(name: str) -> None:
    network = compile_workflow(find_workflow(name)[0])
    place = list(network.inputs).index
    assert all(place(i) < place(o) for v in network.variants if v.foreign for i in v.inputs for o in v.outputs)


def test_crawl_selection_has_six_pathways() -> None:
    assert compile_workflow(find_workflow("crawl_selection")[0]).inputs["output"] == ("fetches",) * 6


def test_an_n_ary_union_is_a_cascade_through_an_internal_channel() -> None:
    network = compile_workflow(find_workflow("crawl_selection")[0])
    assert "output#1" in network.inputs
    assert network.feeds["output"] == (("output#1", 0), ("adaptive_recrawl", 4))


def test_chaining_is_free_and_not_listed() -> None:
    chains = [v for v in compile_workflow(joined()).variants if v.name.endswith(".chain")]
    assert chains
    step = [
        Block("a", DELTA, Provenance.at(5), Provenance.at(0), 3),
        Block("a", DELTA, Provenance.at(6), Provenance.at(5), 4),
    ]
    for chain in chains:
        assert not chain.listed
        assert chain.price(step) == (0, (7,))


def test_converters_do_not_count_as_reading_from_another_channel() -> None:
    network = compile_workflow(joined())
    assert {v.name for v in network.variants if not v.foreign} >= {"c.c.ΔB", "c.c.BΔ"}
    assert set(network.producers) == {"c"}


def test_weak_representations_bring_their_converters() -> None:
    wf = ol.Workflow("w")
    counts = wf.source("a", "k int").aggregate("n", by="k", c=ol.count())
    wf.output(counts, feed={"B", "Δ"})
    names = {v.name for v in compile_workflow(wf).variants}
    assert {"n.c.δ_increment(k)B", "n.c.δ_increment(k)Δ"} <= names


def test_a_keyed_source_travels_as_replacements() -> None:
    wf = ol.Workflow("w")
    wf.output(wf.source("a", "k int, v int", key="k").filter("f", "v > 0"))
    names = {v.name for v in compile_workflow(wf).variants}
    assert "f.replace" in names


def test_prices_follow_the_cost_model() -> None:
    rates = CostModel(Rates(1, 2, 3, 0, 5), statistics={"m": Statistics(rows=0.5)})
    wf = ol.Workflow("w")
    wf.output(wf.source("a", "k int").map("m", lambda df: df))
    prices = {v.name: v.price for v in compile_workflow(wf, rates).variants}
    assert prices["m.batch"]([Block("a", BASE, Provenance.at(0), rows=100)]) == (1 + 200 + 250, (50,))
    assert prices["m.incremental"]([Block("a", DELTA, Provenance.at(5), Provenance.at(0), 10)]) == (1 + 30 + 25, (5,))


def test_the_price_of_a_delivery_follows_the_cost_model_base_and_delta_apart() -> None:
    model = CostModel(delivery=Rates(start=1, base=10, delta=100, shuffled=0, written=1_000))
    output = compile_workflow(joined(), model).outputs["c"]
    assert output.price(Block("c", BASE, Provenance.at(0, 0), rows=2)) == 1 + 2 * 1_010
    assert output.price(Block("c", DELTA, Provenance.at(1, 1), Provenance.at(0, 0), 2)) == 1 + 2 * 1_100
    assert output.price(Block("c", MONOTONE, Provenance.at(1, 1), Provenance.at(0, 0), 2)) == 1 + 2 * 1_010


def test_what_lies_upstream_is_known() -> None:
    network = compile_workflow(find_workflow("crawl_selection")[0])
    assert network.upstream("indegrees") == {"fetches", "links", "indegrees"}
    assert network.upstream("fetches") == {"fetches"}


def test_a_network_without_a_variant_keeps_everything_else() -> None:
    network = compile_workflow(joined())
    fewer = network.without(["c.batch"])
    assert variants(fewer, "c") == variants(network, "c") - {"batch"}
    assert fewer.outputs == network.outputs
    assert fewer.staleness == network.staleness
