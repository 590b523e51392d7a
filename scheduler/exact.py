"""The exact planner for small cases: the reference that tests compare the planner with.

Planning is delete-free: blocks, and what consumers hold, are facts that stay true once made;
invocations and deliveries are actions. A plan is a *set* of invocations from which, starting at the
blocks that exist, content within all bounds follows for every due output; its cost is the sum over
the set. `exact` finds the least such cost, in two steps that share nothing with Algorithm 1 but the
enumeration of legal invocations:

1. Every block whose lower bound `h_max` (the dearest chain of invocations that it needs) is within an
   upper bound, with *all* the invocations that make it. No cheaper plan can hold anything else.
2. Branch and bound over disjunctive landmarks (LM-cut, Helmert & Domshlak 2009): of the invocations of
   a landmark every plan has at least one, so its first is taken, or left out and the second taken, and
   so on. Nothing is lost; and since reachability is always decided forwards from what exists, no block
   can support itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from olston.block import Block
from olston.errors import OlstonError
from olston.scheduler.candidates import Candidates
from olston.scheduler.delivery import Deliveries
from olston.scheduler.plan import NO_STEPS, Entry, Invocation, Ledger
from olston.scheduler.problem import Problem
from olston.scheduler.settled import Settled

EXISTING, GOAL = 0, 1
"""The fact that holds from the start, and the one that says that every due output is within its bounds."""

_TINY = 1e-9


class SearchLimitError(OlstonError, RuntimeError):
    """A case too large for the exact planner."""

    code = "TOO_LARGE"

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"more than {limit} {what}: exact planning is for small cases; raise `limit` or use `Solver`.")


@dataclass(frozen=True)
class ExactAnswer:
    """Whether there is a plan, the least cost of one (`inf` if none), and the invocations of one that has it."""

    feasible: bool
    cost: float
    invocations: tuple[Invocation, ...] = ()


def exact(problem: Problem, due: Sequence[str] | None = None, limit: int = 20_000) -> ExactAnswer:
    """The true minimum over all sets of invocations that bring `due` (by default all that is due) within bounds.

    Exact up to rounding. More than `limit` invocations, or nodes of the search, raise `SearchLimitError`.
    """
    graph = _Enumeration(problem, problem.due() if due is None else due).graph(limit)
    if graph is None:
        return ExactAnswer(False, inf)
    steps = _Search(graph, limit).best
    made = (graph.actions[s].invocation for s in sorted(steps))
    return ExactAnswer(True, graph.cost(steps), tuple(i for i in made if i is not None and not i.is_delivery))


@dataclass(slots=True, eq=False)
class Action:
    """An invocation, a chain, or a goal reached: with all facts `needs`, all `gives` hold."""

    cost: float
    needs: tuple[int, ...]
    gives: list[int]
    invocation: Invocation | None = None


class Graph:
    """Facts, by number, and the actions between them."""

    def __init__(self, actions: list[Action], facts: int) -> None:
        self.actions = actions
        self.readers: list[list[int]] = [[] for _ in range(facts)]
        self.makers: list[list[int]] = [[] for _ in range(facts)]
        for a, action in enumerate(actions):
            for fact in action.needs:
                self.readers[fact].append(a)
            for fact in action.gives:
                self.makers[fact].append(a)

    def cost(self, steps: Iterable[int]) -> float:
        return sum(self.actions[s].cost for s in steps)

    def lower_bounds(self, costs: Sequence[float]) -> tuple[list[float], list[int], list[int]]:
        """`h_max` of each fact, an action that attains it, and the dearest need of each action; -1 where unreached."""
        bound, support = [inf] * len(self.readers), [-1] * len(self.readers)
        missing, dearest = [len(a.needs) for a in self.actions], [-1] * len(self.actions)
        bound[EXISTING] = 0.0
        queue = [(0.0, EXISTING)]
        while queue:
            total, fact = heappop(queue)
            if total > bound[fact]:
                continue
            for a in self.readers[fact]:
                missing[a] -= 1
                if missing[a]:
                    continue
                dearest[a], reached = fact, total + costs[a]
                for given in self.actions[a].gives:
                    if reached < bound[given]:
                        bound[given], support[given] = reached, a
                        heappush(queue, (reached, given))
        return bound, support, dearest


def supporters(actions: Sequence[Action], support: Mapping[int, int] | Sequence[int]) -> frozenset[int]:
    """The actions of the plan in which every fact is made as `support` says, back from the goal."""
    steps: set[int] = set()
    border, seen = [GOAL], {EXISTING}
    while border:
        fact = border.pop()
        if fact not in seen:
            seen.add(fact)
            steps.add(support[fact])
            border.extend(actions[support[fact]].needs)
    return frozenset(steps)


class _Unsettled(Settled):
    """Blocks to draw operands from, none of which counts as made, so that every way to make each is enumerated."""

    def __contains__(self, key: tuple[object, ...]) -> bool:
        return False


class _Enumeration:
    """Dijkstra's search by `h_max`, up to the cost of the first plan met.

    An action is found when the last block that it reads is settled, so its own bound is known at once.
    """

    def __init__(self, problem: Problem, due: Sequence[str]) -> None:
        network, ledger = problem.network, Ledger()
        within = frozenset[str]().union(*(network.upstream(channel) for channel in due))
        self._outputs = {(output := network.outputs[channel]).consumer: output for channel in due}
        self._bounds = problem.bounds()
        self._candidates = Candidates(network, self._bounds, ledger, within)
        self._deliveries = Deliveries(self._outputs.values(), problem.holds, self._bounds, ledger)
        self._actions: list[Action] = []
        self._known: dict[object, int] = {}
        self._facts: dict[object, int] = {None: EXISTING, "goal": GOAL}
        self._reached = {EXISTING: 0.0}
        self._support: dict[int, int] = {}
        self._queue: list[tuple[float, int, int, Block | None]] = []
        for block in (b for channel in network.inputs if channel in within for b in problem.blocks.get(channel, ())):
            self._offer(block, 0.0, [None], block.key, block)
        for block in self._deliveries.held():
            self._offer(block, 0.0, [None], block.key, block)

    def graph(self, limit: int) -> Graph | None:
        """All actions that a plan of least cost can hold; `None` if the goal is out of reach."""
        upper, settled, queue = inf, _Unsettled(), self._queue
        while queue and queue[0][0] <= upper * (1 + _TINY):
            total, fact, maker, block = heappop(queue)
            if fact in self._reached:
                continue
            self._reached[fact], self._support[fact] = total, maker
            if block is not None:
                self._settle(block, settled)
            elif fact == GOAL:
                upper = sum(self._actions[s].cost for s in supporters(self._actions, self._support))
            elif all(self._facts.get(consumer) in self._reached for consumer in self._outputs):
                self._offer("goal", 0.0, self._outputs, "goal")
            if len(self._actions) > limit:
                raise SearchLimitError(f"invocations to choose from for {', '.join(self._outputs)}", limit)
        return Graph(self._actions, len(self._facts)) if upper < inf else None

    def _settle(self, block: Block, settled: Settled) -> None:
        entry = Entry(block, NO_STEPS, 0.0)
        settled.add(entry)
        output = self._outputs.get(block.channel)
        if output is not None and next(self._bounds.stale(output.channel, block.target), None) is None:
            self._offer(("within", block), 0.0, [block.key], output.consumer)
        for made in (*self._candidates(entry, settled), *self._deliveries(entry, settled)):
            needs = [operand.block.key for operand in made.operands]
            # chains are no invocations, so the ledger does not tell them apart
            way = (*needs, made.block.key) if made.made_by is None else made.made_by.bit
            self._offer(way, made.cost, needs, made.block.key, made.block, made.made_by)

    def _offer(
        self,
        way: object,
        cost: float,
        needs: Iterable[object],
        gives: object,
        block: Block | None = None,
        invocation: Invocation | None = None,
    ) -> None:
        """Note that `way` makes the fact `gives` from `needs`; an action that makes several is offered for each."""
        a = self._known.setdefault(way, len(self._actions))
        if a == len(self._actions):
            numbers = tuple(dict.fromkeys(self._facts[n] for n in needs))
            self._actions.append(Action(cost, numbers, [], invocation))
        action, fact = self._actions[a], self._facts.setdefault(gives, len(self._facts))
        if fact not in action.gives:
            action.gives.append(fact)
            heappush(self._queue, (cost + max(self._reached[n] for n in action.needs), fact, a, block))


class _Search:
    """Branch and bound over the landmarks of `graph`; `best` is a cheapest set of actions."""

    def __init__(self, graph: Graph, limit: int) -> None:
        self._graph, self._limit, self._nodes = graph, limit, 0
        self.best: frozenset[int] = frozenset()
        self._least = inf
        self._branch(0.0, [a.cost for a in graph.actions])

    def _branch(self, paid: float, costs: list[float]) -> None:
        """Search the plans that hold the actions taken so far (`paid`, now free) and none left out (`inf`)."""
        self._nodes += 1
        if self._nodes > self._limit:
            raise SearchLimitError("nodes of the search", self._limit)
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
        """Disjoint shares of landmarks, as LM-cut finds them; none if no plan here is cheaper than the best."""
        graph, rest = self._graph, list(costs)
        landmarks: list[list[int]] = []
        while True:
            bound, support, dearest = graph.lower_bounds(rest)
            if paid + bound[GOAL] >= self._least - _TINY * (1 + self._least):
                return []
            self._improve(supporters(graph.actions, support))
            if bound[GOAL] == 0:
                # all landmarks at the price of what was taken: if none is left, what was taken is itself a plan
                return landmarks
            cut = self._cut(rest, dearest)
            price = min(rest[s] for s in cut)
            for s in cut:
                rest[s] = rest[s] - price if rest[s] - price > _TINY else 0.0
            paid += price
            landmarks.append(cut)

    def _improve(self, steps: frozenset[int]) -> None:
        cost = self._graph.cost(steps)
        if cost < self._least:
            self.best, self._least = steps, cost

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
                if not zone.isdisjoint(graph.actions[a].gives):
                    cut.append(a)
                    continue
                for given in graph.actions[a].gives:
                    if given not in reached:
                        reached.add(given)
                        border.append(given)
        return cut
