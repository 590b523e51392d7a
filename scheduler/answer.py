"""The answer to a planning problem, in the shapes of the problem format."""

from __future__ import annotations

from typing import Any

from olston.scheduler.decide import Decision
from olston.scheduler.explain import explain
from olston.scheduler.network import Variant
from olston.scheduler.plan import Invocation
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import show_block


def answer(name: str, problem: Problem, decision: Decision) -> dict[str, Any]:
    """`feasible`, `cost`, `holds_after`, `invocations`, what was emitted, how the plan was found, and the evidence."""
    found: dict[str, Any] = {
        "id": name,
        "feasible": decision.feasible,
        "cost": decision.cost if decision.feasible else None,
        "due": list(decision.due),
        "repaired": list(decision.due) if decision.feasible else [],
        "holds_after": {o: t.to_json() for o, t in decision.holds_after.items()},
        "emitted": {o: [show_block(b) for b in blocks] for o, blocks in decision.emitted.items()},
        "invocations": [show_invocation(s) for s in decision.work],
        "rung": decision.rung.number if decision.rung is not None else None,
        "prunings": list(decision.rung.prunings.sections) if decision.rung is not None else [],
    }
    if decision.infeasible is not None:
        reason = decision.infeasible
        found["why"] = reason.reason
        found["outputs"], found["widget"] = list(reason.outputs), reason.widget
        found["bounds"] = [str(b) for b in reason.bounds]
    else:
        found["evidence"] = explain(problem, decision).to_json()
    return found


def show_invocation(step: Invocation) -> dict[str, Any]:
    """An invocation as problem files show it."""
    assert isinstance(step.operator, Variant)
    return {
        "operator": step.operator.name,
        "channel": step.operator.outputs[0],
        "operands": [show_block(b) for b in step.operands],
        "results": [show_block(b) for b in step.results],
        "rows": [b.rows for b in step.results],
        "cost": step.cost,
    }
