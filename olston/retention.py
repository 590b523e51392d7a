"""Forgetting: what the catalog need not keep of the past, so that its history does not grow with age (DESIGN 4).

What arrived, the blocks that hold it and what was delivered stay, unless the user sets a retention: they say what can
be read, and as of when.
"""

from __future__ import annotations

from itertools import groupby

from sqlalchemy import func
from sqlmodel import Session, col, delete, or_, select

from olston import events
from olston.catalog.records import DeliveryRecord, EventRecord, PlanRecord, StepRecord
from olston.provenance import Stamp
from olston.scheduler.learn import LAST


def forget_history(db: Session, workflow: str, before: Stamp) -> None:
    """Take out what happened before a moment: events that need no answer any more, plans, and steps.

    Of every step the last ones stay however old they are, since costs are learned from them.
    """
    answered = or_(col(EventRecord.kind) != events.COMMAND, col(EventRecord.answered))
    db.exec(
        delete(EventRecord).where(
            col(EventRecord.workflow) == workflow,
            col(EventRecord.happened_at) < before,
            col(EventRecord.handled),
            answered,
        )
    )
    db.exec(delete(PlanRecord).where(col(PlanRecord.workflow) == workflow, col(PlanRecord.made_at) < before))
    place = func.row_number().over(partition_by=col(StepRecord.name), order_by=col(StepRecord.attempt).desc())
    ranked = select(StepRecord.attempt, place.label("place")).where(StepRecord.workflow == workflow).subquery()
    old = select(ranked.c.attempt).where(ranked.c.place > LAST)
    db.exec(
        delete(StepRecord).where(
            col(StepRecord.workflow) == workflow, col(StepRecord.started_at) < before, col(StepRecord.attempt).in_(old)
        )
    )


def deliveries(db: Session, workflow: str, before: Stamp) -> tuple[list[DeliveryRecord], list[DeliveryRecord]]:
    """Those that tell what consumers have held since a moment, and those of the time before."""
    told = db.exec(select(DeliveryRecord).where(DeliveryRecord.workflow == workflow).order_by("output", "number"))
    kept: list[DeliveryRecord] = []
    gone: list[DeliveryRecord] = []
    for _, given in groupby(told, lambda d: d.output):
        known = list(given)
        first = max((i for i, d in enumerate(known) if d.delivered_at <= before), default=0)
        kept, gone = kept + known[first:], gone + known[:first]
    return kept, gone
