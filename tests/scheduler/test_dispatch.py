"""Steps are begun when what they read is there, independent ones at once, and after a stop none."""

from __future__ import annotations

from olston.block import BASE, DELTA, Block
from olston.operators.signature import BASES, Signature
from olston.provenance import Provenance
from olston.scheduler.dispatch import Dispatch
from olston.scheduler.network import Output, Variant
from olston.scheduler.plan import Invocation

T = Provenance.at


def step(name: str, reads: list[Block], makes: Block) -> Invocation:
    variant = Variant(name, name, Signature((BASES,), BASE), (), (makes.channel,), lambda _: (0.0, (0.0,)))
    return Invocation(variant, tuple(reads), (makes,), 1.0, 1)


def base(channel: str) -> Block:
    return Block(channel, BASE, T(1))


def waves(dispatch: Dispatch) -> list[list[int]]:
    """What is begun together, if everything that was begun finishes before the next look."""
    found = []
    while ready := dispatch.begin():
        found.append(ready)
        for position in ready:
            dispatch.finished(position)
    return found


def test_a_step_waits_for_what_it_reads() -> None:
    a, b, c = base("a"), base("b"), base("c")
    dispatch = Dispatch([step("a", [], a), step("b", [a], b), step("c", [b, a], c)], {})
    assert waves(dispatch) == [[0], [1], [2]]
    assert dispatch.complete
    assert dispatch.ended


def test_independent_steps_are_begun_at_the_same_time_and_once() -> None:
    dispatch = Dispatch([step("a", [], base("a")), step("b", [], base("b"))], {})
    assert dispatch.begin() == [0, 1]
    assert dispatch.begin() == []
    dispatch.finished(1)
    assert dispatch.running == {0}
    assert not dispatch.ended


def test_a_chain_of_deltas_made_by_the_plan_is_waited_for() -> None:
    first, second = Block("a", DELTA, T(2), T(1)), Block("a", DELTA, T(3), T(2))
    chain = Block("a", DELTA, T(3), T(1))
    steps = [step("first", [], first), step("second", [], second), step("reader", [chain], base("b"))]
    assert waves(Dispatch(steps, {})) == [[0, 1], [2]]


def test_what_is_made_within_a_step_is_waited_for_too() -> None:
    a, b = base("a"), base("b")
    inner = step("b", [a], b)
    steps = [step("a", [], a), step("c", [b], base("c"))]
    assert waves(Dispatch(steps, {b.key: inner})) == [[0], [1]]


def test_deliveries_to_one_consumer_come_one_after_the_other() -> None:
    output = Output("o", frozenset({BASE}))
    given = [Block("o", BASE, T(i)) for i in (1, 2, 3)]
    steps = [Invocation(output, (g,), (Block("→o", BASE, g.target),), 0.0, 1) for g in given]
    assert waves(Dispatch(steps, {})) == [[0], [1], [2]]


def test_after_a_stop_what_runs_finishes_and_nothing_is_begun() -> None:
    a, b, c = base("a"), base("b"), base("c")
    dispatch = Dispatch([step("a", [], a), step("b", [], b), step("c", [b], c)], {})
    dispatch.begin()
    dispatch.finished(1)
    dispatch.stop()
    assert dispatch.begin() == []
    assert dispatch.running == {0}
    dispatch.finished(0)
    assert dispatch.ended
    assert not dispatch.complete
