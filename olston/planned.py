"""A plan of the present moment: what is due, the steps, what is held then, and what was rejected; shown as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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

    def reflected(self, output: str, content: Provenance) -> dict[str, Any]:
        """The snapshots that `output` reflects if it holds `content`, and what its declared bounds have left."""
        history, pathways = self.problem.history, self.workflow.channels[output].pathways
        inputs = [p.input for p in pathways]
        stale = {b.pathway: b.bound for b in self.workflow.staleness if b.channel == output}
        told = []
        for p in pathways:
            bound, end = stale.get(p.index), history.entry_end(content, inputs, p.index)
            limits = _seconds(bound, None if bound is None or end is None else end + bound - history.now)
            told.append({"index": p.index, "name": p.name, "snapshots": sorted(content[p.index]), **limits})
        apart = history.inconsistency(content, inputs)
        bound = next((b.bound for b in self.workflow.inconsistency if b.channel == output), None)
        return {
            "output": output,
            "pathways": told,
            "consistent": history.consistent(content, inputs),
            "inconsistency_seconds": apart / 1e6,
            **_seconds(bound, None if bound is None else bound - apart),
        }

    def to_dict(self) -> dict[str, Any]:
        reason = self.decision.infeasible
        return {
            "changes": [
                {"channel": c.channel, "change": c.what, "parts": c.parts, "because": c.because} for c in self.changes
            ],
            "due": list(self.due),
            "steps": [
                {
                    "step": name, "cost": s.cost, "rows": _rows(s),
                    "operands": [*map(str, s.operands)], "results": [*map(str, s.results)],
                }
                for name, s in zip(self.steps, self.decision.steps, strict=True)
            ],
            "cost": self.cost,
            "reflects": [self.reflected(output, content) for output, content in self.decision.holds_after.items()],
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
        del found["slack"]  # by the bounds of the problem, which are tighter where an output is asked for
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
        tree.add(Text(f"{output} reflects then")).add(_reflected(plan.reflected(output, content)))
    if evidence is not None and evidence.alternatives:
        rejected = tree.add("rejected")
        for other in evidence.alternatives:
            of = f"{other.output}: " if len(plan.decision.holds_after) > 1 else ""
            same = [step for step in plan.steps if not step.startswith("→")] == list(other.steps)
            leads = f", to {', '.join(map(moments, map(sorted, other.content)))}" if same else ""
            rejected.add(Text(f"{of}{other.cost:.2g} s, {plan.why_not(other)}: {' → '.join(other.steps)}{leads}"))
    return tree


def _seconds(bound: Stamp | None, left: Stamp | None) -> dict[str, float | None]:
    """A bound and what is left of it, in seconds; none if there is no bound, or nothing that it bounds."""
    if bound is None or left is None:
        return {"bound_seconds": None, "left_seconds": None}
    return {"bound_seconds": bound / 1e6, "left_seconds": left / 1e6}


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
        table.add_row(str(number), Text(name), Text(_made(step)), f"{_rows(step):,.0f}", f"{step.cost:.2g}")
    return table


def _rows(step: Invocation) -> float:
    return step.operands[-1].rows if step.is_delivery else sum(b.rows for b in step.results)


def _made(step: Invocation) -> str:
    if step.is_delivery:
        return f"delivers {reached(step.operands[-1])}"
    return ", ".join(called(b) for b in step.results)


def _reflected(told: Mapping[str, Any]) -> Table:
    """The snapshots held then, and what the bounds that were declared have left."""
    from rich.text import Text

    columns = ("", "right"), ("pathway", "left"), ("snapshots", "left"), ("bound", "left"), ("left", "right")
    table = _table([p["name"] for p in told["pathways"]], *columns)
    for p in told["pathways"]:
        table.add_row(str(p["index"]), Text(p["name"]), moments(p["snapshots"]), *_limits(p))
    apart = show_duration(round(told["inconsistency_seconds"] * 1e6))
    table.add_row("", "all", "consistent" if told["consistent"] else f"{apart} apart", *_limits(told))
    return table


def _limits(told: Mapping[str, Any]) -> tuple[str, str]:
    """A bound and what is left of it, if there is one."""
    if told["bound_seconds"] is None:
        return "", ""
    return show_duration(round(told["bound_seconds"] * 1e6)), show_measured(round(told["left_seconds"] * 1e6))


def _table(names: Iterable[str], *columns: tuple[str, str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading, side in columns:
        if heading in ("step", "pathway"):
            add_names(table, heading, names)
        else:
            table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
    return table
