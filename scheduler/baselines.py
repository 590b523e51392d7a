"""The baselines of the paper's evaluation, GREEDY and RANDOM [7.2], for the same interface as `decide`.

Both consider what can be derived directly from existing blocks, after pruning old blocks and forming
compulsory chains, and take a single step at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from olston.scheduler.candidates import Candidates
from olston.scheduler.decide import Decision
from olston.scheduler.delivery import Deliveries
from olston.scheduler.plan import Entry, Ledger
from olston.scheduler.planner import search
from olston.scheduler.problem import Problem
from olston.scheduler.prune import Prunings
from olston.scheduler.settled import Settled
from olston.scheduler.solve import barred

CROWD = 250
"""Blocks at which the baselines give up for the moment: GREEDY's search space grows without end [7.2]."""


def greedy(problem: Problem, *, due: Sequence[str] | None = None) -> Decision:
    """The cheapest single step whose block meets the propagated constraints."""
    return _single_step(problem, due, lambda entries: min(entries, key=lambda e: e.cost))


def random_policy(seed: int = 0) -> Callable[..., Decision]:
    """A policy that takes a single step at random, but a free one if there is one."""
    generator = Random(seed)

    def choose(entries: Sequence[Entry]) -> Entry:
        free = [e for e in entries if e.cost == 0]
        return free[0] if free else generator.choice(entries)

    def decide_at_random(problem: Problem, *, due: Sequence[str] | None = None) -> Decision:
        return _single_step(problem, due, choose)

    return decide_at_random


def _single_step(problem: Problem, due: Sequence[str] | None, choose: Callable[[Sequence[Entry]], Entry]) -> Decision:
    wanted = tuple(problem.due() if due is None else due)
    if not wanted:
        return Decision(wanted)
    if sum(len(blocks) for blocks in problem.blocks.values()) > CROWD:
        return Decision(wanted)
    entries = list(_directly_derived(problem, wanted)) or list(_directly_derived(problem, wanted, last_resort=True))
    if not entries:
        return Decision(wanted)
    chosen = choose(entries)
    assert chosen.made_by is not None
    step = chosen.made_by
    if not step.is_delivery:
        return Decision(wanted, (step,), step.cost)
    delivered = step.operands[-1]
    return Decision(
        wanted,
        (step,),
        step.cost,
        {delivered.channel: chosen.block.target},
        {delivered.channel: (delivered,)},
    )


def _directly_derived(problem: Problem, due: Sequence[str], *, last_resort: bool = False) -> Iterator[Entry]:
    """Every block one invocation away that meets the propagated constraints and does not exist, hidden or not."""
    network, ledger, bounds = problem.network, Ledger(), problem.bounds()
    within = frozenset().union(*(network.upstream(channel) for channel in due))
    pruning = Prunings(("6.2.1", "6.2.2")).start(problem, due, bounds, within)
    candidates = Candidates(network, bounds, ledger, within, barred(problem, last_resort))
    deliveries = Deliveries([network.outputs[o] for o in due], problem.holds, bounds, ledger)
    known = {b.key for channel in within for b in problem.blocks.get(channel, ())}
    found: dict[tuple[object, ...], Entry] = {}

    def block_gen(entry: Entry, settled: Settled) -> Iterator[Entry]:
        for made in (*candidates(entry, settled), *deliveries(entry, settled)):
            if made.made_by is None:
                yield made
            elif (
                made.block.key not in known
                and made.block.key not in problem.hidden
                and (made.block.channel not in within or pruning.scene.meets_demand(made.block))
            ):
                best = found.get(made.block.key)
                if best is None or made.cost < best.cost:
                    found[made.block.key] = made

    search([*pruning.existing(), *deliveries.held()], block_gen, lambda entry: True, lambda entry: False)
    yield from found.values()
