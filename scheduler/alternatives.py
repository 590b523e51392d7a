"""All ways to make all blocks that matter to a set of due outputs, as a graph of facts and actions.

Planning is delete-free: blocks, and what consumers hold, are facts that stay true once made; invocations
and deliveries are actions. A plan no dearer than an upper bound holds nothing but actions whose lower
bound `h_max` (the dearest chain of invocations that they need) leaves room below it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf
from typing import TypeAlias

from olston.block import Block
from olston.scheduler.bounds import Bounds
from olston.scheduler.network import Output
from olston.scheduler.plan import NO_STEPS, Entry, Invocation
from olston.scheduler.settled import Settled

BlockGen: TypeAlias = Callable[[Entry, Settled], Iterable[Entry]]

EXISTING, GOAL = 0, 1
"""The fact that holds from the start, and the one that every due output is within its bounds."""

TINY = 1e-9
"""What rounding may add up to, relative to a cost."""


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

    def __init__(self) -> None:
        super().__init__()
        self.keys = ()


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
            self._offer(("existing", block.vertex), 0.0, ["existing"], block.vertex, block)

    def below(self, upper: float, limit: int) -> Graph | None:
        """The actions that a plan no dearer than `upper` can need; `None` if there is no such plan."""
        queue = self._queue
        upper *= 1 + TINY
        while queue and queue[0][0] <= upper:
            total, fact, maker, block = heappop(queue)
            if fact in self._bound:
                continue
            self._bound[fact], self._support[fact] = total, maker
            if block is not None:
                self._settle(block)
            elif fact == GOAL:
                plan = supporters(self._actions, self._support)
                upper = min(upper, sum(self._actions[s].cost for s in plan) * (1 + TINY))
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
            self._offer(("satisfies", block.vertex), 0.0, [block.vertex], block.channel)
        for made in self._block_gen(entry, self._settled):
            needs = [operand.block.vertex for operand in made.operands]
            # a chain is no invocation, so no bit tells it apart
            way = (*needs, made.block.vertex) if made.made_by is None else made.made_by.bit
            self._offer(way, made.cost, needs, made.block.vertex, made.block, made.made_by)

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
