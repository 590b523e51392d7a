"""`olston recover`: rebuild a catalog that was lost."""

from __future__ import annotations

from typing import Annotated

import typer

from olston.cli.options import AsJson, InProject


def recover(
    force: Annotated[
        bool, typer.Option("--force", help="Also if the catalog knows something: it is emptied first.")
    ] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild the catalog from what lies in the home. Nothing else may use the project meanwhile. Starts Spark.

    [bold]Examples:[/bold] olston recover; olston recover --force
    """
    from olston.cli.answers import emit_json
    from olston.cli.opened import opened
    from olston.cli.show import console

    with opened(project) as engine:
        found = engine.recover(force=force)
    if not as_json:
        console.print(found)
        return
    counts = {"arrivals": found.arrivals, "blocks": found.blocks, "deliveries": found.deliveries}
    ignored = [{"what": what, "why": why} for what, why in found.ignored]
    emit_json({"workflow": found.workflow, "home": found.home, **{k: dict(v) for k, v in counts.items()},
               "ignored": ignored})  # fmt: skip
