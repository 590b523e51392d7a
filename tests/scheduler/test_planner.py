"""Algorithm 1 on small graphs, apart from operators and bounds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, Block
from olston.provenance import Provenance
from olston.scheduler.plan import NO_STEPS, Entry, Ledger
from olston.scheduler.planner import Queue, search
from olston.scheduler.settled import Settled


def vertex(name: str) -> Block:
    return Block(name, BASE, Provenance.at(0))


def edges(graph: dict[tuple[str, str], float]) -> Callable[[Entry, Settled], Iterator[Entry]]:
    """A `blockGen` that offers every edge out of a vertex, also back to settled ones."""

    def block_gen(entry: Entry, settled: Settled) -> Iterator[Entry]:
        for (start, end), cost in graph.items():
            if start == entry.block.channel and vertex(end).key not in settled.keys:
                yield Entry(vertex(end), NO_STEPS, entry.cost + cost, operands=(entry,))

    return block_gen


def everything(entry: Entry) -> bool:
    return True


def never(entry: Entry) -> bool:
    return False


def costs(settled: Settled) -> dict[str, float]:
    return {e.block.channel: e.cost for e in settled.entries.values()}


def test_every_block_is_settled_at_its_cheapest_plan() -> None:
    graph = {("a", "b"): 10.0, ("a", "c"): 1.0, ("c", "b"): 2.0, ("b", "d"): 1.0}
    assert costs(search([vertex("a")], edges(graph), everything, never)) == {"a": 0, "c": 1, "b": 3, "d": 4}


def test_the_search_ends_although_converters_form_cycles() -> None:
    graph = {("B", "D"): 1.0, ("D", "B"): 0.0, ("B", "w"): 0.0, ("w", "B"): 0.0}
    assert set(costs(search([vertex("B")], edges(graph), everything, never))) == {"B", "D", "w"}


def test_a_settled_block_is_never_settled_again() -> None:
    graph = {("a", "b"): 1.0, ("b", "a"): 0.0, ("b", "c"): 0.0, ("c", "b"): 0.0, ("c", "a"): 0.0}
    seen: list[str] = []

    def note(entry: Entry) -> bool:
        seen.append(entry.block.channel)
        return False

    search([vertex("a")], edges(graph), everything, note)
    assert sorted(seen) == ["a", "b", "c"]


def test_blocks_are_settled_cheapest_first() -> None:
    graph = {("a", "dear"): 9.0, ("a", "cheap"): 1.0, ("cheap", "middle"): 3.0}
    order: list[float] = []

    def note(entry: Entry) -> bool:
        order.append(entry.cost)
        return False

    search([vertex("a")], edges(graph), everything, note)
    assert order == [0, 1, 4, 9]


def test_the_search_stops_once_finished_and_looks_at_nothing_dearer() -> None:
    graph = {("a", "goal"): 1.0, ("a", "dear"): 2.0}
    settled = search([vertex("a")], edges(graph), everything, lambda e: e.block.channel == "goal")
    assert "dear" not in costs(settled)


def test_what_is_not_admitted_when_selected_makes_nothing_possible() -> None:
    graph = {("a", "b"): 1.0, ("b", "c"): 1.0}
    settled = search([vertex("a")], edges(graph), lambda e: e.block.channel != "b", never)
    assert set(costs(settled)) == {"a"}


def test_the_queue_keeps_the_cheaper_of_two_plans_for_a_block() -> None:
    for prices in ((5.0, 3.0), (3.0, 5.0)):
        queue = Queue()
        for price in prices:
            queue.offer(Entry(vertex("a"), NO_STEPS, price))
        assert queue.poll().cost == 3
        assert not queue


def test_the_queue_keeps_the_first_of_two_plans_of_equal_cost() -> None:
    first, second = Entry(vertex("a"), NO_STEPS, 1.0), Entry(vertex("a"), NO_STEPS, 1.0)
    queue = Queue()
    queue.offer(first)
    queue.offer(second)
    assert queue.poll() is first
    assert not queue


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 100)), min_size=1, max_size=30))
def test_the_queue_presents_one_entry_per_block_at_its_least_cost_in_order(offers: list[tuple[int, float]]) -> None:
    queue = Queue()
    for name, cost in offers:
        queue.offer(Entry(vertex(str(name)), NO_STEPS, cost))
    polled = []
    while queue:
        polled.append(queue.poll())
    assert [e.cost for e in polled] == sorted(e.cost for e in polled)
    least = {str(n): min(c for m, c in offers if m == n) for n, _ in offers}
    assert {e.block.channel: e.cost for e in polled} == least
    assert len(polled) == len(least)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), st.floats(0, 9).map(lambda x: round(x, 1))
    )
)
def test_costs_agree_with_relaxation_until_nothing_changes(graph: dict[tuple[str, str], float]) -> None:
    """Bellman and Ford as the independent reference."""
    known = {"a": 0.0}
    for _ in range(7):
        for (start, end), cost in graph.items():
            if start in known:
                known[end] = min(known.get(end, float("inf")), known[start] + cost)
    assert costs(search([vertex("a")], edges(graph), everything, never)) == pytest.approx(known)


def ledger_with(*prices: float) -> tuple[Ledger, list[Entry]]:
    ledger, made = Ledger(), list[Entry]()
    from olston.scheduler.network import Output

    for i, price in enumerate(prices):
        block = vertex(f"c{i}")
        invocation = ledger.invocation(Output(f"c{i}", frozenset({BASE})), (block,), (block,), price)
        made.append(Entry(block, invocation.bit, price, invocation))
    return ledger, made


def test_a_plan_is_a_set_so_a_shared_step_is_paid_once() -> None:
    ledger, (x, y, z) = ledger_with(5.0, 1.0, 2.0)
    left = Entry(y.block, x.plan | y.plan, 6.0)
    right = Entry(z.block, x.plan | z.plan, 7.0)
    plan, cost = ledger.join([left, right])
    assert cost == 8
    assert plan == x.plan | y.plan | z.plan
    assert ledger.cost(plan) == 8


def test_a_step_that_is_free_of_charge_still_counts_in_the_full_cost() -> None:
    ledger, (x, y) = ledger_with(5.0, 1.0)
    ledger.free = x.plan
    assert ledger.charge(x.made_by) == 0  # type: ignore[arg-type]
    assert ledger.charge(y.made_by) == 1  # type: ignore[arg-type]
    assert ledger.cost(x.plan | y.plan) == 6


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=1, max_size=5))
def test_joined_plans_cost_what_their_union_costs(plans: list[set[int]]) -> None:
    prices = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    ledger, steps = ledger_with(*prices)

    def entry(chosen: Iterable[int]) -> Entry:
        plan, cost = NO_STEPS, 0.0
        for i in chosen:
            plan, cost = plan | steps[i].plan, cost + prices[i]
        return Entry(vertex("x"), plan, cost)

    plan, cost = ledger.join([entry(p) for p in plans])
    assert cost == sum(prices[i] for i in set().union(*plans))
    assert ledger.cost(plan) == cost


def test_the_same_operator_on_the_same_operands_is_one_invocation() -> None:
    from olston.scheduler.network import Output

    ledger, operator = Ledger(), Output("c", frozenset({BASE}))
    once = ledger.invocation(operator, (vertex("a"),), (vertex("c"),), 3.0)
    assert ledger.invocation(operator, (vertex("a"),), (vertex("c"),), 3.0) is once
    assert ledger.invocation(operator, (vertex("b"),), (vertex("c"),), 3.0) is not once


def test_deciding_imports_no_spark() -> None:
    script = (
        "import sys, olston.cli, olston.scheduler.decide, olston.scheduler.simulate.compare, olston.scheduler.exact;"
    )
    script += "from olston.project import EXAMPLES, find_workflow; [find_workflow(n) for n in EXAMPLES];"
    script += "sys.exit('pyspark' in sys.modules or 'delta' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", script], check=False, cwd=root).returncode == 0
