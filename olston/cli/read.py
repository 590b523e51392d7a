"""`olston read`: the rows of a channel."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from olston.cli.answers import emit_text
from olston.cli.complete import channels
from olston.cli.options import InProject

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class Format(StrEnum):
    """How rows are printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def read(
    channel: Annotated[str, typer.Argument(help="An output, or another channel.", autocompletion=channels)],
    limit: Annotated[int, typer.Option(help="Rows to print at most; 0 for all.", min=0)] = 20,
    at: Annotated[
        str | None, typer.Option(help="What was there then, 2026-03-01T12:00; or the id of a block.", metavar="TIME")
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print them.")] = Format.TABLE,
    project: InProject = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Print what the consumer of an output holds, or the newest readable rows of another channel. Starts Spark.

    [bold]Examples:[/bold] olston read output --limit 5; olston read output --format csv --limit 0 > output.csv
    """
    from olston.attempt import is_attempt
    from olston.cli.moments import parse_moment
    from olston.cli.opened import opened

    moment = at if at is not None and is_attempt(at.partition(".")[0]) else parse_moment(at)
    with opened(project) as engine:
        rows = engine.read(channel, moment)
        _print(rows if limit == 0 else rows.limit(limit), Format.JSON if as_json else format)


def _print(rows: DataFrame, format: Format) -> None:
    import csv
    import sys

    if format is Format.JSON:
        emit_text(f"[{', '.join(_as_json(rows))}]")
    elif format is Format.CSV:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(rows.columns)
        writer.writerows(map(_as_text, row) for row in rows.toLocalIterator())
    else:
        from rich.table import Table
        from rich.text import Text

        from olston.cli.show import console

        table = Table(box=None, pad_edge=False)
        for name in rows.columns:
            table.add_column(Text(name), overflow="fold")
        for row in rows.collect():
            table.add_row(*(Text(_as_text(value)) for value in row))
        console.print(table)


def _as_text(value: Any) -> str:
    """A value as people read it; bytes in hexadecimal digits."""
    if isinstance(value, bytearray):
        return value.hex()
    return "" if value is None else str(value)


def _as_json(rows: DataFrame) -> list[str]:
    """Each row as Spark writes it, with its nulls."""
    from pyspark.sql import functions as F

    from olston.operators.columns import col

    whole = F.to_json(F.struct(*[col(c) for c in rows.columns]), {"ignoreNullFields": "false"})
    return [str(row[0]) for row in rows.select(whole).collect()]
