"""`olston history`: what was done, expected against actual."""

from __future__ import annotations

from typing import Annotated

import typer

from olston.cli.options import AsJson, InProject


def history(
    limit: Annotated[int, typer.Option(help="Steps to show, the newest first.", min=1)] = 20,
    costs: Annotated[
        bool, typer.Option("--costs", help="What each variant was expected to cost and did, and the rates learned.")
    ] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show the last steps with estimated against actual cost and rows.

    [bold]Examples:[/bold] olston history --limit 5; olston history --costs
    """
    from olston.cli.opened import opened
    from olston.cli.show import emit

    with opened(project) as engine:
        if costs:
            emit(engine.costs(), as_json)
        else:
            emit(engine.history(limit), as_json)
