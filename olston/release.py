"""Letting go of old input, if the user sets a retention (DESIGN 4).

The arrivals of a source that are older go, up to one of which a base was written that has all of them. That base takes
the place of its arrival and stands for all that went: so a source is read, planned for and recovered as if it had been
given as a base then. First the catalog says so, then the files of the arrivals, then their data goes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmodel import Session, col, select

from olston import arrivals, taken
from olston import state as states
from olston.block import BASE
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, BlockRecord, RewriteRecord
from olston.content import Content
from olston.faults import point
from olston.lost import gone, places
from olston.planning import Planning
from olston.provenance import Stamp
from olston.retention import deliveries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from olston.store import Store

MAX = 2**63


@dataclass(frozen=True)
class LetGo:
    """The arrivals of one source that go, and the one whose base stands for them."""

    source: str
    gone: tuple[ArrivalRecord, ...]
    stands: ArrivalRecord
    base: BlockRecord

    @property
    def blocks(self) -> set[str]:
        """The blocks that held the arrivals."""
        return {a.block for a in (*self.gone, self.stands)} - {self.base.id}


def release(
    catalog: Catalog,
    store: Store,
    session: SparkSession,
    planning: Planning,
    before: Stamp,
    fed: Collection[str],
    dry_run: bool,
) -> tuple[set[str], set[str]]:
    """Let go of input that arrived before a moment, or only look.

    Returns the attempts of the bases that will stand for more when that is old, which may not go; and, if it only
    looked, those that nobody would need. `fed` are the attempts that feeds read.
    """
    there: dict[str, bool] = {}
    with catalog.look() as db:
        found = Old(db, planning, before, fed)
        for base in found.bases:
            there[str(base.id)] = not gone(store, session, places(Content.from_dict(base.content)))
        going, spared = found.input(there)
        if dry_run:
            released = {a for g in going for id in g.blocks for a in _attempts(found.blocks[id])}
            return spared, released - {a for g in going for a in _attempts(g.base)}
    with catalog.transaction() as db:
        going, spared = Old(db, planning, before, fed).input(there)
        _let_go(db, planning, going)
        for delivery in deliveries(db, planning.workflow.name, before)[1]:
            db.delete(delivery)
    point("input-let-go")
    arrivals.rewrite(catalog, store, session)
    return spared, set()


class Old:
    """What arrived before a moment and nothing needs: nothing live or delivered names it or anything older."""

    def __init__(self, db: Session, planning: Planning, before: Stamp, fed: Collection[str]) -> None:
        self._planning, self._before, workflow = planning, before, planning.workflow.name
        self._needed = states.attempts(db, workflow, (), arrived=False) | set(fed)
        self.blocks = {b.id: b for b in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow))}
        self._arrived: dict[str, list[ArrivalRecord]] = {source: [] for source in planning.workflow.sources}
        for arrival in db.exec(select(ArrivalRecord).where(ArrivalRecord.workflow == workflow).order_by("stamp")):
            self._arrived.setdefault(arrival.channel, []).append(arrival)
        named = [(b.channel, b.digest, r) for b in self.blocks.values() if b.live for r in (b.source, b.target) if r]
        named += [(d.output, d.digest, d.content) for d in deliveries(db, workflow, before)[0]]
        self._oldest: dict[str, int] = {}
        """The oldest snapshot of each source that something names which planning knows by the present definition."""
        for channel, digest, runs in named:
            if digest == planning.digests.get(channel):
                for source, entry in zip(planning.network.inputs[channel], runs, strict=True):
                    self._oldest[source] = min(_stamps([entry]) | {self._oldest.get(source, MAX)})

    @property
    def bases(self) -> list[BlockRecord]:
        """The bases of sources that may stand for arrivals."""
        return [base for source in self._arrived for base in self._whole(source).values()]

    def input(self, there: Mapping[str, bool]) -> tuple[list[LetGo], set[str]]:
        """What may go, and the attempts of bases that will stand next; `there` says which have their files."""
        found = [self._of(source, there) for source in self._planning.workflow.sources]
        return [g for g, _ in found if g is not None], {a for _, spared in found for a in spared}

    def _of(self, source: str, there: Mapping[str, bool]) -> tuple[LetGo | None, set[str]]:
        arrived, bases, found = self._arrived[source], self._whole(source), None
        for i, arrival in enumerate(arrived):
            base = bases.get(arrival.stamp)
            if base is None or not there.get(base.id):
                continue
            held = [self.blocks[a.block] for a in arrived[: i + 1] if a.block != base.id]
            used = any(b.live or not _attempts(b).isdisjoint(self._needed) for b in held)
            young = max(a.offered_at for a in arrived[: i + 1]) >= self._before
            if used or young or arrival.stamp > self._oldest.get(source, MAX):
                return found, _attempts(base)
            if held:
                found = LetGo(source, tuple(arrived[:i]), arrival, base)
        return found, set()

    def _whole(self, source: str) -> dict[int, BlockRecord]:
        """By stamp, the bases of one snapshot that were written as anchors: these are found without the catalog too."""
        found = {}
        for block in self.blocks.values():
            content = Content.from_dict(block.content) if block.channel == source and block.kind == BASE else None
            if content is not None and content.anchor is not None and not content.parts:
                stamps = _stamps(block.target)
                if len(stamps) == 1:
                    found[min(stamps)] = block
        return found


def _stamps(runs: Sequence[Any]) -> set[int]:
    """The ends of the runs of arrivals that provenance is kept as."""
    return {stamp for entry in runs for run in entry for stamp in run}


def _attempts(block: BlockRecord) -> set[str]:
    return set(Content.from_dict(block.content).attempts)


def _let_go(db: Session, planning: Planning, going: Sequence[LetGo]) -> None:
    """Take input out of the catalog, and with it the blocks behind planning that name it."""
    workflow = planning.workflow.name
    for g in going:
        arrived, held = (*g.gone, g.stands), g.blocks
        g.stands.taken = taken.together(arrived)
        g.stands.stands_for = min(a.stands_for or a.stamp for a in arrived)
        g.stands.block = g.base.id
        db.add(g.stands)
        for arrival in g.gone:
            db.delete(arrival)
        for stamp in (a.stamp for a in arrived):
            db.merge(RewriteRecord(workflow=workflow, stamp=stamp))
        for block in (b for id in held if (b := db.get(BlockRecord, id)) is not None):
            db.delete(block)
    db.flush()
    gone = {(g.source, a.stamp) for g in going for a in g.gone}
    kept = set(db.exec(select(ArrivalRecord.block).where(ArrivalRecord.workflow == workflow)))
    for block in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow, ~col(BlockRecord.live))):
        if block.id not in kept and block.digest == planning.digests.get(block.channel):
            inputs = planning.network.inputs[block.channel]
            runs = [(s, e) for r in (block.source, block.target) if r for s, e in zip(inputs, r, strict=True)]
            if any((source, stamp) in gone for source, entry in runs for stamp in _stamps([entry])):
                db.delete(block)


def went(db: Session, workflow: str, source: str, at: Stamp) -> Stamp | None:
    """The arrival that stands for what a source was at a moment, if that was let go."""
    known = select(ArrivalRecord.stamp).where(ArrivalRecord.workflow == workflow, ArrivalRecord.channel == source)
    return db.exec(known.where(col(ArrivalRecord.stands_for) <= at, ArrivalRecord.stamp > at)).first()
