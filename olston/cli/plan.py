"""`olston plan`: what would be done, and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from olston.cli.options import AsJson, FullRefresh, FullRefreshAll, InProject, Select, check_outputs, demands
from olston.errors import ProblemError


def plan(
    select: Select = None,
    full_refresh: FullRefresh = None,
    full_refresh_all: FullRefreshAll = False,
    dump: Annotated[
        Path | None, typer.Option(help="Write the planning problem to this file, for --problem.", metavar="FILE")
    ] = None,
    problem: Annotated[
        Path | None, typer.Option(help="Solve the planning problems of a file instead.", metavar="FILE")
    ] = None,
    case: Annotated[str | None, typer.Option(help="Only the problem of this id.", metavar="ID")] = None,
    prunings: Annotated[
        str | None,
        typer.Option(
            help="For --problem: prunings to turn on, such as 6.2.1,6.2.2, 'all' or 'none'; by default those that the "
            "problem asks for.",
            metavar="LIST",
        ),
    ] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show what `run` would do with the same options, and why: runs nothing, and starts no Spark.

    It goes by what has arrived: what is new at followed sources arrives with `run` or `serve`.

    [bold]Examples:[/bold] olston plan; olston plan --dump problem.json; olston plan --problem problem.json
    """
    if problem is not None:
        _solve(problem, case, prunings, as_json)
        return
    if case is not None or prunings is not None:
        raise ProblemError("plan: --case and --prunings are about a file of planning problems; give --problem FILE.")
    _present(demands(select, full_refresh, full_refresh_all), dump, project, as_json)


def _present(asked: list[tuple[list[str], bool]], dump: Path | None, project: Path | None, as_json: bool) -> None:
    from olston.cli.answers import emit_json
    from olston.cli.opened import opened
    from olston.cli.show import console, show_followed

    target = None if dump is None else dump.resolve()
    with opened(project) as engine:
        for outputs, _ in asked:
            check_outputs(engine.workflow, outputs)
        plans = [engine.plan(*outputs, full=full) for outputs, full in asked]
        workflow = engine.workflow
    if target is not None:
        from olston.scheduler.problem_dump import dump as dumped

        cases = [dumped(p.problem, p.decision, workflow.name) for p in plans]
        numbered = [{**c, "id": f"{workflow.name}-{i}"} for i, c in enumerate(cases, 1)]
        _write(target, {"cases": numbered} if len(cases) > 1 else cases[0])
    if as_json:
        found = [p.to_dict() for p in plans]
        emit_json(found[0] if len(found) == 1 else found)
        return
    for one in plans:
        console.print(one)
    show_followed(workflow)
    if dump is not None:
        console.print(f"written to {dump}", markup=False)


def _write(path: Path, value: Any) -> None:
    try:
        path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ProblemError(f"{path}: cannot be written: {error.strerror}.") from None


def _solve(file: Path, case: str | None, prunings: str | None, as_json: bool) -> None:
    from olston.cli.answers import emit_json
    from olston.cli.show import show_decision
    from olston.scheduler.answer import answer
    from olston.scheduler.decide import decide
    from olston.scheduler.explain import explain
    from olston.scheduler.problem_file import read_file
    from olston.scheduler.prune import SECTIONS

    problems, several = read_file(file, case)
    answers: list[dict[str, Any]] = []
    for name, one, asked in problems:
        if prunings is None:
            chosen = asked.prunings
        elif prunings.strip() in ("all", "none"):
            chosen = SECTIONS if prunings.strip() == "all" else ()
        else:
            chosen = tuple(p.strip() for p in prunings.split(",") if p.strip())
        decision = decide(one, chosen, due=asked.due, replan=asked.replan)
        if as_json:
            answers.append(answer(name, one, decision))
        else:
            show_decision(name, one, decision, explain(one, decision))
    if as_json:
        emit_json(answers if several else answers[0])
