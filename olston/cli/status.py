"""`olston status`: how the outputs stand against their bounds."""

from __future__ import annotations

from typing import Annotated

import typer

from olston.cli import exits
from olston.cli.options import AsJson, InProject


def status(
    fail_if_stale: Annotated[
        bool,
        typer.Option(
            "--fail-if-stale", help="Exit with 5 if an output breaks a bound, or has nothing of its definition."
        ),
    ] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show staleness and inconsistency against each bound, the next deadline, what runs, and what failed and why.

    [bold]Examples:[/bold] olston status; olston status --fail-if-stale --json
    """
    from olston.cli.opened import opened
    from olston.cli.show import emit, show_followed

    with opened(project) as engine:
        found, workflow = engine.status(), engine.workflow
    emit(found, as_json)
    if not as_json:
        show_followed(workflow)
    if fail_if_stale and found.stale:
        raise typer.Exit(exits.STALE)
