"""`olston pause`."""

from __future__ import annotations

from olston.cli.options import AsJson, InProject


def pause(project: InProject = None, as_json: AsJson = False) -> None:
    """Begin nothing until it is resumed; what runs finishes, and data may go on arriving.

    [bold]Example:[/bold] olston pause
    """
    from olston.cli.answers import emit_json
    from olston.cli.opened import opened
    from olston.cli.show import console

    with opened(project) as engine:
        engine.pause()
        name = engine.workflow.name
    if as_json:
        emit_json({"workflow": name, "paused": True})
    else:
        console.print(f"{name}: paused")
