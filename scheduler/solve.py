"""One search for a set of due outputs, planned jointly, and improved by what its plan could share.

Algorithm 1 settles each block at its own cheapest plan. Where plans share steps that is not always
optimal: X costs 5; A is X+1 or 5.5 alone; B is X+1; A ⋈ B is free: 11.5 against 7. Planning again with
the invocations of that plan free of charge cannot help by itself, since the plan then costs nothing
and is found again. So the steps that are to be free are found first, among all the alternatives within
the cost of the first plan (`olston.scheduler.cheapest`); where those are too many, each step in turn is left
out with the others free. What is cheaper is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf

from olston.block import Block, laid
from olston.scheduler.alternatives import Alternatives, BlockGen
from olston.scheduler.candidates import Candidates
from olston.scheduler.cheapest import Cheapest
from olston.scheduler.delivery import Deliveries
from olston.scheduler.network import Recompute, Variant
from olston.scheduler.plan import NO_STEPS, Entry, Invocation, Ledger, Plan
from olston.scheduler.planner import search
from olston.scheduler.problem import Problem
from olston.scheduler.prune import Prunings
from olston.scheduler.settled import Settled

LIMIT, GENERATED = 30_000, 400_000
"""How many blocks one search settles, and generates, at most: without prunings, sets of snapshots multiply."""

EXPLORED = 8_000
"""How many it generates at most where the plan is known, and only alternatives to it are looked for."""

EFFORT = 2_000
"""How many invocations are compared, by default, to find the cheapest set of them."""


@dataclass(frozen=True)
class Solution:
    """The cheapest plan found: for each due output the content it ends with."""

    ledger: Ledger
    plan: Plan
    cost: float
    goals: dict[str, Entry]
    deliveries: Deliveries


class Solver:
    """Searches for plans that bring `due` outputs within their bounds, under some prunings."""

    def __init__(
        self,
        problem: Problem,
        due: Sequence[str],
        prunings: Prunings,
        *,
        last_resort: bool = False,
        must_deliver: bool = False,
    ) -> None:
        self._problem, self._due, self._prunings = problem, due, prunings
        self._outputs = [problem.network.outputs[channel] for channel in due]
        self._within = frozenset().union(*(problem.network.upstream(channel) for channel in due))
        self._bounds = problem.bounds()
        self._barred, self._must_deliver = barred(problem, last_resort), must_deliver
        self._ledger = Ledger()
        self.cut_short = False
        """Whether the last search was given up at one of its limits, so that finding no plan proves nothing."""

    def solve(self, replan: bool, effort: int = EFFORT) -> Solution | None:
        """The best plan found, or `None` if these prunings leave none.

        Without `replan` it is the plan of Algorithm 1. With it, the cheapest of all that these prunings
        allow, if no more than `effort` invocations have to be compared; else one no dearer than the first.
        """
        self._ledger.remember = replan
        best = self._search()
        if best is None or not replan or best.cost == 0:
            return best
        steps, proven = self._cheapest(best.cost, effort)
        if steps:
            best = cheaper(best, self._search(free=steps))
        return best if proven else self._exchange(best)

    def explore(self, beyond: int) -> Deliveries:
        """What consumers could be given: Algorithm 1, going on for `beyond` blocks after all outputs are served, but
        no longer than is worth it for who only wants to see."""
        deliveries, existing, block_gen, admits = self._start(NO_STEPS, EXPLORED)
        deliveries.thorough, left = True, beyond

        def enough(entry: Entry) -> bool:
            nonlocal left
            left -= deliveries.finished(entry)
            return left < 0 or self._left < 0

        search(existing, block_gen, admits, enough)
        return deliveries

    def _cheapest(self, upper: float, effort: int) -> tuple[Plan, bool]:
        """The steps of a plan cheaper than `upper`, if one is found, and whether no plan is cheaper still."""
        self._ledger.free = NO_STEPS
        _, existing, block_gen, _ = self._start(NO_STEPS)
        alternatives = Alternatives(existing, block_gen, self._outputs, self._bounds)
        graph = alternatives.below(upper, effort)
        if graph is None:
            return NO_STEPS, False
        cheapest = Cheapest(graph, 1 + 25 * effort // len(graph.actions))
        steps = NO_STEPS
        if cheapest.cost < upper:
            for invocation in graph.invocations(cheapest.steps):
                steps |= invocation.bit
        return steps, not (alternatives.cut_short or cheapest.cut_short)

    def _exchange(self, best: Solution) -> Solution:
        """Replace a step by what costs less, the other steps being free; the dearest first, while that helps."""
        tried: set[tuple[Plan, Plan]] = set()
        while True:
            steps = sorted(self._ledger.steps(best.plan), key=lambda i: -i.cost)
            for step in steps:
                bit = step.bit
                if step.cost == 0 or (best.plan, bit) in tried:
                    continue
                tried.add((best.plan, bit))
                found = cheaper(best, self._search(best.plan & ~bit, bit, step.cost))
                if found is not best:
                    best = found
                    break
            else:
                return best

    def _search(
        self,
        free: Plan = NO_STEPS,
        banned: Plan = NO_STEPS,
        upper: float = inf,
        avoided: frozenset[tuple[object, ...]] = frozenset(),
    ) -> Solution | None:
        """One run of Algorithm 1, up to the cost `upper`, with the invocations in `free` free of charge and without
        those in `banned` and the vertices in `avoided`."""
        self._ledger.free = free
        deliveries, existing, block_gen, admits = self._start(banned, avoided=avoided)
        left = LIMIT

        def enough(entry: Entry) -> bool:
            nonlocal left
            left -= 1
            return deliveries.finished(entry) or entry.cost >= upper or left < 0 or self._left < 0

        search(existing, block_gen, admits, enough)
        self.cut_short = left < 0 or self._left < 0
        if len(deliveries.goals) < len(self._due):
            return None
        plan = NO_STEPS
        for entry in deliveries.goals.values():
            plan |= entry.plan
        in_vain = laid_in_vain(self._ledger.steps(plan))
        if in_vain:
            return self._search(free, banned, upper, avoided | in_vain)
        return Solution(self._ledger, plan, self._ledger.cost(plan), deliveries.goals, deliveries)

    def _start(
        self, banned: Plan, most: int = GENERATED, avoided: frozenset[tuple[object, ...]] = frozenset()
    ) -> tuple[Deliveries, list[Block], BlockGen, Callable[[Entry], bool]]:
        problem, self._left = self._problem, most
        pruning = self._prunings.start(problem, self._due, self._bounds, self._within)
        candidates = Candidates(problem.network, self._bounds, self._ledger, self._within, self._barred)
        deliveries = Deliveries(self._outputs, problem.holds, self._bounds, self._ledger)
        deliveries.must_deliver = self._must_deliver

        def block_gen(entry: Entry, settled: Settled) -> Iterator[Entry]:
            for made in candidates(entry, settled):
                self._left -= 1
                if self._left < 0:
                    return
                if avoided and made.block.vertex in avoided:
                    continue
                if pruning.generates(made) and not (made.made_by is not None and made.made_by.bit & banned):
                    yield made
            yield from deliveries(entry, settled)

        return deliveries, [*pruning.existing(), *deliveries.held()], block_gen, pruning.selects


def laid_in_vain(steps: Iterable[Invocation]) -> frozenset[tuple[object, ...]]:
    """The bases that are laid over another although the plan also writes them whole, which serves all their readers."""
    made = {block.vertex for step in steps for block in step.results}
    return frozenset(v for v in map(laid, made) if v in made)


def cheaper(best: Solution, other: Solution | None) -> Solution:
    """The cheaper of the two; `best` unless the difference is more than rounding."""
    return best if other is None or other.cost >= best.cost - 1e-9 * (1 + best.cost) else other


def barred(problem: Problem, last_resort: bool) -> frozenset[Variant]:
    """The batch variants that policies forbid, since what they make exists already."""
    allowed = (Recompute.ALLOWED, Recompute.LAST_RESORT) if last_resort else (Recompute.ALLOWED,)
    network = problem.network

    def kept(channel: str) -> bool:
        return any(b.is_base for b in problem.blocks.get(channel, ()))

    def held(channel: str) -> bool:
        """Whether its consumer holds it and nothing else has to read it: what is only published cannot be read."""
        content = problem.holds.get(channel)
        given = content is not None and any(stamp for entry in content for stamp in entry)
        return given and channel not in network.read and channel not in network.resumed

    reluctant = (v for v in network.reluctant if v.recompute not in allowed)
    return frozenset(v for v in reluctant if any(map(kept, v.outputs)) or all(map(held, v.outputs)))
