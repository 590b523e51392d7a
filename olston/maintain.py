"""Maintenance: what no plan needs any more leaves planning, and long overlays become anchors (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Mapping

from sqlmodel import Session, col, select

from olston import state as states
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord
from olston.content import Content
from olston.provenance import Stamp
from olston.scheduler.retire import live
from olston.state import Key, State
from olston.step import Stored
from olston.worker import Work

PARTS, CHANGES = 32, 8
"""Parts of an overlay, and parts that change or delete rows, from which on reading costs more than folding."""


def retire(db: Session, state: State, digests: Mapping[str, str], now: Stamp) -> None:
    """Take what no plan can use out of planning, and put runs of deltas that are only used as one together."""
    kept = live(state.network, state.blocks(), state.holds)
    wanted: dict[Key, Block] = {b.key: b for blocks in kept.values() for b in blocks}
    chains = {key: _named(state.find(b)) for key, b in wanted.items() if key not in state.stored}
    gone = [s.block.id for key, s in state.stored.items() if key not in wanted and s.block.id]
    for record in db.exec(select(BlockRecord).where(col(BlockRecord.id).in_(gone))):
        record.live = False
    for stored in chains.values():
        db.add(states.record(state, stored, "chain", digests, now))
    state.stored = {key: s for key, s in state.stored.items() if key in wanted} | chains


def long(state: State) -> list[Stored]:
    """The bases whose overlay has grown so long that folding pays."""
    return [s for s in state.stored.values() if s.block.is_base and s.block.id and _is_long(s.content)]


def fold(catalog: Catalog, work: Work, stored: Stored) -> None:
    """Write a base as a new anchor, and let it be read from there."""
    folded = work.fold(stored, new_attempt())
    with catalog.transaction() as db:
        record = db.get(BlockRecord, stored.block.id)
        if record is not None:
            record.content = folded.content.to_dict()


def _is_long(content: Content) -> bool:
    return len(content.parts) > PARTS or sum(1 for p in content.parts if not p.plain) > CHANGES


def _named(stored: Stored) -> Stored:
    b = stored.block
    return Stored(Block(b.channel, b.kind, b.target, b.source, b.rows, b.relaxed, new_attempt()), stored.content)
