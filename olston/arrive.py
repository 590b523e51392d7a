"""Arriving: what was written becomes a snapshot of its source, in one transaction (DESIGN 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston import events
from olston.block import Block
from olston.catalog.records import ArrivalRecord
from olston.ingest import Arrived
from olston.planning import Planning
from olston.provenance import Stamp
from olston.state import record

if TYPE_CHECKING:
    from sqlmodel import Session


def arrive(db: Session, planning: Planning, waves: Sequence[Arrived], offered_at: int, clock: Stamp) -> list[Block]:
    """Let `waves` arrive together, under a stamp later than every stamp and than every `now` that a plan has used."""
    if not waves:
        return []
    workflow, state = planning.workflow.name, planning.load(db)
    stamp, blocks = state.next_stamp(clock), []
    for wave in waves:
        stored = wave.at(stamp, state.timelines[wave.channel].newest)
        state.timelines[wave.channel].arrive(stamp)
        blocks.append(stored.block)
        db.add(
            ArrivalRecord(
                workflow=workflow, channel=wave.channel, stamp=int(stamp), offered_at=offered_at,
                block=stored.block.id, taken=wave.taken,
            )
        )  # fmt: skip
        db.add(record(state, stored, "", planning.digests, clock))
    about = {"stamp": int(stamp), "channels": [w.channel for w in waves]}
    events.happen(db, workflow, events.ARRIVAL, about, int(clock))
    return blocks
