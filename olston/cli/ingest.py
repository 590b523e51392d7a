"""`olston ingest`: files arrive at a source."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from olston.cli.complete import sources
from olston.cli.options import AsJson, InProject

if TYPE_CHECKING:
    from olston.block import Block


class Kind(StrEnum):
    """What rows mean that arrive."""

    APPEND = "append"
    REPLACE = "replace"
    DELTA = "delta"
    BASE = "base"


def ingest(
    channel: Annotated[str, typer.Argument(help="A source.", autocompletion=sources)],
    files: Annotated[list[str], typer.Argument(help="Files of csv, json lines, parquet or orc.", metavar="FILE...")],
    kind: Annotated[
        Kind | None,
        typer.Option(help="Rows to add, to supersede those of their keys, with _weight, or all there is from now on."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="csv, json, parquet or orc, if suffixes do not tell.")] = None,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Let files arrive at a source, all of them as one wave. A keyed source replaces, another appends. Starts Spark.

    Nothing is computed: `olston run` does that, or `olston serve` by itself.

    [bold]Examples:[/bold] olston ingest pages new.csv; olston ingest pages all.parquet --kind base
    """
    from functools import reduce

    from olston.cli.answers import emit_json
    from olston.cli.opened import opened
    from olston.cli.show import console
    from olston.errors import IngestError
    from olston.files import offered
    from olston.followed import format_of
    from olston.report import moment

    paths = [given if "://" in given else str(Path(given).resolve()) for given in files]
    with opened(project) as engine:
        source = engine.workflow.channel(channel)
        if not source.is_source:
            raise IngestError(f"{channel}: is no source; data arrives at {', '.join(engine.workflow.sources)}.")
        formats = [format_of(channel, path, format) for path in paths]
        for path in paths:
            if "://" not in path and not Path(path).exists():
                raise IngestError(f"{channel}: {path}: no such file.")
        declared = engine.store.schemas.public(channel)
        parts = [offered(engine.spark, channel, declared, f, p) for f, p in zip(formats, paths, strict=True)]
        rows = reduce(lambda one, other: one.unionByName(other), parts)
        block = engine.ingest(channel, rows, kind)
    if as_json:
        emit_json(arrived(block))
    else:
        console.print(f"{channel}: {block.rows:,.0f} rows arrived at {moment(block.stamp)}, block {block.id}")


def arrived(block: Block) -> dict[str, Any]:
    """A wave that arrived, as JSON tells it."""
    return {
        "channel": block.channel,
        "block": block.id,
        "kind": block.kind,
        "stamp": block.stamp,
        "rows": block.rows,
    }
