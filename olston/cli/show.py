"""How answers look in a terminal."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console, RenderableType
from rich.table import Table
from rich.tree import Tree

from olston.cli.answers import emit_json
from olston.scheduler.decide import Decision
from olston.scheduler.explain import Evidence
from olston.scheduler.problem import Problem

if TYPE_CHECKING:
    from olston.workflow import Workflow

WIDTH = 120
"""Columns where nobody says how many there are: lines of a file or a pipe need not be folded at 80."""

console = Console(highlight=False, width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDTH)


class Answer(Protocol):
    """What the engine answers with."""

    def to_dict(self) -> dict[str, Any]: ...

    def __rich__(self) -> RenderableType: ...


def emit(answer: Answer, as_json: bool) -> None:
    """Print an answer, for people or as JSON."""
    if as_json:
        emit_json(answer.to_dict())
    else:
        console.print(answer)


def show_followed(workflow: Workflow) -> None:
    """Say that verbs without Spark do not look at followed sources, if there are any."""
    if workflow.follows:
        console.print(f"what is new at {', '.join(workflow.follows)} arrives with run or serve", markup=False)


def show_decision(name: str, problem: Problem, decision: Decision, evidence: Evidence) -> None:
    """Print what was due, the steps with their cost, what is held afterwards, and what was rejected."""
    if decision.infeasible is not None:
        console.print(f"[bold]{name}[/bold]  [red]infeasible[/red]")
        console.print(f"  {decision.infeasible.reason}\n", markup=False)
        return
    if not decision.due:
        console.print(f"[bold]{name}[/bold]  nothing is due\n")
        return
    tree = Tree(f"[bold]{name}[/bold]  cost [bold]{decision.cost:.6g}[/bold]")
    due = tree.add("due")
    for reason in evidence.due:
        due.add(str(reason))
    steps = Table(box=None, pad_edge=False, show_edge=False)
    for column, side in (("#", "right"), ("step", "left"), ("makes", "left"), ("rows", "right"), ("cost", "right")):
        steps.add_column(column, justify=side, overflow="fold")  # type: ignore[arg-type]
    for number, step in enumerate(decision.steps, 1):
        label = f"deliver to {step.operands[-1].channel}" if step.is_delivery else str(step.operator)
        made = step.results[0] if step.is_delivery else None
        shown = f"holds {made.target}" if made is not None else "\n".join(str(b) for b in step.results)
        rows = "" if step.is_delivery else "\n".join(f"{b.rows:,.6g}" for b in step.results)
        steps.add_row(str(number), label, shown, rows, f"{step.cost:.6g}")
    tree.add("steps").add(steps)
    if evidence.slack:
        bounds = tree.add("left of each bound")
        for slack in evidence.slack:
            bounds.add(f"{slack.bound}: {slack.left:g}")
    if evidence.alternatives:
        rejected = Table(box=None, pad_edge=False, show_edge=False)
        for column in ("rejected", "cost", "reason"):
            rejected.add_column(column, overflow="fold")
        for other in evidence.alternatives:
            rejected.add_row(" → ".join(other.steps), f"{other.cost:.6g}", other.reason)
        tree.add("alternatives").add(rejected)
    if decision.rung is not None and (decision.rung.number or decision.rung.prunings.sections):
        tree.add(f"found at rung {decision.rung}")
    console.print(tree)
    console.print()
