"""Deciding: what is due, and the cheapest plan that keeps the promises, or the reason why there is none.

The runtime, the simulator and `olston plan --problem` all call `decide`. Pure: same problem, same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from olston.block import Block
from olston.provenance import Provenance
from olston.scheduler.infeasible import Infeasible, diagnose, given_up
from olston.scheduler.ladder import Rung, rungs
from olston.scheduler.network import Recompute
from olston.scheduler.plan import Entry, Invocation
from olston.scheduler.problem import Problem
from olston.scheduler.prune import SECTIONS
from olston.scheduler.reach import out_of_reach
from olston.scheduler.solve import Solution, Solver

DEFAULT_PRUNINGS = SECTIONS
"""Settled by total cost over the simulated runs; see docs/planner.md."""


@dataclass(frozen=True)
class Decision:
    """A plan for the outputs that are due, in the order in which to run it, and how it was found."""

    due: tuple[str, ...]
    steps: tuple[Invocation, ...] = ()
    cost: float = 0.0
    holds_after: dict[str, Provenance] = field(default_factory=dict)
    emitted: dict[str, tuple[Block, ...]] = field(default_factory=dict)
    rung: Rung | None = None
    infeasible: Infeasible | None = None
    solution: Solution | None = field(default=None, repr=False)

    @property
    def feasible(self) -> bool:
        return self.infeasible is None

    @property
    def work(self) -> tuple[Invocation, ...]:
        """The steps without the deliveries."""
        return tuple(s for s in self.steps if not s.is_delivery)


def decide(
    problem: Problem,
    prunings: Iterable[str] = DEFAULT_PRUNINGS,
    *,
    due: Sequence[str] | None = None,
    replan: bool | None = None,
) -> Decision:
    """Bring every due output within its bounds at least cost.

    `due` defaults to the outputs that hold nothing or break a staleness bound now. Planning again pays
    where several outputs are due, so that is when `replan` is on by default.
    """
    wanted = tuple(problem.due() if due is None else due)
    if not wanted:
        return Decision(wanted)
    again = len(wanted) > 1 if replan is None else replan
    reluctant = any(v.recompute is Recompute.LAST_RESORT for v in problem.network.reluctant)
    # a search given up proves nothing: the prunings may still find the way
    for ladder in dict.fromkeys((tuple(prunings), SECTIONS)):
        cut_short = False
        for rung in rungs(ladder, reluctant):
            # worth its time only before a search that may have to exhaust everything
            if not rung.prunings.sections and any(out_of_reach(problem, channel) for channel in wanted):
                return Decision(wanted, infeasible=diagnose(problem, wanted))
            solver = Solver(problem, wanted, rung.prunings, last_resort=rung.last_resort)
            solution = solver.solve(again)
            if solution is not None:
                return decision(wanted, solution, rung)
            cut_short = solver.cut_short
        if not cut_short:
            return Decision(wanted, infeasible=diagnose(problem, wanted))
    return Decision(wanted, infeasible=given_up(wanted))


def decision(due: tuple[str, ...], solution: Solution, rung: Rung | None = None) -> Decision:
    """A solution laid out in the order in which its steps can run."""
    goals = [solution.goals[channel] for channel in due]
    steps = tuple(in_order(goals))
    emitted: dict[str, list[Block]] = {channel: [] for channel in due}
    for step in steps:
        if step.is_delivery:
            delivered = step.operands[-1]
            emitted[delivered.channel].append(delivered)
    return Decision(
        due,
        steps,
        sum(s.cost for s in steps),
        {channel: goal.block.target for channel, goal in zip(due, goals, strict=True)},
        {channel: tuple(blocks) for channel, blocks in emitted.items()},
        rung,
        solution=solution,
    )


def in_order(goals: Iterable[Entry]) -> Iterator[Invocation]:
    """The invocations that lead to `goals`, each once, after those it depends on."""
    seen: set[int] = set()
    entered: set[int] = set()
    pending = [(goal, False) for goal in goals][::-1]
    while pending:
        entry, done = pending.pop()
        if done:
            if entry.made_by is not None and id(entry.made_by) not in seen:
                seen.add(id(entry.made_by))
                yield entry.made_by
        elif id(entry) not in entered:
            entered.add(id(entry))
            pending.append((entry, True))
            pending += [(operand, False) for operand in reversed(entry.operands)]
