"""The cheapest plan of all, where the case is small enough to prove it.

Planning is delete-free: blocks, and what consumers hold, are facts that stay true once made; invocations
and deliveries are actions. A plan is a *set* of invocations from which, starting at the blocks that
exist, content within all bounds follows for every due output; its cost is the sum over the set.
The least cost is found in two steps that share nothing with Algorithm 1 but `blockGen`:

1. `Alternatives`: every block whose lower bound `h_max` (the dearest chain of invocations that it needs)
   leaves room below an upper bound, with *all* invocations that make it. A cheaper plan holds nothing else.
2. `Cheapest`: branch and bound over disjunctive landmarks (LM-cut, Helmert & Domshlak 2009). Every plan has
   one of the invocations of a landmark: the first, or not the first but the second, and so on, so nothing
   is lost. Whether a fact is reached is always asked forwards from what exists, so no block supports itself.

`exact` is the reference in tests; `olston.scheduler.solve` uses the same two steps, within limits, to
find what plans could share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TypeAlias

from olston.block import Block
from olston.errors import OlstonError
from olston.scheduler.bounds import Bounds
from olston.scheduler.candidates import Candidates
from olston.scheduler.delivery import Deliveries
from olston.scheduler.network import Output
from olston.scheduler.plan import NO_STEPS, Entry, Invocation, Ledger
from olston.scheduler.planner import search
from olston.scheduler.problem import Problem
from olston.scheduler.settled import Settled

BlockGen: TypeAlias = Callable[[Entry, Settled], Iterable[Entry]]

EXISTING, GOAL = 0, 1
"""The fact that holds from the start, and the one that every due output is within its bounds."""

_TINY = 1e-9


class SearchLimitError(OlstonError, RuntimeError):
    """A case too large for the exact planner."""

    code = "TOO_LARGE"


@dataclass(frozen=True)
class ExactAnswer:
    """Whether there is a plan, the least cost of one (`inf` if none), and the invocations of one that has it."""

    feasible: bool
    cost: float
    invocations: tuple[Invocation, ...] = ()


def exact(problem: Problem, due: Sequence[str] | None = None, limit: int = 20_000) -> ExactAnswer:
    """The minimum over all sets of invocations that bring `due` (by default all that is due) within bounds.

    Exact up to rounding, and for blocks whose size does not depend on how they were made; a block that can
    be made in several sizes counts with that of the way met first. Policies of widgets are not looked at.
    Raises `SearchLimitError` rather than look at more than `limit` invocations or nodes.
    """
    due = problem.due() if due is None else due
    if not due:
        return ExactAnswer(True, 0.0)
    network, bounds, ledger = problem.network, problem.bounds(), Ledger()
    within = frozenset[str]().union(*(network.upstream(channel) for channel in due))
    outputs = [network.outputs[channel] for channel in due]
    candidates = Candidates(network, bounds, ledger, within)
    deliveries = Deliveries(outputs, problem.holds, bounds, ledger)

    def block_gen(entry: Entry, settled: Settled) -> Iterator[Entry]:
        yield from candidates(entry, settled)
        yield from deliveries(entry, settled)

    existing = [b for c in network.inputs if c in within for b in problem.blocks.get(c, ())] + [*deliveries.held()]
    search(existing, block_gen, lambda _: True, deliveries.finished)
    upper = inf
    if len(deliveries.goals) == len(due):
        upper = ledger.join([*deliveries.goals.values()])[1]
    alternatives = Alternatives(existing, block_gen, outputs, bounds)
    # Algorithm 1 only saves work here: were its plan wrong, the enumeration would go on without it
    graph = alternatives.below(upper, limit) or alternatives.below(inf, limit)
    if alternatives.cut_short:
        raise _too_large(limit, "invocations to choose from", due)
    if graph is None:
        return ExactAnswer(False, inf)
    cheapest = Cheapest(graph, limit)
    if cheapest.cut_short:
        raise _too_large(limit, "nodes to search", due)
    made = [i for i in graph.invocations(cheapest.steps) if not i.is_delivery]
    return ExactAnswer(True, cheapest.cost, tuple(made))


def _too_large(limit: int, what: str, due: Sequence[str]) -> SearchLimitError:
    return SearchLimitError(
        f"{', '.join(due)}: more than {limit} {what}; exact planning is for small cases: raise `limit` or use `Solver`."
    )


@dataclass(slots=True, eq=False)
class Action:
    """An invocation, a chain, or a goal reached: with all facts `needs`, all `gives` hold."""

    cost: float
    needs: tuple[int, ...]
    gives: list[int]
    invocation: Invocation | None = None


class Graph:
    """Facts, by number, and the actions between them."""

    def __init__(self, actions: Sequence[Action], facts: int) -> None:
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

    def invocations(self, steps: Iterable[int]) -> list[Invocation]:
        return [i for s in sorted(steps) if (i := self.actions[s].invocation) is not None]

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

    def relevant(self, upper: float) -> Graph:
        """Without the actions that no plan within `upper` needs.

        A plan that needs an action pays the dearest chain up to it and, apart from that, a chain from it
        to the goal.
        """
        bound, _, dearest = self.lower_bounds([a.cost for a in self.actions])
        kept: set[int] = set()
        queue, closed = [(0.0, GOAL)], set[int]()
        while queue:
            onward, fact = heappop(queue)
            if fact in closed:
                continue
            closed.add(fact)
            for a in self.makers[fact]:
                action = self.actions[a]
                if a not in kept and dearest[a] >= 0 and bound[dearest[a]] + action.cost + onward <= upper:
                    kept.add(a)
                    for need in action.needs:
                        heappush(queue, (onward + action.cost, need))
        return Graph([self.actions[a] for a in sorted(kept)], len(self.readers))


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


class Alternatives:
    """All ways to make all blocks that matter: Dijkstra's search by `h_max`.

    An action is found when the last block that it reads is settled, so its own bound is known at once.
    `cut_short` is true if more than the limit would have had to be looked at: then some may be missing.
    """

    def __init__(
        self,
        existing: Iterable[Block],
        block_gen: BlockGen,
        outputs: Iterable[Output],
        bounds: Bounds,
    ) -> None:
        self._block_gen, self._bounds = block_gen, bounds
        self._due = {output.consumer: output.channel for output in outputs}
        self._actions: list[Action] = []
        self._known: dict[object, int] = {}
        self._facts: dict[object, int] = {"existing": EXISTING, "goal": GOAL}
        self._bound = {EXISTING: 0.0}
        self._support: dict[int, int] = {}
        self._queue: list[tuple[float, int, int, Block | None]] = []
        self._settled = _Unsettled()
        self.cut_short = False
        for block in existing:
            self._offer(("existing", block.key), 0.0, ["existing"], block.key, block)

    def below(self, upper: float, limit: int) -> Graph | None:
        """The actions that a plan no dearer than `upper` can need; `None` if there is no such plan."""
        queue = self._queue
        upper *= 1 + _TINY
        while queue and queue[0][0] <= upper:
            total, fact, maker, block = heappop(queue)
            if fact in self._bound:
                continue
            self._bound[fact], self._support[fact] = total, maker
            if block is not None:
                self._settle(block)
            elif fact == GOAL:
                plan = supporters(self._actions, self._support)
                upper = min(upper, sum(self._actions[s].cost for s in plan) * (1 + _TINY))
            elif all(self._facts.get(consumer) in self._bound for consumer in self._due):
                self._offer("goal", 0.0, self._due, "goal")
            if len(self._actions) > limit:
                self.cut_short = True
                break
        return Graph(self._actions, len(self._facts)).relevant(upper) if GOAL in self._bound else None

    def _settle(self, block: Block) -> None:
        entry = Entry(block, NO_STEPS, 0.0)
        self._settled.add(entry)
        output = self._due.get(block.channel)
        if output is not None and next(self._bounds.stale(output, block.target), None) is None:
            self._offer(("satisfies", block.key), 0.0, [block.key], block.channel)
        for made in self._block_gen(entry, self._settled):
            needs = [operand.block.key for operand in made.operands]
            # a chain is no invocation, so no bit tells it apart
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
        """Note that `way` makes the fact `gives` of `needs`; what makes several facts is offered for each."""
        a = self._known.setdefault(way, len(self._actions))
        if a == len(self._actions):
            self._actions.append(Action(cost, tuple({self._facts[n]: None for n in needs}), [], invocation))
        action, fact = self._actions[a], self._facts.setdefault(gives, len(self._facts))
        if fact not in action.gives:
            action.gives.append(fact)
            heappush(self._queue, (cost + max(self._bound[n] for n in action.needs), fact, a, block))


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
            if paid + bound[GOAL] >= self.cost * (1 - _TINY):
                return []
            self._improve(supporters(graph.actions, support))
            if bound[GOAL] == 0:
                return landmarks
            cut = self._cut(rest, dearest)
            price = min(rest[s] for s in cut)
            for s in cut:
                rest[s] = rest[s] - price if rest[s] - price > _TINY else 0.0
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
