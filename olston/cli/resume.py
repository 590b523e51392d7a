"""`olston resume`."""

from __future__ import annotations

from olston.cli.options import AsJson, InProject


def resume(project: InProject = None, as_json: AsJson = False) -> None:
    """Go on after `pause`.

    [bold]Example:[/bold] olston resume
    """
    from olston.cli.answers import emit_json
    from olston.cli.opened import opened
    from olston.cli.show import console

    with opened(project) as engine:
        engine.resume()
        name = engine.workflow.name
    if as_json:
        emit_json({"workflow": name, "paused": False})
    else:
        console.print(f"{name}: resumed")
