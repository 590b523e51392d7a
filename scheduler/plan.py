"""Plans: sets of invocations, so that a shared step is paid once.

A plan is an `int` whose bits stand for invocations of a `Ledger`; union is `|`. The ledger knows what
each costs, and which are free of charge while planning again (see `olston.scheduler.replan`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from olston.block import Block
from olston.scheduler.network import Output, Variant

Plan: TypeAlias = int

NO_STEPS: Plan = 0


@dataclass(slots=True, eq=False)
class Entry:
    """A block with the cheapest plan known for it: the triple of Algorithm 1.

    `made_by` is the last invocation of that plan, `None` for blocks that exist and for chains.
    """

    block: Block
    plan: Plan
    cost: float
    made_by: Invocation | None = None
    operands: tuple[Entry, ...] = ()


@dataclass(slots=True, eq=False)
class Invocation:
    """An operator, or a delivery, applied to specific blocks."""

    operator: Variant | Output
    operands: tuple[Block, ...]
    results: tuple[Block, ...]
    cost: float
    bit: Plan

    @property
    def is_delivery(self) -> bool:
        return isinstance(self.operator, Output)


class Ledger:
    """All invocations considered, each once, with their costs."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Invocation] = {}
        self._by_position: list[Invocation] = []
        self.free: Plan = NO_STEPS
        self.remember = True
        """Whether an invocation met again is the same one: needed where several searches share the ledger."""

    def invocation(
        self, operator: Variant | Output, operands: tuple[Block, ...], results: tuple[Block, ...], cost: float
    ) -> Invocation:
        """The one invocation of `operator` on `operands`."""
        key: tuple[object, ...] = ()
        if self.remember:
            key = (id(operator), *[b.vertex for b in operands])
            known = self._known.get(key)
            if known is not None:
                return known
        new = Invocation(operator, operands, results, cost, 1 << len(self._by_position))
        self._by_position.append(new)
        if key:
            self._known[key] = new
        return new

    def charge(self, invocation: Invocation) -> float:
        """What the invocation adds to a plan without it."""
        return 0.0 if invocation.bit & self.free else invocation.cost

    def join(self, entries: Sequence[Entry]) -> tuple[Plan, float]:
        """The union of the plans of `entries`, and its cost: what they share is counted once."""
        plan, cost = entries[0].plan, entries[0].cost
        if len(entries) == 1:
            return plan, cost
        for entry in entries[1:]:
            shared = plan & entry.plan
            cost += entry.cost
            if shared:
                cost -= self._charged(shared)
            plan |= entry.plan
        return plan, cost

    def _charged(self, plan: Plan) -> float:
        return sum(i.cost for i in self.steps(plan & ~self.free))

    def cost(self, plan: Plan) -> float:
        """The full cost of `plan`, whatever is free of charge at the moment."""
        return sum(i.cost for i in self.steps(plan))

    def steps(self, plan: Plan) -> Iterator[Invocation]:
        """The invocations of `plan`, in the order in which they were first considered."""
        while plan:
            bit = plan & -plan
            yield self._by_position[bit.bit_length() - 1]
            plan ^= bit
