"""Maintenance: what no plan needs any more leaves planning, and long overlays become anchors (DESIGN 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlmodel import col, select

from olston import state as states
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord
from olston.content import Content
from olston.faults import point
from olston.scheduler.retire import live
from olston.session import Sessions
from olston.state import Key, State
from olston.step import Stored, describe
from olston.store import Store

PARTS, CHANGES = 32, 8
"""Parts of an overlay, and parts that change or delete rows, from which on reading costs more than folding."""


def retire(catalog: Catalog, state: State, digests: Mapping[str, str], clock: Callable[[], int]) -> None:
    """Take what no plan can use out of planning, and put runs of deltas that are only used as one together."""
    kept = live(state.network, state.blocks(), state.holds)
    wanted: dict[Key, Block] = {b.key: b for blocks in kept.values() for b in blocks}
    chains = {key: _named(state.find(b)) for key, b in wanted.items() if key not in state.stored}
    gone = [s.block.id for key, s in state.stored.items() if key not in wanted and s.block.id]
    if not chains and not gone:
        return
    with catalog.transaction() as db:
        for record in db.exec(select(BlockRecord).where(col(BlockRecord.id).in_(gone))):
            record.live = False
        for stored in chains.values():
            db.add(states.record(state, stored, "chain", digests, clock()))
    state.stored = {key: s for key, s in state.stored.items() if key in wanted} | chains


def fold(catalog: Catalog, store: Store, sessions: Sessions, state: State) -> None:
    """Write bases whose overlay has grown long as new anchors."""
    for key, stored in list(state.stored.items()):
        if stored.block.is_base and stored.block.id and _is_long(stored.content):
            attempt = new_attempt()
            metadata = {**describe(stored.block, attempt, "fold"), "folds": stored.block.id}
            with sessions.lent() as session:
                content = store.fold(session, stored.block.channel, stored.content, attempt, metadata)
            point("fold-written")
            with catalog.transaction() as db:
                record = db.get(BlockRecord, stored.block.id)
                assert record is not None
                record.content = content.to_dict()
            state.stored[key] = Stored(stored.block, content)


def _is_long(content: Content) -> bool:
    return len(content.parts) > PARTS or sum(1 for p in content.parts if not p.plain) > CHANGES


def _named(stored: Stored) -> Stored:
    b = stored.block
    return Stored(Block(b.channel, b.kind, b.target, b.source, b.rows, b.relaxed, new_attempt()), stored.content)
