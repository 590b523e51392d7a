"""Steps run when what they read is there, independent ones at the same time, and after a failure none is begun."""

from __future__ import annotations

import threading
import time

import pytest

from olston.block import BASE, DELTA, Block
from olston.errors import StepError
from olston.operators.signature import BASES, Signature
from olston.provenance import Provenance
from olston.scheduler.dispatch import dispatch
from olston.scheduler.network import Output, Variant
from olston.scheduler.plan import Invocation

T = Provenance.at


def step(name: str, reads: list[Block], makes: Block) -> Invocation:
    variant = Variant(name, name, Signature((BASES,), BASE), (), (makes.channel,), lambda _: (0.0, (0.0,)))
    return Invocation(variant, tuple(reads), (makes,), 1.0, 1)


def base(channel: str) -> Block:
    return Block(channel, BASE, T(1))


def test_a_step_waits_for_what_it_reads() -> None:
    order: list[str] = []
    a, b, c = base("a"), base("b"), base("c")
    steps = [step("a", [], a), step("b", [a], b), step("c", [b, a], c)]

    def run(invocation: Invocation) -> None:
        time.sleep(0.01 * (3 - len(order)))
        order.append(str(invocation.operator))

    dispatch(steps, {}, run)
    assert order == ["a", "b", "c"]


def test_independent_steps_run_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=10)

    def run(_: Invocation) -> None:
        together.wait()

    dispatch([step("a", [], base("a")), step("b", [], base("b"))], {}, run)


def test_a_chain_of_deltas_made_by_the_plan_is_waited_for() -> None:
    order: list[str] = []
    first, second = Block("a", DELTA, T(2), T(1)), Block("a", DELTA, T(3), T(2))
    chain = Block("a", DELTA, T(3), T(1))
    steps = [step("first", [], first), step("second", [], second), step("reader", [chain], base("b"))]

    def run(invocation: Invocation) -> None:
        time.sleep(0.02)
        order.append(str(invocation.operator))

    dispatch(steps, {}, run)
    assert order[-1] == "reader"


def test_what_is_made_within_a_step_is_waited_for_too() -> None:
    order: list[str] = []
    a, b = base("a"), base("b")
    inner = step("b", [a], b)
    steps = [step("a", [], a), step("c", [b], base("c"))]

    def run(invocation: Invocation) -> None:
        time.sleep(0.02)
        order.append(str(invocation.operator))

    dispatch(steps, {b.key: inner}, run)
    assert order == ["a", "c"]


def test_deliveries_to_one_consumer_come_one_after_the_other() -> None:
    running: list[int] = []
    most: list[int] = []
    output = Output("o", frozenset({BASE}))
    given = [Block("o", BASE, T(i)) for i in (1, 2, 3)]
    steps = [Invocation(output, (g,), (Block("→o", BASE, g.target),), 0.0, 1) for g in given]

    def run(_: Invocation) -> None:
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()

    dispatch(steps, {}, run)
    assert max(most) == 1


def test_after_a_failure_what_runs_finishes_and_nothing_is_begun() -> None:
    finished: list[str] = []
    a, b = base("a"), base("b")
    failing = threading.Event()

    def run(invocation: Invocation) -> None:
        if str(invocation.operator) == "a":
            failing.set()
            raise StepError("a fails")
        failing.wait(5)
        time.sleep(0.05)
        finished.append(str(invocation.operator))

    with pytest.raises(StepError, match="a fails"):
        dispatch([step("a", [], a), step("b", [], b), step("c", [a, b], base("c"))], {}, run)
    assert finished == ["b"]
