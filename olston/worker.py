"""The work of a step on Spark: making blocks, delivering them, and asking what a consumer really holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from olston import held, lost
from olston.block import BASE
from olston.catalog import Catalog
from olston.content import Content
from olston.feed import Feed
from olston.held import Followed
from olston.keys import repeated
from olston.provenance import Provenance
from olston.published import Published
from olston.scheduler.ways import FEED, SUPERSEDE, Way
from olston.session import Sessions
from olston.step import Inline, Step, Stored, describe, given, origin, run, superseding
from olston.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Handover:
    """One delivery: what is given to the consumer of `output`, and what it holds then."""

    output: str
    source: Stored | Inline
    content: Provenance
    number: int
    digest: str
    said: Mapping[str, int]
    """What the commit also says."""
    ways: tuple[Way, ...] = ()
    """The ways to deliver it, the cheapest first."""
    held: int | None = None
    """How many rows the consumer holds before, where that is known."""


@dataclass(frozen=True)
class Delivered:
    """What came of a delivery: the version of the published table, none of a feed, and the rows written for it.

    `held` is how many there are since, if known, and `allows` what was found possible, if that was looked at;
    `supersedes` whether rows could be superseded, if that was tried.
    """

    version: int | None
    rows: float
    way: Way
    held: int | None = None
    allows: Way | None = None
    supersedes: bool | None = None


class Work(Protocol):
    """What carrying out a plan asks for. Called from several threads at once."""

    def make(self, step: Step, attempt: str, said: Mapping[str, int]) -> tuple[Stored, ...]:
        """Commits also say `said`."""

    def deliver(self, handover: Handover, attempt: str) -> Delivered:
        """Fails with `NUMBER_TAKEN` if another delivery has the number."""

    def follow(self, output: str | None = None, *, disown: bool = False) -> Followed:
        """Let the catalog follow the logs of consumers; what came of it.

        With `disown` that of `output` says that somebody else changed it.
        """

    def leave_planning(self, error: Exception) -> bool:
        """Take blocks whose files are gone out of planning, if that is why a step failed; whether there were any."""

    def missing_input(self) -> Exception | None:
        """What to say if files of what had arrived are gone."""

    def recalls(self, stored: Stored) -> bool:
        """Whether a base is read from memory, so that its overlay costs nothing."""

    def fold(self, stored: Stored, attempt: str) -> tuple[Stored, str | None]:
        """The same base as one anchor; and what to say if rows of a source share a key that should be unique."""

    def abandon(self, attempt: str) -> None:
        """Stop the jobs of an attempt that is running; it fails then."""


class Worker:
    """Work on Spark. Every attempt has a session of its own, and its jobs bear its name."""

    def __init__(self, store: Store, sessions: Sessions, catalog: Catalog, inputs: Mapping[str, Sequence[str]]) -> None:
        self.store, self.sessions, self._catalog, self._inputs = store, sessions, catalog, inputs

    def make(self, step: Step, attempt: str, said: Mapping[str, int]) -> tuple[Stored, ...]:
        with self.sessions.lent(attempt, step.name) as session:
            return run(self.store, session, step, attempt, said)

    def deliver(self, handover: Handover, attempt: str) -> Delivered:
        output, source = handover.output, handover.source
        with self.sessions.lent(attempt, f"→ {output}") as session:
            if self.store.workflow.outputs[output].feed:
                assert isinstance(source, Stored)
                Feed(self.store, output).deliver(
                    session, source, handover.content, handover.number, attempt, handover.digest, handover.said
                )
                return Delivered(None, source.block.rows, FEED)
            rows = given(self.store, session, source)
            made = Published(self.store, output).deliver(
                session, source.block, rows, handover.content, handover.number, attempt, handover.digest,
                handover.said, ways=handover.ways, held=handover.held, origin=origin(source),
                keys=superseding(self.store, session, source) if handover.ways[0] == SUPERSEDE else None,
            )  # fmt: skip
            assert made.way is not None
            return Delivered(made.version, made.rows, made.way, made.held, made.allows, made.supersedes)

    def follow(self, output: str | None = None, *, disown: bool = False) -> Followed:
        if output is not None and disown:
            held.disown(self._catalog, self.store.workflow.name, output)
        with self.sessions.lent() as session:
            return held.follow(self._catalog, self.store, session, self._inputs)

    def leave_planning(self, error: Exception) -> bool:
        with self.sessions.lent() as session:
            return lost.leave_planning(self._catalog, self.store, session, error)

    def missing_input(self) -> Exception | None:
        with self.sessions.lent() as session:
            return lost.missing_input(self._catalog, self.store, session)

    def recalls(self, stored: Stored) -> bool:
        return self.store.memory.has(stored.block.channel, stored.content)

    def fold(self, stored: Stored, attempt: str) -> tuple[Stored, str | None]:
        channel = stored.block.channel
        metadata = {**describe(stored.block, attempt, "fold"), "folds": stored.block.id}
        with self.sessions.lent(attempt, f"fold {channel}") as session:
            content = self.store.fold(session, channel, stored.content, attempt, metadata)
            return Stored(stored.block, content), self._repeated(session, channel, content)

    def _repeated(self, session: SparkSession, channel: str, content: Content) -> str | None:
        """What to say of keys that several rows of a source have; elsewhere snapshots that met may make them so."""
        source = self.store.workflow.channels[channel]
        if source.key is None or not source.is_source:
            return None
        examples = repeated(self.store.read(session, channel, BASE, content), source.key)
        if not examples:
            return None
        return (
            f"{channel}: several rows have one key ({', '.join(source.key)}), which should be unique: "
            f"{'; '.join(examples)}. What is computed by the key is not right for them; delete what is too much: "
            f'ingest({channel!r}, …, kind="delta").'
        )

    def abandon(self, attempt: str) -> None:
        self.sessions.cancel(attempt)
