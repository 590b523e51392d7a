"""Files that are gone: what was derived leaves planning and is made again, what had arrived is asked for.

Nobody but `vacuum` should drop files below a home, and Delta's own VACUUM drops none that are needed. If it happened,
the steps that read them fail. Then the blocks that need them leave planning, all that arrived and is there may be used
again, and the planner is asked what can be done from what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlmodel import Session, select

from olston import filesystem, table
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, BlockRecord
from olston.content import Content
from olston.errors import StoreError
from olston.failure import reason
from olston.operators.columns import BLOCK
from olston.report import moment
from olston.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GONE = "FILES_GONE"
_SIGNS = (GONE, "FILE_NOT_EXIST", "FileNotFoundException", "DELTA_FILE_NOT_FOUND", "DELTA_TRUNCATED_TRANSACTION_LOG")
"""How Spark, Delta and the store say that a file is not there."""
_DAMAGED = (*_SIGNS, "[DELTA_", "MALFORMED_RECORD", "ChecksumException", "JsonParseException", "JsonEOFException")
"""How they say that a log cannot be read, now or ever."""


@dataclass(frozen=True)
class Place:
    """The rows that `attempt` wrote into a table; `rows` is 0 if it wrote no file."""

    table: str
    attempt: str
    rows: int


def places(content: Content) -> Iterator[Place]:
    """Where the rows of a block lie."""
    if content.anchor is not None:
        yield Place(content.anchor.table, content.anchor.attempt, content.anchor.rows)
    yield from (Place(p.table, p.attempt, p.rows) for p in content.parts)


def gone(store: Store, session: SparkSession, wanted: Iterable[Place]) -> set[Place]:
    """Those of `wanted` of which some file is not there; an error if that cannot be told at the moment."""
    tables: dict[str, set[Place]] = {}
    for place in wanted:
        tables.setdefault(place.table, set()).add(place)
    return {place for name, here in tables.items() for place in _gone(session, store.path(name), here)}


def _gone(session: SparkSession, path: str, wanted: set[Place]) -> Iterator[Place]:
    named: dict[str, set[str]] = {}  # by folder, what the log says is there
    try:
        listed = session.read.format("delta").load(path).inputFiles() if table.exists(session, path) else None
    except Exception as error:
        if not any(sign in f"{error} {reason(error)}" for sign in _DAMAGED):  # cancelled, cut off, out of reach
            raise StoreError(f"{path}: whether all its files are there could not be seen: {reason(error)}") from error
        listed = None  # nothing can be read by a log that cannot be read
    if listed is None:
        yield from wanted
        return
    for file in listed:
        folder, _, name = file.rpartition("/")
        folder = folder.rpartition("/")[2]
        named.setdefault(folder if folder.startswith(f"{BLOCK}=") else "", set()).add(name)
    for place in wanted:
        folder = f"{BLOCK}={place.attempt}"
        needed, where = (named[folder], f"{path}/{folder}") if folder in named else (named.get("", set()), path)
        if (place.rows and not needed) or needed - set(filesystem.names(session, where)):
            yield place


def seems_lost(error: BaseException | None) -> bool:
    """Whether a failure came, at whatever depth, of a file that is not there."""
    while error is not None:
        if any(sign in f"{getattr(error, 'code', '')} {error}" for sign in _SIGNS):
            return True
        error = error.__cause__
    return False


def leave_planning(catalog: Catalog, store: Store, session: SparkSession, error: BaseException) -> bool:
    """Take the blocks whose files are gone out of planning, if `error` was one of a file that is not there.

    Whether any was taken out, so that planning again may help.
    """
    if not seems_lost(error):
        return False
    workflow = store.workflow.name
    with catalog.look() as db:
        known = {r.id: Content.from_dict(r.content) for r in _used(db, workflow)}
    try:
        missing = gone(store, session, {p for content in known.values() for p in places(content)})
    except Exception:  # what cannot be looked at is not known to be gone; `error` is told as it is
        return False
    if not missing:
        return False
    dead = {id for id, content in known.items() if not missing.isdisjoint(places(content))}
    with catalog.transaction() as db:
        before = {r.id for r in _used(db, workflow) if r.live}
        for record in _used(db, workflow):
            record.live = record.id not in dead  # what arrived comes back: what was made of it may be gone
        return bool(before & dead)


def missing_input(catalog: Catalog, store: Store, session: SparkSession) -> StoreError | None:
    """The error that names what arrived and is not there any more; none if nothing is known to be gone."""
    workflow = store.workflow.name
    with catalog.look() as db:
        arrived = [
            (arrival, Content.from_dict(record.content))
            for arrival in db.exec(select(ArrivalRecord).where(ArrivalRecord.workflow == workflow).order_by("stamp"))
            if (record := db.get(BlockRecord, arrival.block)) is not None
        ]
    try:
        missing = gone(store, session, {p for _, content in arrived for p in places(content)})
    except Exception:
        return None
    lost = [(a, p) for a, content in arrived for p in places(content) if p in missing]
    if not lost:
        return None
    shown = "; ".join(f"{a.channel} at {moment(a.stamp)}: {store.path(p.table)}, {p.attempt}" for a, p in lost[:3])
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    first = lost[0][0].channel
    return StoreError(
        f"{first}: files of what arrived are gone ({shown}{more}), and what is due cannot be made without them. Bring "
        f"them back and call recover(force=True), or olston recover --force; or give all that is in {first} anew: "
        f'ingest({first!r}, …, kind="base"), or olston ingest {first} FILE --kind base.',
        code="INPUT_LOST",
    )


def _used(db: Session, workflow: str) -> list[BlockRecord]:
    """The blocks that planning uses or may use again: live ones, and all that arrived."""
    arrived = set(db.exec(select(ArrivalRecord.block).where(ArrivalRecord.workflow == workflow)))
    known = db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow))
    return [record for record in known if record.live or record.id in arrived]
