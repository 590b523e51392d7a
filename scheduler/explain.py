"""Evidence: what was due and why, what each bound has left afterwards, and which alternatives were rejected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from olston.constraints import Inconsistency, Staleness
from olston.provenance import Provenance, Stamp
from olston.scheduler.bounds import Bounds
from olston.scheduler.decide import Decision, in_order
from olston.scheduler.network import Variant
from olston.scheduler.plan import Entry
from olston.scheduler.problem import Problem
from olston.scheduler.prune import Prunings
from olston.scheduler.solve import Solver

ALTERNATIVES = 3
"""Rejected alternatives shown per output."""

LOOK = 400
"""Blocks settled beyond the chosen plan while looking for alternatives."""


@dataclass(frozen=True)
class Due:
    """Why an output was due: it holds nothing, or its content breaks `bound` by `late`."""

    output: str
    bound: Staleness | None = None
    late: Stamp = 0

    def __str__(self) -> str:
        if self.bound is None:
            return f"{self.output} holds nothing yet"
        return f"{self.output} breaks {self.bound} by {self.late:g}"


@dataclass(frozen=True)
class Slack:
    """How much a bound has left once the plan is done; negative if it is broken."""

    bound: Staleness | Inconsistency
    left: Stamp


@dataclass(frozen=True)
class Alternative:
    """A way to serve an output that was not taken: `dearer` by so much, or `breaks` these bounds."""

    output: str
    steps: tuple[str, ...]
    cost: float
    content: Provenance
    dearer: float | None = None
    breaks: tuple[Staleness | Inconsistency, ...] = ()

    @property
    def reason(self) -> str:
        return self.why()

    def why(self, unit: str = "") -> str:
        """Why it was not taken; costs are followed by their `unit`."""
        if self.breaks:
            return "breaks " + " and ".join(str(b) for b in self.breaks)
        dearer = self.dearer or 0.0
        if abs(dearer) <= 1e-9 * (1 + self.cost):
            return "no cheaper"
        if dearer > 0:
            return f"dearer by {dearer:.3g}{unit}"
        return (
            f"cheaper by {-dearer:.6g}{unit} now, but passed over by a pruning, a policy or a step shared with other "
            "outputs"
        )


@dataclass(frozen=True)
class Evidence:
    """Everything a person needs to see why this plan was chosen."""

    due: tuple[Due, ...]
    slack: tuple[Slack, ...]
    alternatives: tuple[Alternative, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "due": [{"output": d.output, "bound": str(d.bound) if d.bound else None, "late": d.late} for d in self.due],
            "slack": [{"bound": str(s.bound), "left": s.left} for s in self.slack],
            "alternatives": [
                {
                    "output": a.output,
                    "steps": list(a.steps),
                    "cost": a.cost,
                    "content": a.content.to_json(),
                    "reason": a.reason,
                }
                for a in self.alternatives
            ],
        }


def explain(problem: Problem, decision: Decision) -> Evidence:
    """The evidence for `decision`. Pure, and apart from deciding: a loop that asks nobody why need not pay for it."""
    bounds = problem.bounds()
    due = tuple(d for output in decision.due for d in _due(problem, bounds, output))
    if decision.infeasible is not None:
        return Evidence(due, (), ())
    left = tuple(s for output, content in decision.holds_after.items() for s in slack(problem, output, content))
    return Evidence(due, left, tuple(a for output in decision.due for a in _alternatives(problem, decision, output)))


def _due(problem: Problem, bounds: Bounds, output: str) -> Iterator[Due]:
    held = problem.holds.get(output)
    if held is None:
        yield Due(output)
        return
    for stale in bounds.stale(output, held):
        end = problem.history.entry_end(held, problem.network.inputs[output], stale.pathway)
        assert end is not None
        yield Due(output, stale, problem.history.now - end - stale.bound)


def slack(problem: Problem, output: str, content: Provenance) -> Iterator[Slack]:
    """What each bound of `output` has left if its consumer holds `content`."""
    inputs, history = problem.network.inputs[output], problem.history
    for stale in problem.network.declared.staleness.get(output, ()):
        end = history.entry_end(content, inputs, stale.pathway)
        if end is not None:
            yield Slack(stale, end + stale.bound - history.now)
    for part in problem.network.declared.whole.get(output, ()):
        span = history.span(content, inputs)
        if span is not None:
            yield Slack(part.declared, span[1] + part.declared.bound - span[0])


def _alternatives(problem: Problem, decision: Decision, output: str) -> list[Alternative]:
    """The best other ways: other steps, or the same to another content; dearer, or breaking a bound."""
    # what the other prunings hide are the very alternatives looked for
    kept = {"6.2.1", "6.2.2"} & set(decision.rung.prunings.sections if decision.rung else ())
    deliveries = Solver(problem, (output,), Prunings(kept), last_resort=True).explore(LOOK)
    goal = decision.solution.goals[output] if decision.solution else None
    chosen = None if goal is None else (_named(goal), goal.block.target)
    paid = 0.0 if goal is None else sum(s.cost for s in in_order([goal]))
    ways: dict[tuple[object, ...], Alternative] = {}

    def offer(alternative: Alternative) -> None:
        if alternative.steps and (alternative.steps, alternative.content) != chosen:
            way = (alternative.steps, alternative.breaks)
            known = ways.get(way)
            if known is None or alternative.cost < known.cost:
                ways[way] = alternative

    bounds = problem.bounds()
    for proposal in deliveries.proposals:
        steps = _named(proposal)
        stale = tuple(bounds.stale(output, proposal.block.target))
        offer(Alternative(output, steps, proposal.cost, proposal.block.target, proposal.cost - paid, stale))
    for rejected in deliveries.rejected:
        steps = _named(rejected.entry)
        offer(Alternative(output, steps, rejected.entry.cost, rejected.content, None, rejected.broken))
    best = sorted(ways.values(), key=lambda a: a.cost)
    return [a for a in best if not a.breaks][:ALTERNATIVES] + [a for a in best if a.breaks][:ALTERNATIVES]


def _named(entry: Entry) -> tuple[str, ...]:
    return tuple(str(s.operator) for s in in_order([entry]) if isinstance(s.operator, Variant))
