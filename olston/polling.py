"""Looking at a followed source: what is new there is written as one wave, still without a stamp."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from olston import changes, files, ingest, taken
from olston.attempt import new_attempt
from olston.catalog import Catalog
from olston.errors import IngestError, SchemaError
from olston.failure import reason
from olston.followed import Follows
from olston.operators.columns import DELETED
from olston.schema import nullable
from olston.store import Store
from olston.taken import File, Found, Position

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from olston.workflow import Workflow

_IN_FILE = re.compile(r"while reading file (\S+?)\.?(?:\s|$)")


def look(
    store: Store, session: SparkSession, channel: str, known: Position, digest: str, *, anew: bool = False
) -> Found | None:
    """What is new at `channel` after `known`, or with `anew` all there is, written; none if nothing is.

    `digest` is how the source is defined. `session` must not be used by another thread meanwhile.
    """
    follows = store.workflow.follows[channel]
    other = known.digest != digest or (known.version is not None and follows.table is None)
    if known.rounds and other and not anew:
        raise IngestError(
            f"{channel}: is declared otherwise than when it was last polled, and what was taken then does not fit its "
            f"{'columns and key' if known.digest != digest else 'files'}; {_anew(channel)}.",
            code="REDECLARED",
        )
    with _explained(channel):
        if follows.table is not None:
            return _table(store, session, channel, follows.table, known, anew)
        return _files(store, session, channel, follows, known, anew)


def columns(
    catalog: Catalog,
    session: SparkSession,
    workflow: Workflow,
    digests: Mapping[str, str],
    told: Mapping[str, Any] | None = None,
) -> dict[str, StructType]:
    """The columns of the followed sources that were declared without any: as they were when first looked at.

    A catalog that was lost does not know them, but arrivals have `told` them.
    """
    from pyspark.sql.types import StructType

    found = {}
    for name, follows in workflow.follows.items():
        if workflow.channels[name].schema is None:
            with catalog.look() as db:
                known = taken.columns(db, workflow.name, name, digests[name])
            if known is None:
                seen = (told or {}).get(name) or _columns(session, name, follows).jsonValue()
                with catalog.transaction() as db:
                    known = taken.keep_columns(db, workflow.name, name, digests[name], seen)
            found[name] = StructType.fromJson(known)
    return found


def columns_now(session: SparkSession, workflow: Workflow) -> dict[str, StructType]:
    """The columns of the followed sources that were declared without any: as they are now, whatever is remembered."""
    undeclared = [name for name in workflow.follows if workflow.channels[name].schema is None]
    return {name: _columns(session, name, workflow.follows[name]) for name in undeclared}


def _files(
    store: Store, session: SparkSession, channel: str, follows: Follows, known: Position, anew: bool
) -> Found | None:
    source, new = store.workflow.channels[channel], _listed(session, channel, follows)
    if not anew:
        for file in new:
            if known.files.get(file.path, file) != file:
                raise _changed(channel, known.files[file.path], "since it was taken")
        new = [file for file in new if file.path not in known.files]
        if not new:
            return None
    files.refuse_delta(session, channel, new)
    assert follows.format is not None
    rows = files.read(session, source, store.schemas.public(channel), follows.format, new)
    kind = "base" if anew else "append" if source.key is None else "replace"
    if anew and source.key is not None:
        rows = rows.where(f"NOT {DELETED}").drop(DELETED)
    wave = ingest.write(store, session, channel, rows, kind, new_attempt())
    other = files.changed(session, new)
    if other is not None:
        raise _changed(channel, other, "while it was read")
    return Found(channel, known.rounds, wave, tuple(new), anew=anew, columns=_seen(store, channel))


def _table(store: Store, session: SparkSession, channel: str, name: str, known: Position, anew: bool) -> Found | None:
    now = changes.look(session, channel, name)
    changes.refuse_without_feed(channel, now)
    seen = _seen(store, channel)
    if anew or known.version is None:
        rows = changes.content(session, now)
        wave = ingest.write(store, session, channel, rows, "base", new_attempt())
        return Found(channel, known.rounds, wave, table=now.id, version=now.version, anew=True, columns=seen)
    if now.id != known.table or now.version < known.version:
        raise IngestError(
            f"{channel}: table {name} is not the one that was taken up to version {known.version}, but another, at "
            f"version {now.version}; {_anew(channel)}.",
            code="REPLACED_TABLE",
        )
    if now.version == known.version:
        return None
    try:
        changed = changes.changes(session, now, known.version)
        wave = ingest.write(store, session, channel, changed, "delta", new_attempt())
    except Exception as error:
        if isinstance(error, IngestError) and error.code != IngestError.code:
            raise
        cause = error.__cause__ if isinstance(error, IngestError) else error
        raise IngestError(
            f"{channel}: what changed in table {name} after version {known.version} cannot be read: "
            f"{reason(cause or error)} Nothing of it has arrived. If it is gone for good, as after a VACUUM, "
            f"{_anew(channel)}.",
            code="CHANGES_GONE",
        ) from error
    # versions that change no rows, as OPTIMIZE makes them, are taken and do not arrive
    arrives = wave if wave.rows else None
    return Found(channel, known.rounds, arrives, table=now.id, version=now.version, columns=seen)


def _seen(store: Store, channel: str) -> Any:
    """The columns that were found at a source declared without any."""
    return store.schemas.public(channel).jsonValue() if store.workflow.channels[channel].schema is None else None


def _listed(session: SparkSession, channel: str, follows: Follows) -> list[File]:
    assert follows.files is not None
    try:
        return files.listing(session, follows.files)
    except Exception as error:
        raise IngestError(
            f"{channel}: follows files {follows.files}, which cannot be listed: {reason(error)} Check the path, and "
            "that Spark may read it."
        ) from error


def _columns(session: SparkSession, channel: str, follows: Follows) -> Any:
    from pyspark.sql.types import StructType

    declare = f"declare its columns, as in wf.source({channel!r}, 'url string', …)"
    if follows.table is not None:
        found = changes.columns(session, changes.look(session, channel, follows.table))
    else:
        there = _listed(session, channel, follows)
        if not there:
            raise SchemaError(
                f"{channel}: follows files {follows.files}, of which there is none yet to tell the columns; {declare}."
            )
        assert follows.format is not None
        try:
            found = files.columns(session, follows.format, there)
        except Exception as error:
            raise SchemaError(
                f"{channel}: {there[0].path} does not tell its columns: {reason(error)} Mend it, or {declare}."
            ) from error
    return StructType([f for f in nullable(found).fields if f.name != DELETED])


@contextmanager
def _explained(channel: str) -> Iterator[None]:
    """Errors of what arrives, with what can be done where it came from."""
    try:
        yield
    except IngestError as error:
        if error.code == "SCHEMA_DRIFT":
            said = f"{error.message} For other columns from now on: declare them, then {_anew(channel)}."
            raise IngestError(said, code=error.code) from error
        where = _IN_FILE.search(str(error.__cause__)) if error.code == IngestError.code else None
        if where is not None and where[1] not in error.message:
            raise IngestError(f"{error.message} It was in {where[1]}.", code=error.code) from error.__cause__
        raise


def _changed(channel: str, was: File, when: str) -> IngestError:
    then = datetime.fromtimestamp(was.modified / 1000, tz=UTC).isoformat(sep=" ", timespec="milliseconds")
    return IngestError(
        f"{channel}: {was.path}, which had {was.size} bytes of {then}, has changed {when}. A file is taken once and "
        f"whole: put changes into a file of another name, written elsewhere and renamed; or {_anew(channel)}.",
        code="CHANGED_FILE",
    )


def _anew(channel: str) -> str:
    return f"take all there is now with engine.poll({channel!r}, anew=True), or olston run --anew {channel}"
