"""How the outputs of a workflow stand against their bounds, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import func
from sqlmodel import Session, col, select

from olston.catalog.records import PlanRecord, SetbackRecord, StepRecord, WorkflowRecord
from olston.constraints import Staleness
from olston.errors import StoreError
from olston.learning import FOLD
from olston.provenance import Provenance, Stamp
from olston.reading import reflected
from olston.report import BoundOf, HistoryOf, OutputOf, ProvenanceOf, Report, StatusOf, moment
from olston.scheduler.explain import slack
from olston.scheduler.problem import Problem
from olston.standing import tried
from olston.state import State
from olston.timeline import History

if TYPE_CHECKING:
    from olston.channel import Channel
    from olston.workflow import Workflow


def status(db: Session, state: State, workflow: Workflow, digests: Mapping[str, str], clock: Stamp) -> StatusOf:
    """The status of every output at the present moment."""
    problem = state.problem(state.now(clock))
    due = set(problem.due())
    known = db.get(WorkflowRecord, workflow.name)
    outputs = []
    for name in workflow.outputs:
        outdated = name in state.outdated
        held = _held(db, state, workflow.channels[name], digests[name], clock)
        bounds = () if held is None or outdated else tuple(_bounds(problem, name, held.content))
        setback = db.get(SetbackRecord, (workflow.name, name)) if name in due else None
        outputs.append(OutputOf(name, name in due, held, bounds, setback.error if setback else None, outdated))
    return StatusOf(workflow.name, tuple(outputs), known is not None and known.paused, tuple(_warnings(db, workflow)))


def _warnings(db: Session, workflow: Workflow) -> Iterator[str]:
    """Why followed sources cannot be taken, and what the last fold of each source said of its keys."""
    for source in workflow.follows:
        failed = db.get(SetbackRecord, (workflow.name, source))
        if failed is not None:
            yield f"{source}: could not be polled since {moment(failed.happened_at)}: {failed.error}"
    folds = [f"{source}.{FOLD}" for source in workflow.sources]
    of_them = StepRecord.workflow == workflow.name, col(StepRecord.name).in_(folds)
    last = select(func.max(StepRecord.attempt)).where(*of_them).group_by(col(StepRecord.name))
    for error in db.exec(select(StepRecord.error).where(col(StepRecord.attempt).in_(last)).order_by("name")):
        if error:
            yield error


def _held(db: Session, state: State, channel: Channel, digest: str, clock: Stamp) -> ProvenanceOf | None:
    """What the consumer of an output has; none if it has nothing, or that cannot be told any more."""
    content = state.holds[channel.name]
    if content is not None:
        return ProvenanceOf(channel.name, content, channel.pathways, History(state.timelines, state.now(clock)))
    if channel.name not in state.outdated:
        return None
    try:
        return reflected(db, state, channel, digest, state.deliveries[channel.name], clock)
    except StoreError:
        return None


def _bounds(problem: Problem, output: str, content: Provenance) -> Iterator[BoundOf]:
    breaks, inputs = dict(problem.bounds().breaking(output, content)), problem.network.inputs[output]
    for s in slack(problem, output, content):
        if isinstance(s.bound, Staleness):
            stale = problem.history.staleness(content, inputs, s.bound.pathway)
            yield BoundOf(str(s.bound), s.left / 1e6, breaks.get(s.bound), stale / 1e6)
        else:
            apart = problem.history.inconsistency(content, inputs)
            yield BoundOf(str(s.bound), (s.bound.bound - apart) / 1e6, None, apart / 1e6)


def report(db: Session, state: State, plans: Sequence[str]) -> Report:
    """What the plans named did."""
    steps = db.exec(
        select(StepRecord).where(col(StepRecord.plan).in_(plans), StepRecord.state == "done").order_by("attempt")
    )
    due = {o for p in db.exec(select(PlanRecord).where(col(PlanRecord.id).in_(plans))) for o in p.due}
    held = {o: content for o, content in state.holds.items() if o in due and content is not None}
    return Report(tuple((s.name, s.expected_seconds, s.seconds or 0.0) for s in steps), held, len(plans))


def history(db: Session, workflow: str, limit: int) -> HistoryOf:
    """The last steps that were tried, the newest first."""
    steps = select(StepRecord).where(StepRecord.workflow == workflow).order_by(col(StepRecord.attempt).desc())
    return HistoryOf(tuple(tried(s) for s in db.exec(steps.limit(limit))))
