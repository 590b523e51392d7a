"""Letting go of old input, if the user sets a retention (DESIGN 4).

The arrivals of a source that are older go, up to one of which a base was written that has all of them. That base takes
the place of its arrival, in the catalog and in the file of the arrival, and stands for all that went: so a source is
read, planned for and recovered as if it had been given as a base then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmodel import Session, col, select

from olston import arrivals, taken
from olston import state as states
from olston.arrivals import Waves
from olston.block import BASE
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, BlockRecord, DeliveryRecord
from olston.content import Content
from olston.faults import point
from olston.lost import gone, places
from olston.provenance import Stamp
from olston.retention import forget_deliveries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from olston.store import Store


@dataclass(frozen=True)
class LetGo:
    """The arrivals of one source that go, and the one that stands for them, before and after, with its base."""

    source: str
    gone: tuple[ArrivalRecord, ...]
    was: ArrivalRecord
    stands: ArrivalRecord
    base: BlockRecord

    @property
    def blocks(self) -> set[str]:
        """The blocks that held the arrivals."""
        return {a.block for a in (*self.gone, self.was)} - {self.base.id}

    @property
    def stamps(self) -> list[int]:
        return [*(a.stamp for a in self.gone), self.was.stamp]


def release(
    catalog: Catalog,
    store: Store,
    session: SparkSession,
    inputs: Mapping[str, Sequence[str]],
    before: Stamp,
    fed: Collection[str],
    dry_run: bool,
) -> tuple[set[str], set[str]]:
    """Let go of input that arrived before a moment, or only look.

    Returns the attempts of the bases that will stand for more when that is old, which may not go; and, if it only
    looked, those that nobody would need. `fed` are the attempts that feeds read, `inputs` the sources of the pathways
    of each channel.
    """
    workflow, checked = store.workflow.name, dict[str, bool]()

    def going(db: Session) -> tuple[list[LetGo], set[str]]:
        needed = states.attempts(db, workflow, (), arrived=False) | set(fed)
        found = [_old_input(db, workflow, source, inputs, before, needed, there) for source in store.workflow.sources]
        return [g for g, _ in found if g is not None], {a for _, spared in found for a in spared}

    def there(base: BlockRecord) -> bool:
        if base.id not in checked:
            checked[base.id] = not gone(store, session, places(Content.from_dict(base.content)))
        return checked[base.id]

    with catalog.look() as db:
        seen, spared = going(db)
        if dry_run:
            held = db.exec(select(BlockRecord).where(col(BlockRecord.id).in_({id for g in seen for id in g.blocks})))
            return spared, {attempt for block in held for attempt in _attempts(block)}
        _rewrite_files(db, store, session, seen)
    point("input-files-rewritten")
    with catalog.transaction() as db:
        found, _ = going(db)
        if [(g.source, g.stands.stamp) for g in found] == [(g.source, g.stands.stamp) for g in seen]:
            _let_go(db, workflow, found, before)  # else it is used again: files that are missing will be written again
    return spared, set()


def _old_input(
    db: Session,
    workflow: str,
    source: str,
    inputs: Mapping[str, Sequence[str]],
    before: Stamp,
    needed: Collection[str],
    there: Callable[[BlockRecord], bool],
) -> tuple[LetGo | None, set[str]]:
    """What arrived at a source before a moment and may go: nothing live or delivered names it or anything older.

    Also the attempts of the base that will be the next to stand for input. `needed` are the attempts that live blocks
    and feeds read; `there` tells whether all files of a base are.
    """
    blocks = {b.id: b for b in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow))}
    known = select(ArrivalRecord).where(ArrivalRecord.workflow == workflow, ArrivalRecord.channel == source)
    arrived = list(db.exec(known.order_by("stamp")))
    limit = min(_named(db, workflow, source, inputs, before, blocks.values()), default=None)
    bases = {b.target[0][0][0]: b for b in blocks.values() if b.channel == source and _whole(b)}
    found: LetGo | None = None
    for i, arrival in enumerate(arrived):
        base = bases.get(arrival.stamp)
        if base is None or (base.id != arrival.block and not there(base)):
            continue
        held = [blocks[a.block] for a in arrived[: i + 1] if a.block != base.id]
        used = any(b.live or not _attempts(b).isdisjoint(needed) for b in held)
        if used or arrival.offered_at >= before or (limit is not None and arrival.stamp > limit):
            return found, _attempts(base)
        if held:
            found = LetGo(source, tuple(arrived[:i]), arrival, _standing(arrived[:i], arrival, base), base)
    return found, set()


def _standing(gone: Sequence[ArrivalRecord], found: ArrivalRecord, base: BlockRecord) -> ArrivalRecord:
    oldest = min(a.stands_for or a.stamp for a in (*gone, found))
    said = taken.together([*gone, found])
    return ArrivalRecord(**{**found.model_dump(), "block": base.id, "taken": said, "stands_for": oldest})


def _whole(block: BlockRecord) -> bool:
    """Whether it is a base of one snapshot, written as an anchor: one that can be found without the catalog."""
    content = Content.from_dict(block.content)
    return block.kind == BASE and content.anchor is not None and not content.parts and len(_stamps(block.target)) == 1


def _named(
    db: Session,
    workflow: str,
    source: str,
    inputs: Mapping[str, Sequence[str]],
    before: Stamp,
    blocks: Collection[BlockRecord],
) -> Iterator[int]:
    """The snapshots of `source` that live blocks name, and deliveries that are young or the last of their output."""
    named = [(b.channel, runs) for b in blocks if b.live for runs in (b.source, b.target) if runs is not None]
    last: dict[str, DeliveryRecord] = {}
    for delivery in db.exec(select(DeliveryRecord).where(DeliveryRecord.workflow == workflow).order_by("number")):
        last[delivery.output] = delivery
        if delivery.delivered_at >= before:
            named.append((delivery.output, delivery.content))
    named += [(output, delivery.content) for output, delivery in last.items()]
    for channel, runs in named:
        pathways = inputs.get(channel, ())
        if len(pathways) != len(runs):  # of another definition, which may come back: whatever it names
            yield from (stamp for run in runs for stamp in _stamps([run]))
        else:
            yield from (s for name, run in zip(pathways, runs, strict=True) if name == source for s in _stamps([run]))


def _stamps(runs: Sequence[Any]) -> set[int]:
    """The ends of the runs of arrivals that provenance is kept as."""
    return {stamp for entry in runs for run in entry for stamp in run}


def _attempts(block: BlockRecord) -> set[str]:
    return set(Content.from_dict(block.content).attempts)


def went(db: Session, workflow: str, source: str, at: Stamp) -> Stamp | None:
    """The arrival that stands for what a source was at a moment, if that was let go."""
    known = select(ArrivalRecord.stamp).where(ArrivalRecord.workflow == workflow, ArrivalRecord.channel == source)
    return db.exec(known.where(col(ArrivalRecord.stands_for) <= at, ArrivalRecord.stamp > at)).first()


def _rewrite_files(db: Session, store: Store, session: SparkSession, going: Sequence[LetGo]) -> None:
    """Let the files of arrivals say what will be in the catalog.

    Before it is: what a crash leaves behind then is files that are missing, and these are written again.
    """
    workflow = store.workflow.name
    gone = {(g.source, a.stamp) for g in going for a in g.gone}
    stands = {(g.source, g.stands.stamp): g for g in going}
    for waves in arrivals.catalogued_as(db, workflow, sorted({s for g in going for s in g.stamps})):
        kept = [a for a in waves.arrivals if (a.channel, a.stamp) not in gone]
        changed = [stands[key].stands if (key := (a.channel, a.stamp)) in stands else a for a in kept]
        held = {b.id: b for b in (*waves.blocks, *(g.base for g in stands.values()))}
        blocks = tuple(held[a.block] for a in changed)
        arrivals.replace(store, session, Waves(waves.stamp, tuple(changed), blocks))


def _let_go(db: Session, workflow: str, going: Sequence[LetGo], before: Stamp) -> None:
    """Take input out of the catalog, and with it deliveries before a moment, and the blocks behind planning that name
    what went."""
    for g in going:
        for arrival in g.gone:
            db.delete(arrival)
        g.was.block, g.was.taken, g.was.stands_for = g.stands.block, g.stands.taken, g.stands.stands_for
        db.add(g.was)
    db.flush()
    kept = set(db.exec(select(ArrivalRecord.block).where(ArrivalRecord.workflow == workflow)))
    stamps = {a.stamp for g in going for a in g.gone}
    for block in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow, ~col(BlockRecord.live))):
        if block.id not in kept and stamps & (_stamps(block.target) | _stamps(block.source or ())):
            db.delete(block)
    for block in (b for g in going for id in g.blocks if (b := db.get(BlockRecord, id)) is not None):
        db.delete(block)
    forget_deliveries(db, workflow, before)
