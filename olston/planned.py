"""A plan of the present moment: what is due, the steps, what is held then, and what was rejected; shown as a tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston.constraints import Staleness
from olston.declared import Change
from olston.duration import show_duration, show_measured
from olston.provenance import Provenance, Stamp
from olston.report import Shown, add_names, called, moments, reached, steps
from olston.scheduler.decide import Decision
from olston.scheduler.explain import Alternative, Due, Evidence
from olston.scheduler.plan import Invocation
from olston.scheduler.problem import Problem
from olston.workflow import Workflow

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.tree import Tree

PAUSED = "paused: nothing is begun until resume"


@dataclass(frozen=True, repr=False)
class PlanOf(Shown):
    """What would be done, what it is expected to cost, and why; `changes` of the definition come first."""

    decision: Decision
    evidence: Evidence | None
    now: Stamp
    problem: Problem
    """What was decided on."""
    workflow: Workflow
    full: bool = False
    """Whether outputs are to be computed anew."""
    changes: tuple[Change, ...] = ()
    paused: bool = False
    """Whether nothing is begun until `resume`."""
    outdated: frozenset[str] = frozenset()
    """The outputs that hold what another definition made."""

    @property
    def due(self) -> tuple[str, ...]:
        return self.decision.due

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of the steps, in order; a delivery is an arrow to its output."""
        return tuple(f"→ {s.operands[-1].channel}" if s.is_delivery else str(s.operator) for s in self.decision.steps)

    @property
    def cost(self) -> float:
        """Expected seconds."""
        return self.decision.cost

    def reason(self, due: Due) -> str:
        """Why an output is due."""
        if self.full:
            return f"{due.output} is asked for anew"
        if due.bound is None:
            outdated = due.output in self.outdated
            return f"{due.output} holds what another definition made" if outdated else str(due)
        name = self.workflow.channels[due.output].pathways[due.bound.pathway].name
        late = show_measured(due.late)
        if due.bound.bound == 0:
            return f"{due.output} is {late} behind {name}, and may not be"
        return f"{due.output} is {late} later behind {name} than the {show_duration(due.bound.bound)} it may be"

    def why_not(self, other: Alternative) -> str:
        """Why another way was not taken: by how many seconds it is dearer, or which bounds it breaks.

        Of an output that is asked for, to be behind is no bound that anybody declared.
        """
        if not other.breaks:
            return other.why(" s")
        declared = {*self.workflow.staleness, *self.workflow.inconsistency}
        behind = [b for b in other.breaks if isinstance(b, Staleness) and b not in declared]
        names = [self.workflow.channels[b.channel].pathways[b.pathway].name for b in behind]
        broken = " and ".join(str(b) for b in other.breaks if b not in behind)
        parts = [f"breaks {broken}"] if broken else []
        parts += [f"is not the newest of {' and '.join(names)}"] if names else []
        return " and ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        reason = self.decision.infeasible
        return {
            "changes": [
                {"channel": c.channel, "change": c.what, "parts": c.parts, "because": c.because} for c in self.changes
            ],
            "due": list(self.due),
            "steps": [
                {"step": name, "cost": s.cost, "operands": [*map(str, s.operands)], "results": [*map(str, s.results)]}
                for name, s in zip(self.steps, self.decision.steps, strict=True)
            ],
            "cost": self.cost,
            "feasible": self.decision.feasible,
            "why": None if reason is None else reason.reason,
            "paused": self.paused,
            "outdated": sorted(self.outdated),
            "evidence": self._evidence(),
        }  # fmt: skip

    def _evidence(self) -> dict[str, Any] | None:
        if self.evidence is None:
            return None
        found = self.evidence.to_json()
        for told, other in zip(found["alternatives"], self.evidence.alternatives, strict=True):
            told["reason"] = self.why_not(other)
        return found

    def __rich__(self) -> RenderableType:
        return _tree(self)


def _tree(plan: PlanOf) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(_title(plan), style="bold"))
    if plan.paused:
        tree.add(Text(PAUSED, style="yellow"))
    if plan.changes:
        changed = tree.add("definition")
        for change in plan.changes:
            changed.add(Text(str(change)))
    if plan.decision.infeasible is not None:
        tree.add(Text(plan.decision.infeasible.reason, style="red"))
    evidence = plan.evidence
    if evidence is not None and evidence.due:
        due = tree.add("due")
        for reason in evidence.due:
            due.add(Text(plan.reason(reason)))
    if plan.steps:
        tree.add("steps").add(_steps(plan))
    for output, content in plan.decision.holds_after.items():
        tree.add(Text(f"{output} reflects then")).add(_reflected(plan, output, content))
    if evidence is not None and evidence.alternatives:
        rejected = tree.add("rejected")
        for other in evidence.alternatives:
            of = f"{other.output}: " if len(plan.decision.holds_after) > 1 else ""
            same = [step for step in plan.steps if not step.startswith("→")] == list(other.steps)
            leads = f", to {', '.join(map(moments, map(sorted, other.content)))}" if same else ""
            rejected.add(Text(f"{of}{other.cost:.2g} s, {plan.why_not(other)}: {' → '.join(other.steps)}{leads}"))
    return tree


def _title(plan: PlanOf) -> str:
    if not plan.due:
        return "nothing is due"
    if plan.decision.infeasible is not None:
        return "no plan"
    if not plan.steps:
        return "nothing to do: it is up to date"
    return f"{steps(len(plan.steps))}, about {plan.cost:.2g} s"


def _steps(plan: PlanOf) -> Table:
    from rich.text import Text

    table = _table(
        plan.steps, ("#", "right"), ("step", "left"), ("makes", "left"), ("rows", "right"), ("seconds", "right")
    )
    for number, (name, step) in enumerate(zip(plan.steps, plan.decision.steps, strict=True), 1):
        rows = step.operands[-1].rows if step.is_delivery else sum(b.rows for b in step.results)
        table.add_row(str(number), Text(name), Text(_made(step)), f"{rows:,.0f}", f"{step.cost:.2g}")
    return table


def _made(step: Invocation) -> str:
    if step.is_delivery:
        return f"delivers {reached(step.operands[-1])}"
    return ", ".join(called(b) for b in step.results)


def _reflected(plan: PlanOf, output: str, content: Provenance) -> Table:
    """The snapshots held then, and what the bounds that were declared have left."""
    from rich.text import Text

    workflow = plan.workflow
    history, pathways = plan.problem.history, workflow.channels[output].pathways
    inputs = [p.input for p in pathways]
    stale = {b.pathway: b.bound for b in workflow.staleness if b.channel == output}
    names = [p.name for p in pathways]
    table = _table(names, ("", "right"), ("pathway", ""), ("snapshots", "left"), ("bound", "left"), ("left", "right"))
    for p in pathways:
        limits, end = ("", ""), history.entry_end(content, inputs, p.index)
        if p.index in stale and end is not None:
            limits = (show_duration(stale[p.index]), show_measured(end + stale[p.index] - history.now))
        table.add_row(str(p.index), Text(p.name), moments(sorted(content[p.index])), *limits)
    apart = history.inconsistency(content, inputs)
    held = "consistent" if history.consistent(content, inputs) else f"{show_duration(apart)} apart"
    bound = next((b.bound for b in workflow.inconsistency if b.channel == output), None)
    limits = ("", "") if bound is None else (show_duration(bound), show_duration(bound - apart))
    table.add_row("", "all", held, *limits)
    return table


def _table(names: Iterable[str], *columns: tuple[str, str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading, side in columns:
        if heading in ("step", "pathway"):
            add_names(table, heading, names)
        else:
            table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
    return table
