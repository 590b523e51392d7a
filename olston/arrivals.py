"""The files of arrivals: what arrived, said once more beside the data, so that it outlives the catalog.

    <home>/arrivals/<workflow>/<stamp>.json

An arrival gets its stamp in the catalog's transaction, after its data was committed; no commit can name it. Its file
is written after that transaction and before the caller is told: whatever was acknowledged has one, and what has one was
catalogued. A file that a crash kept from being written is written when an engine next opens the home.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmodel import Session, col, delete, select

from olston import filesystem
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, BlockRecord, RewriteRecord
from olston.errors import CatalogError, StoreError
from olston.failure import reason
from olston.report import moment
from olston.store import Store, folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Waves:
    """All that arrived under one stamp, as the catalog has it."""

    stamp: int
    arrivals: tuple[ArrivalRecord, ...]
    blocks: tuple[BlockRecord, ...]


def keep(store: Store, session: SparkSession, waves: Waves) -> None:
    """Write the file of an arrival."""
    path = f"{place(store.home, store.workflow.name)}/{waves.stamp:020d}.json"
    try:
        filesystem.put(session, path, _text(waves))
    except Exception as error:
        channels = ", ".join(a.channel for a in waves.arrivals)
        raise StoreError(
            f"{channels}: the data has arrived, at {moment(waves.stamp)}, so do not offer it again; but {path} could "
            f"not be written: {reason(error)} Until it is, by the next engine that opens this home, a lost catalog "
            "could not be recovered in full.",
            code="ARRIVED_WITHOUT_FILE",
        ) from error


def _text(waves: Waves) -> str:
    """What the file of an arrival says."""
    arrived = [a.model_dump() for a in waves.arrivals]
    return json.dumps({"arrivals": arrived, "blocks": [{**b.model_dump(), "live": True} for b in waves.blocks]})


def rewrite(catalog: Catalog, store: Store, session: SparkSession) -> None:
    """Let the files say what the catalog does, where it was changed.

    Whoever comes across such a change does it, since a crash may fall between the two.
    """
    workflow = store.workflow.name
    with catalog.look() as db:
        changed = list(db.exec(select(RewriteRecord.stamp).where(RewriteRecord.workflow == workflow)))
        written = list(catalogued_as(db, workflow, changed))
    for waves in written:
        filesystem.drop(session, f"{place(store.home, workflow)}/{waves.stamp:020d}.json")
        if waves.arrivals:
            keep(store, session, waves)
    if not written:
        return
    with catalog.transaction() as db:
        said = {w.stamp: _text(w) for w in written}
        # what has changed once more meanwhile is still to be written
        done = [w.stamp for w in catalogued_as(db, workflow, changed) if _text(w) == said[w.stamp]]
        db.exec(
            delete(RewriteRecord).where(col(RewriteRecord.workflow) == workflow, col(RewriteRecord.stamp).in_(done))
        )


def kept(session: SparkSession, place: str) -> Iterator[Waves]:
    """What the files at `place` say, in the order of stamps."""
    for stamp in stamps(session, place):
        said: dict[str, Any] = json.loads(filesystem.text(session, f"{place}/{stamp:020d}.json"))
        yield Waves(
            stamp, tuple(ArrivalRecord(**a) for a in said["arrivals"]), tuple(BlockRecord(**b) for b in said["blocks"])
        )


def complete(catalog: Catalog, store: Store, session: SparkSession) -> tuple[set[int], set[int]]:
    """Write the files that are missing. The stamps that the catalog knows, and those that only files do."""
    rewrite(catalog, store, session)
    # before the catalog: what is catalogued meanwhile may have none yet
    there = set(stamps(session, place(store.home, store.workflow.name)))
    with catalog.look() as db:
        known = select(ArrivalRecord.stamp).where(ArrivalRecord.workflow == store.workflow.name).distinct()
        catalogued = set(db.exec(known))
        missing = list(catalogued_as(db, store.workflow.name, sorted(catalogued - there)))
    for waves in missing:
        keep(store, session, waves)
    unknown = there - catalogued
    if unknown:  # or somebody has just let go of them
        rewrite(catalog, store, session)
        unknown &= set(stamps(session, place(store.home, store.workflow.name)))
    return catalogued, unknown


def check(catalog: Catalog, store: Store, session: SparkSession) -> None:
    """Write the files that are missing; an error if the catalog does not know what some of them say.

    Also if the home is that of another workflow, whose channels might have the same names.
    """
    others = set(filesystem.folders(session, store.path("arrivals"))) - {folder(store.workflow.name)}
    if others:
        raise StoreError(
            f"{store.workflow.name}: {store.home} is the home of workflow {min(others)!r}, and two in one home would "
            f"write over each other; give {store.workflow.name!r} a home of its own.",
            code="HOME_TAKEN",
        )
    catalogued, unknown = complete(catalog, store, session)
    if unknown:
        raise lost(catalog, store.home, store.workflow.name, unknown, bool(catalogued))


def lost(catalog: Catalog, home: str, workflow: str, unknown: Collection[int], knows: bool) -> CatalogError:
    """What to say of stamps that the catalog does not know; `knows` whether it knows any."""
    return CatalogError(
        f"{workflow}: files of arrivals, {len(unknown)} in number and the oldest of {moment(min(unknown))}, lie in "
        f"{place(home, workflow)}, and the catalog {catalog.url} does not know these arrivals: it was lost, is older "
        f"than the home, or belongs to another. Name the right catalog, or rebuild this one by {rebuilding(knows)}.",
        code="CATALOG_LOST",
    )


def rebuilding(knows: bool) -> str:
    """How a catalog is rebuilt; what it `knows` is emptied first."""
    return (
        "Engine(…).recover(force=True) or olston recover --force" if knows else "Engine(…).recover() or olston recover"
    )


def catalogued_as(db: Session, workflow: str, stamps: Iterable[int]) -> Iterator[Waves]:
    """What arrived under each of `stamps`."""
    for stamp in stamps:
        known = select(ArrivalRecord).where(ArrivalRecord.workflow == workflow, ArrivalRecord.stamp == stamp)
        arrivals = tuple(db.exec(known.order_by("channel")))
        blocks = select(BlockRecord).where(col(BlockRecord.id).in_([a.block for a in arrivals]))
        yield Waves(stamp, arrivals, tuple(db.exec(blocks)))


def place(home: str, workflow: str) -> str:
    """Where the files of a workflow's arrivals lie."""
    return f"{home}/arrivals/{folder(workflow)}"


def stamps(session: SparkSession, place: str) -> list[int]:
    """The stamps that have files at `place`."""
    named = (name.partition(".") for name in filesystem.names(session, place))
    return sorted(int(stem) for stem, _, ending in named if stem.isdigit() and ending == "json")
