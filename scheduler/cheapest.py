"""The cheapest set of actions that reaches the goal of a graph, by branch and bound over landmarks.

Disjunctive landmarks as in LM-cut (Helmert & Domshlak 2009): every plan has one of the actions of a
landmark, the first, or not the first but the second, and so on, so nothing is lost. Whether a fact is
reached is always asked forwards from what exists, so no block supports itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from olston.scheduler.alternatives import EXISTING, GOAL, TINY, Graph, supporters


class Cheapest:
    """A set of actions `steps` of least `cost` that reaches the goal of `graph`; unless `cut_short` after `limit`
    nodes, the least of all."""

    def __init__(self, graph: Graph, limit: int) -> None:
        self._graph, self._left = graph, limit
        self.steps: frozenset[int] = frozenset()
        self.cost = inf
        self._branch(0.0, [a.cost for a in graph.actions])

    @property
    def cut_short(self) -> bool:
        return self._left < 0

    def _branch(self, paid: float, costs: list[float]) -> None:
        """Search the plans that hold the actions taken so far (`paid`, now free) and none left out (`inf`)."""
        self._left -= 1
        if self.cut_short:
            return
        landmarks = self._landmarks(paid, costs)
        if not landmarks:
            return
        costs = costs.copy()
        for step in min(landmarks, key=len):
            taken = costs.copy()
            taken[step] = 0.0
            self._branch(paid + costs[step], taken)
            costs[step] = inf

    def _landmarks(self, paid: float, costs: Sequence[float]) -> list[list[int]]:
        """Landmarks of the plans still to be searched; none if no such plan is cheaper than the best so far."""
        graph, rest = self._graph, list(costs)
        landmarks: list[list[int]] = []
        while True:
            bound, support, dearest = graph.lower_bounds(rest)
            if paid + bound[GOAL] >= self.cost * (1 - TINY):
                return []
            self._improve(supporters(graph.actions, support))
            if bound[GOAL] == 0:
                return landmarks
            cut = self._cut(rest, dearest)
            price = min(rest[s] for s in cut)
            for s in cut:
                rest[s] = rest[s] - price if rest[s] - price > TINY else 0.0
            paid += price
            landmarks.append(cut)

    def _improve(self, steps: frozenset[int]) -> None:
        cost = self._graph.cost(steps)
        if cost < self.cost:
            self.steps, self.cost = steps, cost

    def _cut(self, costs: Sequence[float], dearest: Sequence[int]) -> list[int]:
        """The actions that lead, each from its dearest need, into the zone from which the goal is free."""
        graph = self._graph
        zone, border = {GOAL}, [GOAL]
        while border:
            for a in graph.makers[border.pop()]:
                if costs[a] == 0 and dearest[a] >= 0 and dearest[a] not in zone:
                    zone.add(dearest[a])
                    border.append(dearest[a])
        cut: list[int] = []
        reached, border = {EXISTING}, [EXISTING]
        while border:
            fact = border.pop()
            for a in graph.readers[fact]:
                if dearest[a] != fact or costs[a] == inf:
                    continue
                gives = graph.actions[a].gives
                if not zone.isdisjoint(gives):
                    cut.append(a)
                else:
                    border += [f for f in gives if f not in reached]
                    reached.update(gives)
        return cut
