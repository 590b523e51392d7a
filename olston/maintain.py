"""Maintenance: what no plan needs any more leaves planning, and long overlays become anchors (DESIGN 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from sqlmodel import col, select

from olston import state as states
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord, StepRecord
from olston.learning import FOLD, Learning
from olston.operators.estimate import Work
from olston.scheduler.outcome import Outcome
from olston.scheduler.retire import live
from olston.session import Sessions
from olston.state import Key, State
from olston.step import Stored
from olston.store import Store

PARTS = 64
"""Parts from which on an overlay is folded whatever that costs: a plan reads the whole list of them."""


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


def fold(
    catalog: Catalog,
    store: Store,
    sessions: Sessions,
    state: State,
    learning: Learning,
    clock: Callable[[], int],
) -> None:
    """Write bases as new anchors where that is worth its cost; what it took is recorded like a step."""
    for stored in list(_longest(state)):
        block, content = stored.block, stored.content
        if len(content.parts) <= PARTS and not learning.worth_folding(stored):
            continue
        attempt, began, expected = new_attempt(), clock(), learning.cost_of_folding(stored)
        started = time.perf_counter()
        with sessions.lent() as session:
            folded = store.fold(session, block.channel, content, attempt, {"channel": block.channel, "folds": block.id})
        seconds = time.perf_counter() - started
        assert folded.anchor is not None
        rows = folded.anchor.rows
        work = Work(base=block.rows, written=(rows,), overlay=content.overlay)
        outcome = Outcome(
            block.channel, FOLD, ((block.kind, block.rows),), work, (rows,), (block.rows,), seconds, expected, True
        )
        with catalog.transaction() as db:
            record = db.get(BlockRecord, block.id)
            assert record is not None
            record.content, record.rows = folded.to_dict(), rows
            db.add(
                StepRecord(
                    attempt=attempt, plan="", workflow=state.workflow, name=f"{block.channel}.{FOLD}", state="done",
                    operands=[str(block)], results=[str(block)], expected_seconds=expected, expected_rows=block.rows,
                    seconds=seconds, rows=rows, started_at=began, outcomes=[outcome.to_dict()],
                )
            )  # fmt: skip
        known = Block(block.channel, block.kind, block.target, None, rows, block.relaxed, block.id)
        state.stored[block.key] = Stored(known, folded)


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
