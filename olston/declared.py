"""What the catalog knows of a workflow's definition, and how the present one differs (DESIGN 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlmodel import Session, col, select

from olston import identity
from olston.catalog.records import ArrivalRecord, BlockRecord, ChannelRecord, WorkflowRecord
from olston.definition import definitions, digests, own
from olston.errors import WorkflowError
from olston.formerly import remember

if TYPE_CHECKING:
    from olston.workflow import Workflow


@dataclass(frozen=True)
class Change:
    """What became of a channel: it is new, changed, made anew because of others upstream, or gone."""

    channel: str
    what: str
    because: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """Which parameters changed, where that is known."""

    def __str__(self) -> str:
        parts = f" in its {_listed(self.parts)}" if self.parts else ""
        because = f", since {', '.join(self.because)} changed" if self.because else ""
        return f"{self.channel} is {self.what}{parts}{because}"


def _listed(parts: Sequence[str]) -> str:
    """`kind, function and key`: what a channel is, is its kind."""
    *others, last = ["kind" if part == "is" else part for part in parts]
    return f"{', '.join(others)} and {last}" if others else last


@dataclass(frozen=True)
class Difference:
    """How a definition differs from the one that the catalog knows, and what is known of the channels it kept.

    `drifting` are the widgets of which some variant would not be exact, by what their columns are; `typed` whether the
    catalog knows the types of all columns.
    """

    changes: tuple[Change, ...]
    drifting: frozenset[str]
    typed: bool


def compare(db: Session, workflow: Workflow) -> Difference:
    """How `workflow` differs from what the catalog knows; a workflow that it does not know differs in nothing."""
    known = {r.name: r for r in db.exec(select(ChannelRecord).where(ChannelRecord.workflow == workflow.name))}
    whole = digests(workflow)
    kept = [r for name, r in known.items() if whole.get(name) == r.digest]
    widgets = {r.name: workflow.channels[r.name].widget for r in kept if r.drifting}
    return Difference(
        tuple(_changes(workflow, known)) if known else (),
        frozenset(widget for widget in widgets.values() if widget),
        len(kept) == len(whole) and all(r.columns is not None for r in kept),
    )


def agrees(db: Session, workflow: str, digests: Mapping[str, str]) -> bool:
    """Whether the catalog knows `workflow` by this definition."""
    known = select(ChannelRecord.name, ChannelRecord.digest).where(ChannelRecord.workflow == workflow)
    return dict(iter(db.exec(known))) == digests


def declare(db: Session, workflow: Workflow) -> None:
    """Let the catalog know `workflow` as it is now defined; what older definitions made leaves planning.

    Refused if the columns or the key of a source changed at which data has arrived; one that is followed can be polled
    anew.
    """
    whole = digests(workflow)
    for gone in db.exec(select(ChannelRecord).where(ChannelRecord.workflow == workflow.name)):
        if gone.name not in whole:
            db.delete(gone)
    _define(db, workflow, whole)
    live = select(BlockRecord).where(BlockRecord.workflow == workflow.name, col(BlockRecord.live))
    for block in db.exec(live):
        if block.producer and whole.get(block.channel) != block.digest:
            block.live = False


def declare_sources(db: Session, workflow: Workflow) -> None:
    """Let the catalog know the sources of `workflow`, so that data may arrive there.

    Who only brings data does not decide by which definition it is refreshed; unless nobody has decided that yet.
    """
    known = db.exec(select(ChannelRecord).where(ChannelRecord.workflow == workflow.name).limit(1)).first()
    whole = digests(workflow)
    _define(db, workflow, whole if known is None else {name: whole[name] for name in workflow.sources})


def _define(db: Session, workflow: Workflow, wanted: Mapping[str, str]) -> None:
    """Let the catalog know the channels `wanted`, with their digests, as they are now defined."""
    known = db.get(WorkflowRecord, workflow.name) or WorkflowRecord(name=workflow.name)
    known.identity = known.identity or identity.new()
    db.add(known)
    alone, said = own(workflow), definitions(workflow)
    for name, digest in wanted.items():
        remember(db, workflow.name, workflow.channels[name], digest)
        record = db.get(ChannelRecord, (workflow.name, name))
        if record is None:
            made = ChannelRecord(workflow=workflow.name, name=name, digest=digest, own=alone[name])
            made.definition = said[name]
            db.add(made)
        elif record.digest != digest:
            if workflow.channels[name].is_source and name not in workflow.follows:
                _refuse_if_arrived(db, workflow, name)
            record.digest, record.own, record.columns, record.drifting = digest, alone[name], None, False
            record.definition = said[name]


def _refuse_if_arrived(db: Session, workflow: Workflow, source: str) -> None:
    if _newest(db, workflow, source) is not None:
        raise WorkflowError(_changed(source), code="SOURCE_CHANGED")


def _newest(db: Session, workflow: Workflow, source: str) -> ArrivalRecord | None:
    arrived = select(ArrivalRecord).where(ArrivalRecord.workflow == workflow.name, ArrivalRecord.channel == source)
    return db.exec(arrived.order_by(col(ArrivalRecord.stamp).desc()).limit(1)).first()


def _changed(source: str) -> str:
    return (
        f"source {source!r}: its columns or its key changed, and data has arrived under the old ones; declare a "
        f"source of another name, and union what is to be kept of {source!r}."
    )


def unusable(db: Session, workflow: Workflow) -> str | None:
    """Why nothing can be made by this definition, if what arrived at a source last is of another one of it."""
    whole = digests(workflow)
    for source in workflow.sources:
        last = _newest(db, workflow, source)
        block = None if last is None else db.get(BlockRecord, last.block)
        if block is not None and block.digest != whole[source]:
            if source not in workflow.follows:
                return _changed(source)
            return (
                f"source {source!r}: is declared otherwise than when it was last polled; take all there is now with "
                f"engine.poll({source!r}, anew=True), or olston run --anew {source}."
            )
    return None


def _changes(workflow: Workflow, known: dict[str, ChannelRecord]) -> Iterator[Change]:
    whole, alone, said = digests(workflow), own(workflow), definitions(workflow)
    changed = {n for n in whole if n in known and known[n].own != alone[n]}
    for name, channel in workflow.channels.items():
        if channel.internal:
            continue
        if name not in known:
            yield Change(name, "new")
        elif name in changed:
            was = known[name].definition
            parts = [part for part, text in said[name].items() if was is not None and was.get(part) != text]
            yield Change(name, "changed", parts=tuple(parts))
        elif known[name].digest != whole[name]:
            upstream = {c for p in channel.pathways for c in (p.input, *p.through)}
            because = tuple(sorted(upstream & (changed | (set(whole) - set(known)))))
            yield Change(name, "made anew", because)
    for name in sorted(set(known) - set(whole)):
        yield Change(name, "gone")
