"""The work of a step on Spark: making blocks, delivering them, and asking what a consumer really holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from olston.feed import Feed
from olston.operators.columns import View
from olston.provenance import Provenance
from olston.published import Published
from olston.session import Sessions
from olston.step import Inline, Step, Stored, operand, run
from olston.store import Store


@dataclass(frozen=True)
class Handover:
    """One delivery: what is given to the consumer of `output`, and what it holds then."""

    output: str
    source: Stored | Inline
    content: Provenance
    number: int
    digest: str


@dataclass(frozen=True)
class Delivered:
    """What came of a delivery: the version of the published table, none of a feed, and the rows written for it."""

    version: int | None
    rows: float


@dataclass(frozen=True)
class Held:
    """What a consumer holds according to its own log; `version` is that of the published table, none of a feed."""

    number: int
    content: Provenance
    block: str
    digest: str
    version: int | None


class Work(Protocol):
    """What carrying out a plan asks for. Called from several threads at once."""

    def make(self, step: Step, attempt: str) -> tuple[Stored, ...]: ...

    def deliver(self, handover: Handover, attempt: str) -> Delivered:
        """Fails with `NUMBER_TAKEN` if another delivery has the number."""

    def held(self, output: str) -> Held: ...

    def fold(self, stored: Stored, attempt: str) -> Stored: ...

    def abandon(self, attempt: str) -> None:
        """Stop the jobs of an attempt that is running; it fails then."""


class Worker:
    """Work on Spark. Every attempt has a session of its own, and its jobs bear its name."""

    def __init__(self, store: Store, sessions: Sessions) -> None:
        self.store, self.sessions = store, sessions

    def make(self, step: Step, attempt: str) -> tuple[Stored, ...]:
        with self.sessions.lent(attempt, step.name) as session:
            return run(self.store, session, step, attempt)

    def deliver(self, handover: Handover, attempt: str) -> Delivered:
        output, source = handover.output, handover.source
        with self.sessions.lent(attempt, f"→ {output}") as session:
            if self.store.workflow.outputs[output].feed:
                assert isinstance(source, Stored)
                Feed(self.store, output).deliver(session, source, handover.content, handover.number, attempt)
                return Delivered(None, source.block.rows)
            rows = operand(self.store, session, source, View.PUBLIC)
            made = Published(self.store, output).deliver(
                session, source.block, rows, handover.content, handover.number, attempt, handover.digest
            )
            return Delivered(made.version, made.rows)

    def held(self, output: str) -> Held:
        with self.sessions.lent() as session:
            if self.store.workflow.outputs[output].feed:
                *_, fed = Feed(self.store, output).after(session)
                return Held(fed.number, fed.content, fed.stored.block.id or "", "", None)
            found = Published(self.store, output).held(session)
        assert found is not None
        return Held(found.number, found.content, found.block, found.digest, found.version)

    def fold(self, stored: Stored, attempt: str) -> Stored:
        channel = stored.block.channel
        metadata = {"channel": channel, "folds": stored.block.id}
        with self.sessions.lent(attempt, f"fold {channel}") as session:
            content = self.store.fold(session, channel, stored.content, attempt, metadata)
        return Stored(stored.block, content)

    def abandon(self, attempt: str) -> None:
        self.sessions.cancel(attempt)
