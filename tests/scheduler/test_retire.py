"""Retirement: planning loses nothing that it needs, and does not grow with age."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block, weak
from olston.duration import UNITS
from olston.project import EXAMPLES, find_workflow
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import CostModel
from olston.scheduler.decide import Decision, decide
from olston.scheduler.problem import Problem
from olston.scheduler.retire import live
from olston.scheduler.simulate.rates import Arrivals, RatesFile, read_rates
from olston.scheduler.simulate.run import simulate
from olston.scheduler.simulate.world import World
from olston.workflow import Workflow
from tests.scheduler.cases import MAP, base, delta, named, output, problem

HOUR = UNITS["hour"]
T = Provenance.at


def small_workflow(random: Random) -> Workflow:
    """Two or three sources, a few widgets of every sort, one or two outputs with bounds."""
    wf = ol.Workflow("small")
    channels = [wf.source(f"s{i}", "k int, v int") for i in range(random.randint(2, 3))]
    for i in range(random.randint(2, 5)):
        left, right = random.choice(channels), random.choice(channels)
        kind = random.choice(["map", "filter", "aggregate", "min", "distinct", "join", "union", "left", "batch"])
        if len(left.pathways) + len(right.pathways) > 3 and kind in ("join", "union", "left", "batch"):
            kind = "map"
        name = f"c{i}"
        if kind == "map":
            made = left.map(name, lambda df: df)
        elif kind == "filter":
            made = left.filter(name, "v > 0")
        elif kind == "aggregate":
            made = left.aggregate(name, by="k", v=ol.count())
        elif kind == "min":
            made = left.aggregate(name, by="k", v=ol.min("v"))
        elif kind == "distinct":
            made = left.distinct(name)
        elif kind in ("join", "left"):
            made = left.join(name, right, on="k", how="inner" if kind == "join" else "left")
        elif kind == "union":
            made = left.union(name, right)
        else:
            made = wf.batch(name, [left, right], lambda a, b: a)
        channels.append(made)
    derived = [c for c in channels if not c.is_source]
    for channel in {c.name: c for c in (derived[-1], random.choice(derived))}.values():
        wf.output(channel)
        for pathway in channel.pathways:
            if random.random() < 0.7:
                wf.bound_staleness(channel, pathway.index, random.choice(["0 s", "2 hours", "6 hours"]))
        if len(channel.pathways) > 1 and random.random() < 0.5:
            wf.bound_inconsistency(channel, random.choice(["4 hours", "8 hours", "1 day"]))
    return wf


def compare(
    workflow: Workflow, arrivals: dict[str, Arrivals], random: Random, waves: int, costs: CostModel | None = None
) -> tuple[float, float, int, int]:
    """Live through `waves` waves that never retire anything; at each, plan with all blocks and with the live ones.

    Returns the total cost of both, and how many blocks there are and how many of them live at the end.
    """
    world = World(compile_workflow(workflow, costs), workflow, arrivals, whole=False, seed=0)
    total_all = total_live = 0.0
    stamp = 0
    for _ in range(waves):
        stamp += random.randint(1, 3) * HOUR
        world.arrive(sorted(random.sample(list(arrivals), random.randint(1, len(arrivals)))), stamp)
        if random.random() < 0.2:
            world.now += 5 * HOUR
            stamp += 5 * HOUR
        whole = world.problem()
        kept = replace(whole, blocks=live(whole.network, whole.blocks, whole.holds))
        everything, few = decide(whole, replan=False), decide(kept, replan=False)
        assert few.feasible == everything.feasible, few.infeasible and few.infeasible.reason
        if few.infeasible is not None:
            break
        total_all, total_live = total_all + everything.cost, total_live + few.cost
        if random.random() < 0.8:
            world.run(few)
    left = live(world.network, world.blocks, world.holds)
    return total_all, total_live, sum(map(len, world.blocks.values())), sum(map(len, left.values()))


@pytest.mark.parametrize("seed", range(25))
def test_what_is_feasible_with_all_blocks_stays_feasible_with_the_live_ones(seed: int) -> None:
    random = Random(seed)
    workflow = small_workflow(random)
    arrivals = {name: Arrivals(10, HOUR, HOUR, 1_000, random.choice(["append", "delta"])) for name in workflow.sources}
    compare(workflow, arrivals, random, waves=7)


def compare_example(name: str) -> tuple[float, float, int, int]:
    workflow, folder = find_workflow(name)
    rates = read_rates(folder / "rates.toml", workflow)
    return compare(workflow, dict(rates.sources), Random(1), 30, rates.costs)


@pytest.mark.parametrize("name", EXAMPLES)
def test_most_blocks_leave_planning(name: str) -> None:
    _, _, blocks, left = compare_example(name)
    assert left < blocks / 2


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_lose_no_cheaper_plan_by_retirement(name: str) -> None:
    everything, few, _, _ = compare_example(name)
    assert few <= everything * 1.000001


def counted(name: str, weeks: int) -> list[int]:
    workflow, folder = find_workflow(name)
    rates: RatesFile = read_rates(folder / "rates.toml", workflow)
    sizes: list[int] = []

    def policy(given: Problem, due: tuple[str, ...]) -> Decision:
        sizes.append(sum(map(len, given.blocks.values())))
        return decide(given, due=due)

    simulate(workflow, rates, weeks * UNITS["week"], policy=policy)
    return sizes


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_number_of_live_blocks_does_not_grow_with_age(name: str) -> None:
    sizes = counted(name, 2)
    third = len(sizes) // 3
    assert max(sizes[2 * third :]) <= max(sizes[third : 2 * third]) + 2
    assert max(sizes) < 200


def test_a_base_behind_every_frontier_and_a_delta_that_applies_to_nothing_leave_planning() -> None:
    blocks = [
        base("a", 0),
        base("a", 8),
        delta("a", [0], [5]),
        delta("a", [5], [8]),
        base("c", 0),
        delta("c", [0], [5]),
    ]
    given = problem(9, {"a": [0, 5, 8]}, *MAP, output("c", 8), *blocks)
    kept = live(given.network, given.blocks, given.holds)
    assert named(kept["a"]) == ["a: B(⟨{8.0}⟩)"]
    assert "c" not in kept


def test_the_base_that_the_next_increment_of_an_output_needs_stays() -> None:
    """After a MERGE of the strong delta; without the base, the next wave would count all rows anew."""
    wf = ol.Workflow("w")
    counts = wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count())
    wf.output(counts)
    network = compile_workflow(wf)
    old = Block("counts", BASE, T(1))
    increment = Block("counts", weak("increment(k)"), T(2), T(1))
    strong = Block("counts", DELTA, T(2), T(1))
    for held in (T(1), T(2)):
        kept = live(network, {"counts": [old, increment, strong]}, {"counts": held})["counts"]
        assert old in kept
        assert increment in kept


def test_what_feeds_an_output_that_holds_nothing_is_kept() -> None:
    given = problem(9, {"a": [0, 5, 8]}, *MAP, output("c"), base("a", 0), delta("a", [0], [5]), delta("a", [5], [8]))
    kept = live(given.network, given.blocks, given.holds)
    assert decide(replace(given, blocks=kept)).cost == decide(given).cost


def test_what_leads_on_by_deltas_of_several_kinds_only_is_kept() -> None:
    """A source to which rows were first put in place of others and then added, before anything was computed from it:
    another output was refreshed, and no plan could be found any more (a random workflow on Delta, seed 27972021)."""
    wf = ol.Workflow("w")
    wf.output(wf.source("rows", "k string, v int", key="k").map("listed", lambda df: df))
    network = compile_workflow(wf)
    replaced = Block("rows", weak("replace(k)"), T(2), T(1))
    added = [Block("rows", DELTA, T(3), T(2)), Block("rows", MONOTONE, T(4), T(3))]
    again = Block("rows", weak("replace(k)"), T(5), T(4))
    given = [Block("rows", BASE, T(1)), replaced, *added, again]
    kept = live(network, {"rows": given}, {"listed": None})["rows"]
    assert [(b.kind, b.source, b.target) for b in kept] == [
        (BASE, None, T(1)), (replaced.kind, T(1), T(2)), (DELTA, T(2), T(4)), (again.kind, T(4), T(5)),
    ]  # fmt: skip
    same = [Block("rows", replaced.kind, T(5), T(1))]
    assert live(network, {"rows": [*given, *same]}, {"listed": None})["rows"] == [given[0], *same], "one kind does"


def test_the_delta_that_the_next_step_needs_is_kept_and_those_before_it_go() -> None:
    blocks = [base("a", 0), delta("a", [0], [5]), delta("a", [5], [8])]
    given = problem(9, {"a": [0, 5, 8]}, *MAP, output("c", 5), *blocks)
    assert "a: Δ(⟨{5.0}⟩ ▷ ⟨{8.0}⟩)" in named(live(given.network, given.blocks, given.holds)["a"])


def test_retiring_twice_changes_nothing() -> None:
    blocks = [base("a", 0), delta("a", [0], [5]), delta("a", [5], [8]), base("a", 8)]
    given = problem(9, {"a": [0, 5, 8]}, *MAP, output("c", 5), *blocks)
    once = live(given.network, given.blocks, given.holds)
    assert live(given.network, once, given.holds) == once
