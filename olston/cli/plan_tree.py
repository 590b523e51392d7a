"""A plan of the present moment as a tree: what is due, the steps, what is held then, and what was rejected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from olston.block import Block
from olston.duration import show_duration, show_measured
from olston.pathway import Pathway
from olston.provenance import Provenance
from olston.report import PAUSED, PlanOf, moment, moments
from olston.scheduler.explain import Due
from olston.scheduler.plan import Invocation
from olston.workflow import Workflow


def plan_tree(plan: PlanOf, workflow: Workflow, *, full: bool = False) -> Tree:
    """The tree for a plan of `workflow`; `full` if it is to compute outputs anew."""
    pathways = {name: channel.pathways for name, channel in workflow.channels.items()}
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
            due.add(Text(f"{reason.output} is asked for anew" if full else _due(plan, reason, pathways)))
    if plan.steps:
        tree.add("steps").add(_steps(plan))
    for output, content in plan.decision.holds_after.items():
        tree.add(Text(f"{output} reflects then")).add(_reflected(plan, workflow, output, content))
    if evidence is not None and evidence.alternatives:
        rejected = tree.add("rejected")
        for other in evidence.alternatives:
            of = f"{other.output}: " if len(plan.decision.holds_after) > 1 else ""
            rejected.add(Text(f"{of}{other.cost:.2g} s, {other.reason}: {' → '.join(other.steps)}"))
    return tree


def _title(plan: PlanOf) -> str:
    if not plan.due:
        return "nothing is due"
    if plan.decision.infeasible is not None:
        return "no plan"
    if not plan.steps:
        return "nothing to do: it is up to date"
    return f"{len(plan.steps)} steps, about {plan.cost:.2g} s"


def _due(plan: PlanOf, reason: Due, pathways: Mapping[str, Sequence[Pathway]]) -> str:
    if reason.bound is None:
        return plan.reason(reason)
    name = pathways[reason.output][reason.bound.pathway].name
    late = show_measured(reason.late)
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


def _reflected(plan: PlanOf, workflow: Workflow, output: str, content: Provenance) -> Table:
    """The snapshots held then, and what the bounds that were declared have left."""
    assert plan.problem is not None
    history, pathways = plan.problem.history, workflow.channels[output].pathways
    inputs = [p.input for p in pathways]
    stale = {b.pathway: b.bound for b in workflow.staleness if b.channel == output}
    table = _table(("", "right"), ("pathway", "left"), ("snapshots", "left"), ("bound", "left"), ("left", "right"))
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


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, show_edge=False)
    for heading, side in columns:
        named = heading in ("step", "pathway")  # names are kept whole where sentences can be broken instead
        table.add_column(heading, justify=side, overflow="fold", no_wrap=named)  # type: ignore[arg-type]
    return table
