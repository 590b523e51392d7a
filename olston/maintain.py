"""Maintenance: what no plan needs any more leaves planning; which overlays are long (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from sqlmodel import Session, col, select

from olston import state as states
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog.records import BlockRecord
from olston.learning import Learning
from olston.provenance import Provenance, Stamp
from olston.scheduler.retire import live
from olston.state import Key, State
from olston.step import Stored

PARTS = 64
"""Parts from which on an overlay is folded whatever that costs: a plan reads the whole list of them."""
OLD = 8
"""Waves beyond the retention from which on a base that has them is written, so that they can be let go."""


@dataclass
class UnderWay:
    """What plans under way read, and what there will be if they are carried out."""

    reads: set[Key] = field(default_factory=set)
    blocks: list[Block] = field(default_factory=list)
    holds: dict[str, Provenance | None] = field(default_factory=dict)


def retire(
    db: Session, state: State, digests: Mapping[str, str], now: Stamp, under_way: UnderWay | None = None
) -> None:
    """Take what no plan can use out of planning, and put runs of deltas that are only used as one together.

    What plans `under_way` read stays, and what can be used once they are carried out.
    """
    wanted = _wanted(state, UnderWay())
    if under_way is not None:
        wanted |= {key: b for key, b in _wanted(state, under_way).items() if state.parts(b)}
        wanted |= {key: state.stored[key].block for key in under_way.reads if key in state.stored}
    chains = {key: _named(state.find(b)) for key, b in wanted.items() if key not in state.stored}
    gone = [s.block.id for key, s in state.stored.items() if key not in wanted and s.block.id]
    for record in db.exec(select(BlockRecord).where(col(BlockRecord.id).in_(gone))):
        record.live = False
    for stored in chains.values():
        db.add(states.record(state, stored, "chain", digests, now))
    state.stored = {key: s for key, s in state.stored.items() if key in wanted} | chains


def _wanted(state: State, given: UnderWay) -> dict[Key, Block]:
    """The blocks that plans can use, `given` what there is beside the state."""
    blocks = state.blocks()
    for block in given.blocks:
        blocks.setdefault(block.channel, []).append(block)
    kept = live(state.network, blocks, {**state.holds, **given.holds})
    return {b.key: b for blocks in kept.values() for b in blocks}


def renew(db: Session, state: State, channels: Collection[str], made: Collection[str]) -> None:
    """Of `channels`, which were computed anew from the sources, only the blocks that were `made` then count."""
    old = [key for key, s in state.stored.items() if s.block.channel in channels and s.block.id not in made]
    ids = [state.stored.pop(key).block.id for key in old]
    for record in db.exec(select(BlockRecord).where(col(BlockRecord.id).in_(ids))):
        record.live = False


def long(state: State, learning: Learning, released_before: Stamp | None = None) -> list[Stored]:
    """The bases whose overlay it is worth its cost to fold; of sources, also if much could be let go then."""
    found = [s for s in _longest(state) if len(s.content.parts) > PARTS or learning.worth_folding(s)]
    if released_before is not None:
        everything = (_everything(state, source) for source in state.timelines)
        found += [s for s in everything if s is not None and _old(s, released_before) >= OLD]
    return found


def _old(stored: Stored, before: Stamp) -> int:
    """How many waves lie over its anchor that arrived before a moment."""
    return sum(p.stamp is not None and p.stamp < before for p in stored.content.parts)


def _everything(state: State, source: str) -> Stored | None:
    """All that arrived at a source, as a base, known as a block or not; if what is live tells where it lies."""
    onward: dict[Provenance | None, list[Stored]] = {}
    for stored in state.stored.values():
        if stored.block.channel == source:
            onward.setdefault(stored.block.source, []).append(stored)
    found = max(onward[None], key=lambda s: s.block.target.newest[0] or 0)  # the newest base, or the empty one, is live
    while following := onward.get(found.block.target):
        delta = max(following, key=lambda s: s.block.target.newest[0] or 0)
        block = Block(source, found.block.kind, delta.block.target, rows=found.block.rows + delta.block.rows)
        found = Stored(block, found.content.then(delta.content))
    return found if found.block.target == Provenance.at(state.timelines[source].newest) else None


def _longest(state: State) -> Iterator[Stored]:
    """Of the bases that lead from one to the other, the one with the longest overlay: the others are about to go."""
    found: dict[str, Stored] = {}
    for stored in state.stored.values():
        root, parts = stored.content.root, len(stored.content.parts)
        known = len(found[root].content.parts) if root in found else 0
        if stored.block.is_base and stored.block.id and parts > known:
            found[root] = stored
    yield from found.values()


def _named(stored: Stored) -> Stored:
    b = stored.block
    return Stored(Block(b.channel, b.kind, b.target, b.source, b.rows, b.relaxed, new_attempt()), stored.content)
