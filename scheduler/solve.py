"""One search for a set of due outputs, planned jointly, and planned again while that makes it cheaper.

Algorithm 1 settles each block at its own cheapest plan. Where plans share steps that is not always
optimal: X costs 5; A is X+1 or 5.5 alone; B is X+1; A ⋈ B is free: 11.5 against 7. So the search is
repeated with the invocations of the best plan so far free of charge, and what is cheaper is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from olston.scheduler.candidates import Candidates
from olston.scheduler.delivery import Deliveries
from olston.scheduler.network import Recompute, Variant
from olston.scheduler.plan import NO_STEPS, Entry, Ledger, Plan
from olston.scheduler.planner import search
from olston.scheduler.problem import Problem
from olston.scheduler.prune import Prunings
from olston.scheduler.settled import Settled


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
        self, problem: Problem, due: Sequence[str], prunings: Prunings, *, last_resort: bool = False
    ) -> None:
        self._problem, self._due, self._prunings = problem, due, prunings
        self._outputs = [problem.network.outputs[channel] for channel in due]
        self._within = frozenset().union(*(problem.network.upstream(channel) for channel in due))
        self._bounds = problem.bounds()
        self._barred = barred(problem, last_resort)
        self._ledger = Ledger()
        self.last: Deliveries | None = None

    def solve(self, replan: bool) -> Solution | None:
        """The best plan found, or `None` if these prunings leave none."""
        best = self._search()
        while best is not None and replan:
            again = self._search(free=best.plan)
            if again is None or again.cost >= best.cost - 1e-9 * (1 + best.cost):
                break
            best = again
        return best

    def _search(self, free: Plan = NO_STEPS) -> Solution | None:
        self._ledger.free = free
        problem = self._problem
        pruning = self._prunings.start(problem, self._due, self._bounds, self._within)
        candidates = Candidates(problem.network, self._bounds, self._ledger, self._within, self._barred)
        deliveries = Deliveries(self._outputs, problem.holds, self._bounds, self._ledger)

        def block_gen(entry: Entry, settled: Settled) -> Iterator[Entry]:
            for made in candidates(entry, settled):
                if pruning.generates(made):
                    yield made
            yield from deliveries(entry, settled)

        existing = [*pruning.existing(), *deliveries.held()]
        search(existing, block_gen, pruning.selects, deliveries.finished)
        self.last = deliveries
        if len(deliveries.goals) < len(self._due):
            return None
        plan = NO_STEPS
        for entry in deliveries.goals.values():
            plan |= entry.plan
        return Solution(self._ledger, plan, self._ledger.cost(plan), deliveries.goals, deliveries)


def barred(problem: Problem, last_resort: bool) -> frozenset[Variant]:
    """The batch variants that policies forbid, since what they make exists already."""
    allowed = (Recompute.ALLOWED, Recompute.LAST_RESORT) if last_resort else (Recompute.ALLOWED,)
    return frozenset(
        v
        for v in problem.network.reluctant
        if v.recompute not in allowed and any(b.is_base for o in v.outputs for b in problem.blocks.get(o, ()))
    )
