"""What was taken from followed sources, in the catalog.

It is recorded in the transaction in which the wave arrives, and only if nobody took anything since it was looked up:
what comes in through a followed source comes in once, whoever polls, and whenever one of them dies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, delete, select

from olston.catalog.records import FollowedRecord, TakenRecord
from olston.ingest import Arrived


@dataclass(frozen=True)
class File:
    """A file as it was seen; `modified` in milliseconds since the epoch, as file systems tell it."""

    path: str
    size: int
    modified: int


@dataclass(frozen=True)
class Position:
    """How far a followed source was taken, after `rounds` that took something; `digest` is how it was defined then."""

    rounds: int = 0
    digest: str | None = None
    table: str | None = None
    version: int | None = None
    files: Mapping[str, File] = field(default_factory=dict)


@dataclass(frozen=True)
class Found:
    """What was found after `rounds`, and the wave it is; none if what changed is not in the rows."""

    channel: str
    rounds: int
    wave: Arrived | None
    files: tuple[File, ...] = ()
    table: str | None = None
    version: int | None = None
    anew: bool = False


def position(db: Session, workflow: str, channel: str) -> Position:
    """How far `channel` was taken."""
    known = db.get(FollowedRecord, (workflow, channel))
    if known is None:
        return Position()
    rows = db.exec(
        select(TakenRecord.path, TakenRecord.size, TakenRecord.modified).where(
            TakenRecord.workflow == workflow, TakenRecord.channel == channel
        )
    )
    files = {path: File(path, size, modified) for path, size, modified in rows}
    return Position(known.rounds, known.digest, known.table_id, known.version, files)


def take(db: Session, workflow: str, found: Found, digest: str) -> bool:
    """Record that `found` is taken, unless somebody else took something meanwhile."""
    known = _record(db, workflow, found.channel, digest)
    if known.rounds != found.rounds:
        return False
    known.rounds, known.digest, known.table_id, known.version = found.rounds + 1, digest, found.table, found.version
    if found.anew:
        every = delete(TakenRecord)
        db.exec(every.where(TakenRecord.workflow == workflow, TakenRecord.channel == found.channel))  # type: ignore[arg-type]
    for file in found.files:
        assert found.wave is not None
        db.add(
            TakenRecord(
                workflow=workflow, channel=found.channel, path=file.path, size=file.size, modified=file.modified,
                block=found.wave.attempt,
            )
        )  # fmt: skip
    return True


def forget(db: Session, workflow: str, channel: str) -> None:
    """It is not known any more what was taken: the source has to be taken anew."""
    known = _record(db, workflow, channel, "")
    known.rounds, known.digest = known.rounds + 1, ""


def columns(db: Session, workflow: str, channel: str, digest: str) -> Any:
    """The columns that were found at a source declared without any, as JSON, while it is defined as it was then."""
    known = db.get(FollowedRecord, (workflow, channel))
    return None if known is None or known.digest != digest else known.columns


def keep_columns(db: Session, workflow: str, channel: str, digest: str, found: Any) -> Any:
    """Keep `found` as the columns of a source; returns those that hold, which are somebody else's if he was first."""
    known = _record(db, workflow, channel, digest)
    if known.columns is None or known.digest != digest:
        known.columns = found
    return known.columns


def _record(db: Session, workflow: str, channel: str, digest: str) -> FollowedRecord:
    known = db.get(FollowedRecord, (workflow, channel))
    if known is None:
        known = FollowedRecord(workflow=workflow, channel=channel, digest=digest)
        db.add(known)
    return known
