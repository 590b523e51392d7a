"""Carrying out a plan: every step writes under a name of its own, and exists once the catalog says so (DESIGN 7)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olston import faults, held
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord, DeliveryRecord, PlanRecord, StepRecord
from olston.errors import OlstonError, StoreError
from olston.feed import Feed
from olston.fuse import source_of, step_of, unwritten
from olston.operators.columns import View
from olston.provenance import Stamp
from olston.published import Published
from olston.scheduler.decide import Decision
from olston.scheduler.dispatch import dispatch
from olston.scheduler.network import Variant
from olston.scheduler.plan import Invocation
from olston.session import Sessions
from olston.state import State, record
from olston.step import Stored, operand, run
from olston.store import Store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ATTEMPTS = 2
"""Times that a step is tried before the planner is asked for another way."""


@dataclass(frozen=True)
class Done:
    """A step that was carried out."""

    name: str
    seconds: float
    expected: float
    results: tuple[Block, ...]


class Overtaken(Exception):
    """Somebody else delivered first; the catalog follows, and what is left to do must be planned again."""


class StepFailed(Exception):
    """A step that failed every time it was tried; `avoidable` are the variants in it that could be planned around."""

    def __init__(self, avoidable: frozenset[str], error: OlstonError) -> None:
        super().__init__(str(error))
        self.avoidable, self.error = avoidable, error


@dataclass
class Execution:
    """One plan being carried out. Steps run in threads, each with a session that is lent to it."""

    catalog: Catalog
    store: Store
    sessions: Sessions
    state: State
    digests: Mapping[str, str]
    clock: Callable[[], int]
    plan: str = field(default_factory=new_attempt)
    done: list[Done] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, decision: Decision, evidence: Mapping[str, Any], now: Stamp) -> list[Done]:
        """Carry out `decision`; raises `StepFailed` for the first step that could not be done."""
        workflow, self._now = self.store.workflow, now
        feeds = {name for name, output in workflow.outputs.items() if output.feed}
        pinned = {name for w in workflow.widgets.values() if w.keep for name in (m.name for m in w.makes())}
        self._within = unwritten(decision.steps, feeds | pinned, self.state.network.read)
        with self.catalog.transaction() as db:
            db.add(
                PlanRecord(
                    id=self.plan, workflow=workflow.name, now=int(now), due=list(decision.due), cost=decision.cost,
                    evidence=dict(evidence), made_at=self.clock(),
                )
            )  # fmt: skip
        written = [s for s in decision.steps if s.is_delivery or s.results[0].key not in self._within]
        dispatch(written, self._within, self._step)
        return self.done

    def _step(self, invocation: Invocation) -> None:
        for remaining in reversed(range(ATTEMPTS)):
            try:
                return self._try(invocation)
            except OlstonError as error:
                if not remaining:
                    variants = [i.operator for i in self._all(invocation) if isinstance(i.operator, Variant)]
                    avoidable = frozenset(v.name for v in variants if v.signature.incremental)
                    raise StepFailed(avoidable, error) from error

    def _all(self, invocation: Invocation) -> Iterator[Invocation]:
        """A step and all that is done within it."""
        yield invocation
        for block in invocation.operands:
            if block.key in self._within:
                yield from self._all(self._within[block.key])

    def _called(self, invocation: Invocation) -> str:
        """A step with what is done within it: `digests.incremental + output.async_left → output`."""
        within = [self._called(self._within[b.key]) for b in invocation.operands if b.key in self._within]
        if isinstance(invocation.operator, Variant):
            return " + ".join([*within, invocation.operator.name])
        return f"{' '.join(within)} → {invocation.operator.channel}".strip()

    def _expected(self, invocation: Invocation) -> float:
        return sum(i.cost for i in self._all(invocation))

    def _try(self, invocation: Invocation) -> None:
        attempt, name = new_attempt(), self._called(invocation)
        tried = StepRecord(
            attempt=attempt, plan=self.plan, workflow=self.store.workflow.name, name=name, state="running",
            operands=[str(b) for b in invocation.operands], results=[str(b) for b in invocation.results],
            expected_seconds=self._expected(invocation), expected_rows=sum(b.rows for b in invocation.results),
            started_at=self.clock(),
        )  # fmt: skip
        with self.catalog.transaction() as db:
            db.add(tried)
        started = time.perf_counter()
        try:
            with self.sessions.lent() as session:
                act = self._deliver if invocation.is_delivery else self._make
                made = act(session, invocation, attempt)
        except (OlstonError, Overtaken) as error:
            tried.state, tried.error, tried.seconds = "failed", str(error), time.perf_counter() - started
            with self.catalog.transaction() as db:
                db.merge(tried)
            raise
        tried.state, tried.seconds = "done", time.perf_counter() - started
        tried.rows = sum(b.rows for b in made[0])
        with self._lock, self.catalog.transaction() as db:
            db.merge(tried)
            for row in made[1]:
                db.add(row)
            for block in made[0]:  # made anew: the one before leaves planning
                known = self.state.stored.get(block.key)
                old = db.get(BlockRecord, known.block.id) if known and known.block.id != block.id else None
                if old is not None:
                    old.live = False
        made[2]()
        self.done.append(Done(name, tried.seconds, tried.expected_seconds, tuple(made[0])))

    def _make(
        self, session: SparkSession, invocation: Invocation, attempt: str
    ) -> tuple[list[Block], list[Any], Callable[[], None]]:
        step = step_of(invocation, self.state.find, self._within)
        made = run(self.store, session, step, attempt, {"now": int(self._now), "made_at": self.clock()})
        faults.point("block-committed")
        rows = [record(self.state, s, step.name, self.digests, self.clock()) for s in made]

        def publish() -> None:
            for stored in made:
                self.state.stored[stored.block.key] = stored

        return [s.block for s in made], rows, publish

    def _deliver(
        self, session: SparkSession, invocation: Invocation, attempt: str
    ) -> tuple[list[Block], list[Any], Callable[[], None]]:
        given, content = invocation.operands[-1], invocation.results[0].target
        output = given.channel
        source = source_of(given, self.state.find, self._within)
        last = self.state.deliveries.get(output)
        number = last.number + 1 if last else 1
        version: int | None = None
        digest, said = self.digests[output], {"now": int(self._now), "delivered_at": self.clock()}
        try:
            if self.store.workflow.outputs[output].feed:
                assert isinstance(source, Stored)
                Feed(self.store, output).deliver(session, source, content, number, attempt, digest, said)
            else:
                rows = operand(self.store, session, source, View.PUBLIC)
                version = (
                    Published(self.store, output)
                    .deliver(session, source.block, rows, content, number, attempt, digest, said)
                    .version
                )
        except StoreError as error:
            if held.is_behind(error):
                if error.code == held.FOREIGN:
                    held.disown(self.catalog, self.store.workflow.name, output)
                held.follow(self.catalog, self.store, session, self.state.network.inputs)
                raise Overtaken(str(error)) from error
            raise
        faults.point("delivery-committed")
        delivery = DeliveryRecord(
            workflow=self.store.workflow.name, output=output, number=number, block=source.block.id or attempt,
            content=self.state.pack(output, content) or [], digest=digest, delivered_at=said["delivered_at"],
            version=version,
        )  # fmt: skip

        def publish() -> None:
            self.state.holds[output], self.state.deliveries[output] = content, delivery

        return [source.block], [delivery], publish
