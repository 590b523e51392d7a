"""`olston plan`: what would be done, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from olston.errors import ProblemError


def plan(
    problem: Annotated[Path | None, typer.Option(help="A file of planning problems to solve.", metavar="FILE")] = None,
    case: Annotated[str | None, typer.Option(help="Only the case of this id.", metavar="ID")] = None,
    prunings: Annotated[
        str, typer.Option(help="Prunings to turn on, such as 6.2.1,6.2.2, or 'all'; none by default.", metavar="LIST")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the cheapest plan that keeps the promises, and why it was chosen.

    [bold]Example:[/bold] olston plan --problem tests/data/problems.json --case problem05
    """
    from olston.cli.show import show_decision
    from olston.scheduler.answer import answer
    from olston.scheduler.decide import decide
    from olston.scheduler.explain import explain
    from olston.scheduler.problem_file import read_file
    from olston.scheduler.prune import SECTIONS

    if problem is None:
        raise ProblemError("plan: nothing to plan; give a file of planning problems with --problem FILE.")
    chosen = SECTIONS if prunings.strip() == "all" else [p.strip() for p in prunings.split(",") if p.strip()]
    problems, several = read_file(problem, case)
    answers: list[dict[str, Any]] = []
    for name, one in problems:
        decision = decide(one, chosen, replan=True)
        if as_json:
            answers.append(answer(name, one, decision))
        else:
            show_decision(name, one, decision, explain(one, decision))
    if as_json:
        print(json.dumps(answers if several else answers[0], ensure_ascii=False))
