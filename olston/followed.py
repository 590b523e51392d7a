"""Followed sources, as they are declared: files that come, or a Delta table that changes (DESIGN 8)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from olston.duration import Duration, microseconds
from olston.errors import OlstonError, WorkflowError, unknown

FORMATS = {"parquet": ("parquet",), "orc": ("orc",), "csv": ("csv",), "json": ("json", "jsonl", "ndjson")}
"""What files may be in, with the suffixes that tell."""
TYPED = ("parquet", "orc")
"""The formats whose files say of which columns and types they are."""

_SUFFIX = re.compile(r"\.(\w+)(?:\.(?:gz|gzip|bz2|zst|zstd|snappy|lz4|deflate))?/?$")


@dataclass(frozen=True)
class Follows:
    """Where a followed source comes from, and how often it is polled, in microseconds."""

    files: str | None = None
    table: str | None = None
    poll: int | None = None
    format: str | None = None

    def __str__(self) -> str:
        return f"files {self.files}" if self.files is not None else f"table {self.table}"


def follows(
    name: str, schema: str | None, files: str | None, table: str | None, poll: Duration | None, format: str | None
) -> Follows | None:
    """What source `name` is declared to follow, none if nothing; an error where that makes no sense."""
    if files is not None and table is not None:
        raise WorkflowError(f"{name}: give files= or table=, not both.")
    if files is None and table is None:
        if poll is not None:
            raise WorkflowError(f"{name}: poll= needs files= or table= to follow.")
        if format is not None:
            raise WorkflowError(f"{name}: format= is that of files to follow; give files= too.")
        return None
    for option, given in (("files", files), ("table", table)):
        if given is not None and not str(given).strip():
            raise WorkflowError(f"{name}: {option}={given!r} names nothing to follow.")
    every = None if poll is None else _every(name, poll)
    if table is not None:
        if format is not None:
            raise WorkflowError(f"{name}: a table that is followed is a Delta table; leave format= out.")
        return Follows(table=str(table), poll=every)
    chosen = format_of(name, str(files), format)
    if schema is None and chosen not in TYPED:
        raise WorkflowError(
            f"{name}: {chosen} files do not say of which types their columns are; declare them, as in "
            f"wf.source({name!r}, 'url string, size int', files=…)."
        )
    return Follows(files=str(files), poll=every, format=chosen)


def _every(name: str, poll: Duration) -> int:
    try:
        every = microseconds(poll)
    except OlstonError as error:
        raise WorkflowError(f"{name}: poll={error.message}") from error
    if every <= 0:
        raise WorkflowError(f"{name}: poll={poll!r}; a source is polled every so often, say '5 min'.")
    return every


def format_of(name: str, files: str, given: str | None) -> str:
    """The format of `files` of source `name`: as `given`, or as their suffix tells."""
    if given is not None:
        if given not in FORMATS:
            raise unknown("format", given, FORMATS, f"source {name!r}")
        return given
    suffix = _SUFFIX.search(files)
    for format, suffixes in FORMATS.items():
        if suffix is not None and suffix[1].lower() in suffixes:
            return format
    raise WorkflowError(
        f"{name}: the name {files!r} does not tell the format of the files; add format=, one of {', '.join(FORMATS)}; "
        "olston ingest takes --format."
    )
