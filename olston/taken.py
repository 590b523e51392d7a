"""What was taken from followed sources, in the catalog.

It is recorded in the transaction in which the wave arrives, and only if nobody took anything since it was looked up:
what comes in through a followed source comes in once, whoever polls, and whenever one of them dies. Each arrival
also says what was taken, and so does its file: a catalog that was lost knows it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, delete, select

from olston.catalog.records import ArrivalRecord, FollowedRecord, TakenRecord
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
    columns: Any = None
    """Those found at a source that was declared without any, as JSON."""

    def told(self, digest: str) -> dict[str, Any]:
        """What its arrival says of it."""
        files = [[f.path, f.size, f.modified] for f in self.files]
        said = {"files": files, "table": self.table, "version": self.version, "anew": self.anew}
        return {**said, "columns": self.columns, "digest": digest}


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
        _keep(db, workflow, found.channel, file, found.wave.attempt)
    return True


def _keep(db: Session, workflow: str, channel: str, file: File, block: str) -> None:
    db.add(
        TakenRecord(
            workflow=workflow, channel=channel, path=file.path, size=file.size, modified=file.modified, block=block
        )
    )


def restore(db: Session, workflow: str, arrivals: Iterable[ArrivalRecord]) -> None:
    """Know again how far sources were taken, by what all of their `arrivals`, in order, say."""
    for table in (TakenRecord, FollowedRecord):
        db.exec(delete(table).where(col(table.workflow) == workflow))
    last: dict[str, FollowedRecord] = {}
    files: dict[str, dict[str, tuple[File, str]]] = {}
    for arrival in arrivals:
        said = arrival.taken
        if said is None:
            continue
        name = arrival.channel
        last[name] = FollowedRecord(
            workflow=workflow, channel=name, rounds=1 + (last[name].rounds if name in last else 0),
            digest=said["digest"], table_id=said["table"], version=said["version"], columns=said["columns"],
        )  # fmt: skip
        there = files.setdefault(name, {})
        if said["anew"]:
            there.clear()
        there.update({path: (File(path, size, when), arrival.block) for path, size, when in said["files"]})
    db.add_all(last.values())
    for name, found in files.items():
        for file, block in found.values():
            _keep(db, workflow, name, file, block)


def together(arrivals: Iterable[ArrivalRecord]) -> dict[str, Any] | None:
    """What several arrivals of one source, in order, say was taken, as one that begins anew would say it."""
    said, files = None, dict[str, list[Any]]()
    for told in (a.taken for a in arrivals if a.taken is not None):
        said = told
        if told["anew"]:
            files.clear()
        files |= {file[0]: file for file in told["files"]}
    return None if said is None else {**said, "files": list(files.values()), "anew": True}


def columns_told(arrivals: Iterable[ArrivalRecord], digests: Mapping[str, str]) -> dict[str, Any]:
    """The columns that were found at sources declared without any, by what arrivals say of the present `digests`."""
    return {
        a.channel: a.taken["columns"]
        for a in arrivals
        if a.taken is not None and a.taken["columns"] and a.taken["digest"] == digests.get(a.channel)
    }


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
