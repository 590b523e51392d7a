"""`olston provenance`: which snapshots a channel reflects."""

from __future__ import annotations

from typing import Annotated

import typer

from olston.cli.complete import channels
from olston.cli.options import AsJson, InProject


def provenance(
    channel: Annotated[str, typer.Argument(help="An output, or another channel.", autocompletion=channels)],
    where: Annotated[
        str | None,
        typer.Option(
            help="For rows of which this holds, the snapshots they may come from. Starts Spark.", metavar="SQL"
        ),
    ] = None,
    at: Annotated[str | None, typer.Option(help="What it reflected then: 2026-03-01T12:00.", metavar="TIME")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Show the snapshots of the sources that a channel reflects, by date and time, and how far apart they are.

    [bold]Examples:[/bold] olston provenance output; olston provenance output --where "url = 'http://a.org/1'"
    """
    from olston.cli.moments import parse_moment
    from olston.cli.opened import opened
    from olston.cli.show import emit

    moment = parse_moment(at)
    with opened(project) as engine:
        if where is None:
            emit(engine.provenance(channel, moment), as_json)
        else:
            emit(engine.trace(channel, where, moment), as_json)
