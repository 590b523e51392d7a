"""Events: what happened to a workflow, in order, kept until it was handled and after (DESIGN 7).

An arrival, a step that finished or failed, a deadline, a command. Whoever makes one happen adds it in the transaction
that makes it true; the one scheduler that holds the workflow handles it, once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlmodel import Session, col, select

from olston.catalog.records import EventRecord

ARRIVAL = "arrival"
FINISHED = "finished"
FAILED = "failed"
DEADLINE = "deadline"
COMMAND = "command"


def happen(db: Session, workflow: str, kind: str, about: Mapping[str, Any], at: int) -> EventRecord:
    """Add an event at the end of the log."""
    event = EventRecord(workflow=workflow, kind=kind, about=dict(about), happened_at=at)
    db.add(event)
    db.flush()
    return event


def pending(db: Session, workflow: str) -> Sequence[int]:
    """The numbers of the events that were not handled, in order."""
    known = select(EventRecord.id).where(EventRecord.workflow == workflow, ~col(EventRecord.handled))
    return [number for number in db.exec(known.order_by(col(EventRecord.id))) if number is not None]


def unanswered(db: Session, workflow: str) -> Sequence[EventRecord]:
    """The commands that were handled but not carried out, in order: a scheduler before this one was at it."""
    known = select(EventRecord).where(
        EventRecord.workflow == workflow,
        EventRecord.kind == COMMAND,
        col(EventRecord.handled),
        ~col(EventRecord.answered),
    )
    return db.exec(known.order_by(col(EventRecord.id))).all()


def answer(db: Session, event: int, answered: Mapping[str, Any]) -> None:
    """Say what came of a command."""
    known = db.get(EventRecord, event)
    if known is not None:
        known.answered, known.answer = True, dict(answered)
