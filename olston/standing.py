"""What a workflow is busy with: who schedules it, which steps run, and which failed and were not made good."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from olston.catalog.records import LeaseRecord, PlanRecord, StepRecord
from olston.lease import holder
from olston.report import Tried

STEPS = 100
"""Steps that are looked back at."""


@dataclass(frozen=True)
class Standing:
    """`scheduler` is who holds the workflow now; steps are the newest first."""

    scheduler: str | None = None
    running: tuple[Tried, ...] = ()
    failures: tuple[Tried, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "scheduler": self.scheduler,
            "running": [
                {"step": s.step, "started_at": s.started_at, "expected_seconds": s.expected_seconds}
                for s in self.running
            ],
            "failures": [{"step": s.step, "failed_at": s.started_at, "why": s.error} for s in self.failures],
        }


def standing(db: Session, workflow: str) -> Standing:
    """What `workflow` is busy with. Steps of a scheduler that is gone do not run any more, whatever was written."""
    scheduler = holder(db, workflow)
    steps = select(StepRecord).where(StepRecord.workflow == workflow).order_by(col(StepRecord.attempt).desc())
    last = list(db.exec(steps.limit(STEPS)))
    lease = db.get(LeaseRecord, workflow) if scheduler is not None else None
    running = [s for s in last if s.state == "running" and lease is not None and _by(db, s) == lease.fence]
    outcome: dict[str, StepRecord] = {}
    for step in last:
        if step.state in ("done", "failed"):
            outcome.setdefault(step.name, step)
    failures = [s for s in outcome.values() if s.state == "failed"]
    return Standing(scheduler, tuple(map(tried, running)), tuple(map(tried, failures)))


def _by(db: Session, step: StepRecord) -> int | None:
    """The number of the scheduler that began a step."""
    plan = db.get(PlanRecord, step.plan)
    return None if plan is None else plan.fence


def tried(s: StepRecord) -> Tried:
    """A step as history tells it."""
    return Tried(s.name, s.state, int(s.started_at), s.expected_seconds, s.seconds, s.expected_rows, _rows(s), s.error)


def _rows(step: StepRecord) -> float | None:
    """The rows that a step made, if they were counted: what was a matter of the catalog was not written."""
    rows = step.outcomes[0]["rows"] if step.outcomes else None
    return None if rows is None else sum(rows)
