"""A plan of the present moment as a tree: what differs, what is due, steps, what is held then, and what was rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from olston.block import Block
from olston.constraints import Staleness
from olston.duration import show_duration
from olston.pathway import Pathway
from olston.provenance import Provenance
from olston.report import PlanOf, moment, moments
from olston.scheduler.explain import Due
from olston.scheduler.plan import Invocation


def plan_tree(plan: PlanOf, pathways: Mapping[str, Sequence[Pathway]]) -> Tree:
    """The tree for a plan of a workflow whose channels have `pathways`."""
    tree = Tree(Text(_title(plan), style="bold"))
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
            due.add(Text(_due(reason, pathways)))
    if plan.steps:
        tree.add("steps").add(_steps(plan))
    for output, content in plan.decision.holds_after.items():
        tree.add(Text(f"{output} reflects then")).add(_reflected(plan, output, content, pathways[output]))
    if evidence is not None and evidence.alternatives:
        tree.add("rejected").add(_rejected(plan))
    return tree


def _title(plan: PlanOf) -> str:
    if not plan.due:
        return "nothing is due"
    if plan.decision.infeasible is not None:
        return "no plan"
    return f"{len(plan.steps)} steps, about {plan.cost:.2g} s"


def _due(reason: Due, pathways: Mapping[str, Sequence[Pathway]]) -> str:
    if reason.bound is None:
        return f"{reason.output} holds nothing yet"
    name = pathways[reason.output][reason.bound.pathway].name
    late = show_duration(reason.late)
    if reason.bound.bound == 0:
        return f"{reason.output} is {late} behind {name}, and may not be"
    return f"{reason.output} is {late} later behind {name} than the {show_duration(reason.bound.bound)} it may be"


def _steps(plan: PlanOf) -> Table:
    table = _table(("#", "right"), ("step", "left"), ("makes", "left"), ("rows", "right"), ("seconds", "right"))
    for number, (name, step) in enumerate(zip(plan.steps, plan.decision.steps, strict=True), 1):
        rows = step.operands[-1].rows if step.is_delivery else sum(b.rows for b in step.results)
        table.add_row(str(number), Text(name), Text(_made(step)), f"{rows:,.0f}", f"{step.cost:.2g}")
    return table


def _made(step: Invocation) -> str:
    if step.is_delivery:
        return f"delivers {_shown(step.operands[-1])}"
    return ", ".join(f"{b.channel} {_shown(b)}" for b in step.results)


def _shown(block: Block) -> str:
    """A block with the newest snapshots that it leads to, one for each pathway."""
    newest = ", ".join("–" if s is None else moment(s) for s in block.target.newest)
    return f"{block.kind} to {newest}" if block.source is not None else f"{block.kind} at {newest}"


def _reflected(plan: PlanOf, output: str, content: Provenance, pathways: Sequence[Pathway]) -> Table:
    table = _table(("", "right"), ("pathway", "left"), ("snapshots", "left"), ("bound", "left"), ("left", "right"))
    slack = [s for s in (plan.evidence.slack if plan.evidence else ()) if s.bound.channel == output]
    stale = {s.bound.pathway: s for s in slack if isinstance(s.bound, Staleness)}
    for p in pathways:
        bound = stale.get(p.index)
        limits = ("", "") if bound is None else (show_duration(bound.bound.bound), show_duration(bound.left))
        table.add_row(str(p.index), Text(p.name), moments(sorted(content[p.index])), *limits)
    for s in slack:
        if not isinstance(s.bound, Staleness):
            table.add_row("", "all", "inconsistency", show_duration(s.bound.bound), show_duration(s.left))
    return table


def _rejected(plan: PlanOf) -> Table:
    table = _table(("output", "left"), ("steps", "left"), ("seconds", "right"), ("reason", "left"))
    for other in plan.evidence.alternatives if plan.evidence else ():
        table.add_row(other.output, Text(" → ".join(other.steps)), f"{other.cost:.2g}", Text(other.reason))
    return table


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading, side in columns:
        table.add_column(heading, justify=side, overflow="fold")  # type: ignore[arg-type]
    return table
