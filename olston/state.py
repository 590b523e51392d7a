"""What the catalog says at one moment: timelines, live blocks, what consumers hold; and the problem to plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, select
from sqlmodel import col as column

from olston.block import BASE, Block, fits, is_delta
from olston.catalog.records import ArrivalRecord, BlockRecord, DeliveryRecord, WorkflowRecord
from olston.content import Content
from olston.errors import StoreError, TimelineError
from olston.provenance import Provenance, Stamp
from olston.report import called, moments
from olston.scheduler.delivery import first_content
from olston.scheduler.network import Network
from olston.scheduler.problem import Problem
from olston.scheduler.retire import shortest_run
from olston.step import Stored
from olston.timeline import History, Timeline

Key = tuple[object, ...]


@dataclass
class State:
    """The live state of one workflow. Blocks made while a plan runs are added as they are committed."""

    workflow: str
    network: Network
    timelines: dict[str, Timeline]
    stored: dict[Key, Stored]
    holds: dict[str, Provenance | None]
    deliveries: dict[str, DeliveryRecord]
    planned_at: Stamp
    outdated: frozenset[str] = frozenset()
    """The outputs that hold what another definition made, which no delta of this one goes on from."""
    stamped: Stamp = 0
    """The newest stamp that the catalog knows, also of sources that this definition does not have."""

    def now(self, clock: Stamp) -> Stamp:
        """The `now` of a plan: the clock, but at least one past the newest stamp."""
        return max(clock, 1 + self.newest)

    def next_stamp(self, clock: Stamp) -> Stamp:
        """The stamp of the next arrival: later than every stamp, and than every `now` that a plan has used."""
        return max(clock, 1 + self.newest, 1 + self.planned_at)

    @property
    def newest(self) -> Stamp:
        """The newest stamp on any channel, of whatever definition."""
        return max([self.stamped, *(line.newest for line in self.timelines.values())])

    def problem(self, now: Stamp, network: Network | None = None) -> Problem:
        return Problem(network or self.network, self.blocks(), History(self.timelines, now), dict(self.holds))

    def blocks(self) -> dict[str, list[Block]]:
        """The live blocks by channel."""
        found: dict[str, list[Block]] = {}
        for stored in self.stored.values():
            found.setdefault(stored.block.channel, []).append(stored.block)
        return found

    def find(self, block: Block) -> Stored:
        """Where the rows of `block` lie; a chain is put together from the deltas that lead there."""
        found = self.stored.get(block.key)
        return self._chained(block) if found is None else found

    def parts(self, block: Block) -> list[Key]:
        """The blocks that are stored which `block` is read from."""
        return [block.key] if block.key in self.stored else [part.key for part in self._run(block)]

    def _chained(self, block: Block) -> Stored:
        run = self._run(block)
        if not run:
            raise StoreError(f"{called(block)}: is not there, and no deltas lead to it; refresh in full.")
        content = Content()
        for part in run:
            content = content.then(self.stored[part.key].content)
        return Stored(block, content)

    def _run(self, block: Block) -> Sequence[Block]:
        """The deltas that lead from where `block` starts to where it ends, if there are any."""
        onward: dict[Provenance | None, list[Block]] = {}
        for other in (s.block for s in list(self.stored.values())):
            if other.channel == block.channel and is_delta(other.kind) and fits(other.kind, block.kind):
                onward.setdefault(other.source, []).append(other)
        return [] if block.source is None else shortest_run(onward, block.source, block.target)

    def pack(self, channel: str, provenance: Provenance | None) -> list[Any] | None:
        """Provenance as it is kept: runs of arrivals for each pathway."""
        return None if provenance is None else pack(self.timelines, self.network.inputs[channel], provenance)

    def unpack(self, channel: str, runs: Sequence[Any]) -> Provenance:
        return unpack(self.timelines, self.network.inputs[channel], runs)


def pack(timelines: Mapping[str, Timeline], inputs: Sequence[str], provenance: Provenance) -> list[Any]:
    """Provenance of a channel with the pathways from `inputs`, as it is kept."""
    return [[list(r) for r in timelines[i].runs(e)] for i, e in zip(inputs, provenance, strict=True)]


def unpack(timelines: Mapping[str, Timeline], inputs: Sequence[str], runs: Sequence[Any]) -> Provenance:
    """Inverse of `pack`."""
    return Provenance(
        timelines[i].expand((first, last) for first, last in entry) for i, entry in zip(inputs, runs, strict=True)
    )


def load(db: Session, workflow: str, network: Network, digests: Mapping[str, str], sources: Iterable[str]) -> State:
    """The state of `workflow` as defined by `digests`; what was made by other definitions is not part of it."""
    timelines = {name: Timeline(name) for name in sources}
    arrivals = select(ArrivalRecord.channel, ArrivalRecord.stamp).where(ArrivalRecord.workflow == workflow)
    stamped = 0
    for channel, stamp in db.exec(arrivals.order_by("stamp")):
        stamped = stamp
        if channel in timelines:
            timelines[channel].arrive(stamp)
    zero = Provenance.at(0)
    stored: dict[Key, Stored] = {}
    for name in timelines:
        empty = Block(name, BASE, zero)
        stored[empty.key] = Stored(empty, Content())
    for record in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow, BlockRecord.live)):
        if digests.get(record.channel) == record.digest:
            known_as = known_block(record, timelines, network.inputs[record.channel])
            if known_as is None:
                continue
            block = known_as
            content = Content.from_dict(record.content)
            if block.is_base:
                block.overlay, block.over = content.overlay, content.over
            stored[block.key] = Stored(block, content)
    holds: dict[str, Provenance | None] = {}
    deliveries: dict[str, DeliveryRecord] = {}
    for name, output in network.outputs.items():
        last = db.exec(
            select(DeliveryRecord)
            .where(DeliveryRecord.workflow == workflow, DeliveryRecord.output == name)
            .order_by(DeliveryRecord.number.desc())  # type: ignore[attr-defined]
            .limit(1)
        ).first()
        if last is not None:
            deliveries[name] = last
        if last is None:
            holds[name] = first_content(output, len(network.inputs[name]))
        elif last.digest != digests[name]:
            holds[name] = None  # it has something that no delta of this definition goes on from
        else:
            holds[name] = known_content(last, timelines, network.inputs[name])
    known = db.get(WorkflowRecord, workflow)
    planned_at = known.planned_at if known else 0
    outdated = frozenset(o for o, d in deliveries.items() if d.digest not in ("", digests[o]))
    return State(workflow, network, timelines, stored, holds, deliveries, planned_at, outdated, stamped)


def known_block(record: BlockRecord, timelines: Mapping[str, Timeline], inputs: Sequence[str]) -> Block | None:
    """A block as the catalog has it; none if it names input that was let go under another definition."""
    try:
        return block_of(record, timelines, inputs)
    except TimelineError:
        return None


def known_content(
    delivery: DeliveryRecord, timelines: Mapping[str, Timeline], inputs: Sequence[str]
) -> Provenance | None:
    """What a delivery left with its consumer; none if that cannot be told any more."""
    try:
        return unpack(timelines, inputs, delivery.content)
    except (TimelineError, ValueError):  # of other pathways, or of input that was let go
        return None


def block_of(record: BlockRecord, timelines: Mapping[str, Timeline], inputs: Sequence[str]) -> Block:
    """A block as the catalog has it."""
    source = None if record.source is None else unpack(timelines, inputs, record.source)
    target = unpack(timelines, inputs, record.target)
    return Block(record.channel, record.kind, target, source, record.rows, record.relaxed, record.id)


def record(state: State, stored: Stored, producer: str, digests: Mapping[str, str], made_at: Stamp) -> BlockRecord:
    """A block as the catalog keeps it."""
    block = stored.block
    return BlockRecord(
        id=block.id,
        workflow=state.workflow,
        channel=block.channel,
        kind=block.kind,
        source=state.pack(block.channel, block.source),
        target=state.pack(block.channel, block.target) or [],
        rows=block.rows,
        relaxed=block.relaxed,
        content=stored.content.to_dict(),
        producer=producer,
        digest=digests[block.channel],
        made_at=int(made_at),
    )


def snapshot(db: Session, state: State, source: str, stamp: Stamp) -> Stored:
    """Everything that had arrived at `source` by `stamp`, one of its snapshots."""
    content, rows = Content(), 0.0
    known = select(ArrivalRecord).where(
        ArrivalRecord.workflow == state.workflow, ArrivalRecord.channel == source, ArrivalRecord.stamp <= stamp
    )
    for arrival in db.exec(known.order_by("stamp")):
        found = db.get(BlockRecord, arrival.block)
        if found is None:
            raise StoreError(f"{source}: what arrived at {moments([arrival.stamp])} is not known any more.")
        given = Content.from_dict(found.content)
        content, rows = (given, found.rows) if found.kind == BASE else (content.then(given), rows + found.rows)
    return Stored(Block(source, BASE, Provenance.at(stamp), rows=rows), content)


def bases(db: Session, state: State, channel: str, digest: str, moment: Stamp | None) -> list[Stored]:
    """The bases of a channel: those that are live, or those that had been made by `moment`."""
    if moment is None:
        return [s for s in state.stored.values() if s.block.channel == channel and s.block.is_base]
    known = select(BlockRecord).where(
        BlockRecord.workflow == state.workflow,
        BlockRecord.channel == channel,
        BlockRecord.kind == BASE,
        BlockRecord.digest == digest,
        BlockRecord.made_at <= moment,
    )
    inputs = state.network.inputs[channel]
    return [
        Stored(block, Content.from_dict(r.content))
        for r in db.exec(known.order_by("made_at", "id"))
        if (block := known_block(r, state.timelines, inputs)) is not None
    ]


def attempts(db: Session, workflow: str, feeds: Iterable[str], *, arrived: bool = True) -> set[str]:
    """The attempts whose files are needed: by live blocks, by what was handed to feeds, and by what `arrived`."""
    inputs = select(ArrivalRecord.block).where(ArrivalRecord.workflow == workflow)
    fed = select(DeliveryRecord.block).where(
        DeliveryRecord.workflow == workflow, column(DeliveryRecord.output).in_(list(feeds))
    )
    named = set(db.exec(fed)) | (set(db.exec(inputs)) if arrived else set())
    found: set[str] = set()
    for known in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow)):
        if known.live or known.id in named:
            found |= Content.from_dict(known.content).attempts
    return found


def forget(db: Session, workflow: str, dropped: set[str]) -> None:
    """Take blocks whose files were dropped out of the catalog."""
    for known in db.exec(select(BlockRecord).where(BlockRecord.workflow == workflow, ~column(BlockRecord.live))):
        if Content.from_dict(known.content).attempts & dropped:
            db.delete(known)
