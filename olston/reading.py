"""What there is to read: of an output what its consumer holds, of another channel its newest readable content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlmodel import Session, select

from olston import formerly, release
from olston import state as states
from olston.attempt import is_attempt
from olston.block import BASE, Block
from olston.catalog.records import BlockRecord, DeliveryRecord
from olston.constraints import Staleness
from olston.content import Content
from olston.errors import OlstonError, StoreError
from olston.fuse import source_of
from olston.provenance import Stamp
from olston.report import ProvenanceOf, called, moments
from olston.scheduler.decide import decide
from olston.scheduler.network import Network, Output
from olston.scheduler.plan import Invocation
from olston.state import Key, State
from olston.step import Inline, Stored
from olston.timeline import History

if TYPE_CHECKING:
    from olston.channel import Channel
    from olston.workflow import Workflow

NOTHING = "NOTHING_HELD"
LET_GO = "LET_GO"
UNTOLD = "UNKNOWN_CONTENT"
_EVER: Stamp = 2**62  # later than any moment


def moment(at: Stamp | datetime | str | None) -> Stamp | str | None:
    """A time in microseconds, or the id of a block, in the forms users give them; a time without a zone is UTC."""
    if isinstance(at, str):
        if is_attempt(at.partition(".")[0]):
            return at
        try:
            at = datetime.fromisoformat(at)
        except ValueError:
            raise _no_moment(at) from None
    if at is None or (isinstance(at, int) and not isinstance(at, bool)):
        return at
    if not isinstance(at, datetime):
        raise _no_moment(at)
    known = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return (known - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)


def _no_moment(at: object) -> OlstonError:
    return OlstonError(
        f"at={at!r}: neither a time nor the id of a block; give a datetime, text such as '2026-11-16 18:30', "
        "whole microseconds since the epoch, or the id of a block.",
        code="BAD_TIME",
    )


def delivery(db: Session, workflow: str, output: str, at: Stamp | None) -> DeliveryRecord:
    """What the consumer of `output` holds, or held at a time: the last delivery where several fell on one instant."""
    known = select(DeliveryRecord).where(DeliveryRecord.workflow == workflow, DeliveryRecord.output == output)
    if at is not None:
        known = known.where(DeliveryRecord.delivered_at <= at)
    found = db.exec(known.order_by(DeliveryRecord.number.desc()).limit(1)).first()  # type: ignore[attr-defined]
    if found is None and at is not None and (first := _first(db, workflow, output)) is not None:
        when, earliest = moments([at]), moments([first.delivered_at])
        if first.number == 1:
            raise StoreError(
                f"{output}: its consumer holds nothing at {when}; the first delivery was at {earliest}.", code=NOTHING
            )
        raise StoreError(
            f"{output}: what its consumer held at {when} is not known any more, as it was let go or could not be "
            f"recovered; the oldest that is known is of {earliest}.",
            code=LET_GO,
        )
    if found is None:
        raise StoreError(
            f"{output}: its consumer holds nothing yet; refresh it by engine.refresh() or olston run.", code=NOTHING
        )
    return found


def _first(db: Session, workflow: str, output: str) -> DeliveryRecord | None:
    """The oldest delivery that is known."""
    known = select(DeliveryRecord).where(DeliveryRecord.workflow == workflow, DeliveryRecord.output == output)
    return db.exec(known.order_by("number").limit(1)).first()


def reflected(
    db: Session, state: State, channel: Channel, digest: str, shown: DeliveryRecord | Stored | Inline, clock: Stamp
) -> ProvenanceOf:
    """The snapshots that are in what is shown of a channel, which is defined by `digest` now.

    What another definition made is told by the pathways of that one, as far as they are known.
    """
    history, name = History(state.timelines, state.now(clock)), channel.name
    if not isinstance(shown, DeliveryRecord):
        return ProvenanceOf(name, shown.block.target, channel.pathways, history)
    outdated = shown.digest not in ("", digest)
    pathways = formerly.pathways(db, state.workflow, name, shown.digest) if outdated else channel.pathways
    inputs = [p.input for p in pathways if p.input in state.timelines]
    found = states.known_content(shown, state.timelines, inputs)
    if found is None:
        whose = ", which another definition made," if outdated else ""
        raise StoreError(
            f"{name}: what delivery {shown.number} left{whose} cannot be told any more; refresh it.", code=UNTOLD
        )
    return ProvenanceOf(name, found, pathways, history, outdated)


def led_to(
    db: Session,
    state: State,
    workflow: Workflow,
    digests: Mapping[str, str],
    channel: str,
    id: str,
    clock: Stamp,
) -> DeliveryRecord | Stored | Inline:
    """What a channel was with the block of that id: a base as it is, of a delta what it led to.

    That is what the consumer held once it had been delivered, all that had arrived with it, or the base at its target,
    written or to be put together from what is known.
    """
    delivered = select(DeliveryRecord).where(
        DeliveryRecord.workflow == state.workflow, DeliveryRecord.output == channel, DeliveryRecord.block == id
    )
    handed = db.exec(delivered.order_by(DeliveryRecord.number.desc()).limit(1)).first()  # type: ignore[attr-defined]
    record = db.get(BlockRecord, id)
    if record is None and handed is not None:
        return handed
    if record is None or record.workflow != state.workflow or record.channel != channel:
        raise StoreError(f"{channel}: has no block {id!r}.")
    outdated = not workflow.channels[channel].is_source and record.digest != digests[channel]
    if handed is not None and (record.kind != BASE or outdated):
        return handed
    if outdated:
        raise StoreError(
            f"{channel}: block {id!r} was made by another definition of it, and cannot be told by this one; read it at "
            "a time, or go back to that definition.",
            code=UNTOLD,
        )
    made = states.block_of(record, state.timelines, state.network.inputs[channel])
    given = Content.from_dict(record.content)
    if made.is_base:
        return Stored(made, given)
    if workflow.channels[channel].is_source:
        return content(db, state, workflow, digests, channel, made.stamp, clock)
    bases = {s.block.target: s for s in states.bases(db, state, channel, record.digest, _EVER)}
    if made.target in bases:
        return bases[made.target]
    if made.source in bases and not made.obscure:
        return Stored(Block(channel, BASE, made.target), bases[made.source].content.then(given))
    raise StoreError(
        f"{called(made)}: is a delta, and the base that it led to was not kept; place {channel!r} with keep=True, or "
        "read what it is now.",
        code=NOTHING,
    )


def content(
    db: Session,
    state: State,
    workflow: Workflow,
    digests: Mapping[str, str],
    channel: str,
    at: Stamp | None,
    clock: Stamp,
) -> Stored | Inline:
    """The newest base of a channel that keeps its consistency bounds; of a source, everything that arrived.

    Of a channel that no plan has written, what its operators make of the newest snapshots.
    """
    if workflow.channels[channel].is_source:
        line = state.timelines[channel]
        stamp = line.newest if at is None else line.snapshot_at(at)
        if at is not None and (stands := release.went(db, state.workflow, channel, at)) is not None:
            raise StoreError(
                f"{channel}: what it was at {moments([at])} was let go, as the retention says; the oldest that can be "
                f"read is of {moments([stands])}.",
                code=LET_GO,
            )
        return states.snapshot(db, state, channel, stamp)
    bounds = state.problem(state.now(clock)).bounds()
    bases = [
        s
        for s in states.bases(db, state, channel, digests[channel], at)
        if next(bounds.inconsistent(channel, s.block.target), None) is None
    ]
    newest = [s for s in bases if not any(s.block.target.precedes(o.block.target) for o in bases)]
    if newest:
        return newest[-1]
    if at is not None:
        raise StoreError(
            f"{channel}: what it was at {moments([at])} was not kept; place it with keep=True.", code=NOTHING
        )
    return _computed(state, channel, clock)


def _computed(state: State, channel: str, clock: Stamp) -> Stored | Inline:
    network = state.network
    fresh = tuple(Staleness(channel, i, 0) for i in range(len(network.inputs[channel])))
    batch = tuple(v for v in network.variants if not (v.foreign and v.signature.incremental))
    wanted = Network(network.inputs, batch, {channel: Output(channel, frozenset({BASE}))}, fresh)
    problem = replace(state.problem(state.now(clock), wanted), holds={channel: None})
    decision = decide(problem, due=(channel,))
    if decision.infeasible is not None:
        raise decision.infeasible.error()
    made: dict[Key, Invocation] = {b.key: step for step in decision.work for b in step.results}
    return source_of(decision.emitted[channel][-1], state.find, made)
