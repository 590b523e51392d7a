"""`olston vacuum`: drop files that no plan can use any more."""

from __future__ import annotations

from typing import Annotated

import typer

from olston.cli.options import AsJson, InProject


def vacuum(
    older_than: Annotated[str, typer.Option(help="Spare what is younger.", metavar="DURATION")] = "1 day",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be dropped.")] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Drop the files of blocks that left planning, and of attempts that came to nothing. Starts Spark.

    What arrived and what consumers hold stays; but input older than the `retention` of the project file goes, once a
    base has all of it.

    [bold]Example:[/bold] olston vacuum --older-than "2 days" --dry-run
    """
    from collections import Counter

    from olston.cli.answers import emit_json
    from olston.cli.opened import opened
    from olston.cli.show import console
    from olston.duration import microseconds

    microseconds(older_than)
    with opened(project) as engine:
        dropped = engine.vacuum(older_than, dry_run=dry_run)
    if as_json:
        emit_json({"dry_run": dry_run, "dropped": [vars(v) for v in dropped]})
        return
    for channel, number in sorted(Counter(v.channel for v in dropped).items()):
        console.print(f"{channel}: {number} {'attempt' if number == 1 else 'attempts'}", markup=False)
    console.print(("would be dropped" if dry_run else "dropped") if dropped else "nothing to drop")
