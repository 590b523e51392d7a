"""Maintenance: what no plan needs any more leaves planning, and long overlays become anchors (DESIGN 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from sqlmodel import Session, col, select

from olston import state as states
from olston import worker
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord, StepRecord
from olston.faults import point
from olston.learning import FOLD, Learning
from olston.operators.estimate import Work
from olston.provenance import Stamp
from olston.scheduler.outcome import Outcome
from olston.scheduler.retire import live
from olston.state import Key, State
from olston.step import Stored

PARTS = 64
"""Parts from which on an overlay is folded whatever that costs: a plan reads the whole list of them."""


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


def long(state: State, learning: Learning) -> list[Stored]:
    """The bases whose overlay it is worth its cost to fold."""
    return [s for s in _longest(state) if len(s.content.parts) > PARTS or learning.worth_folding(s)]


def fold(
    catalog: Catalog, work: worker.Work, stored: Stored, workflow: str, expected: float, clock: Callable[[], int]
) -> None:
    """Write a base as a new anchor, and let it be read from there; what it took is recorded like a step."""
    block, attempt, began, started = stored.block, new_attempt(), clock(), time.perf_counter()
    made, warning = work.fold(stored, attempt)
    folded = made.content
    point("fold-written")
    seconds = time.perf_counter() - started
    assert folded.anchor is not None
    rows = folded.anchor.rows
    done = Work(base=block.rows, written=(rows,), overlay=stored.content.overlay)
    outcome = Outcome(
        block.channel, FOLD, ((block.kind, block.rows),), done, (rows,), (block.rows,), seconds, expected, True
    )
    with catalog.transaction() as db:
        record = db.get(BlockRecord, block.id)
        if record is not None:
            record.content, record.rows = folded.to_dict(), rows
        db.add(
            StepRecord(
                attempt=attempt, plan="", workflow=workflow, name=f"{block.channel}.{FOLD}", state="done",
                operands=[str(block)], results=[str(block)], expected_seconds=expected, expected_rows=block.rows,
                seconds=seconds, rows=rows, started_at=began, outcomes=[outcome.to_dict()], error=warning,
            )
        )  # fmt: skip


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
