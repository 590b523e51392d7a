"""Carrying out a plan: every step writes under a name of its own, and exists once the catalog says so (DESIGN 7)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord, DeliveryRecord, PlanRecord, StepRecord
from olston.errors import OlstonError
from olston.feed import Feed
from olston.fuse import source_of, step_of, unwritten
from olston.operators.columns import View
from olston.provenance import Stamp
from olston.published import Published
from olston.scheduler.decide import Decision
from olston.scheduler.dispatch import dispatch
from olston.scheduler.network import Output
from olston.scheduler.plan import Invocation
from olston.session import clone
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


class StepFailed(Exception):
    """A step that failed every time it was tried."""

    def __init__(self, name: str, error: OlstonError, variant: bool) -> None:
        super().__init__(str(error))
        self.name, self.error, self.variant = name, error, variant


@dataclass
class Execution:
    """One plan being carried out. Steps run in threads, each with a session of its own."""

    catalog: Catalog
    store: Store
    session: SparkSession
    state: State
    digests: Mapping[str, str]
    clock: Callable[[], int]
    plan: str = field(default_factory=new_attempt)
    done: list[Done] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _mine: threading.local = field(default_factory=threading.local)

    def run(self, decision: Decision, evidence: Mapping[str, Any], now: Stamp) -> list[Done]:
        """Carry out `decision`; raises `StepFailed` for the first step that could not be done."""
        workflow = self.store.workflow
        feeds = {name for name, output in workflow.outputs.items() if output.feed}
        pinned = {name for w in workflow.widgets.values() if w.keep for name in (m.name for m in w.makes())}
        self._within = unwritten(decision.steps, feeds | pinned)
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
        name = str(invocation.operator.channel) if isinstance(invocation.operator, Output) else invocation.operator.name
        for remaining in reversed(range(ATTEMPTS)):
            try:
                return self._try(name, invocation)
            except OlstonError as error:
                if not remaining:
                    raise StepFailed(name, error, not invocation.is_delivery) from error

    def _try(self, name: str, invocation: Invocation) -> None:
        attempt = new_attempt()
        tried = StepRecord(
            attempt=attempt, plan=self.plan, workflow=self.store.workflow.name, name=name, state="running",
            operands=[str(b) for b in invocation.operands], results=[str(b) for b in invocation.results],
            expected_seconds=invocation.cost, expected_rows=sum(b.rows for b in invocation.results),
            started_at=self.clock(),
        )  # fmt: skip
        with self.catalog.transaction() as db:
            db.add(tried)
        started = time.perf_counter()
        try:
            made = self._deliver(invocation, attempt) if invocation.is_delivery else self._make(invocation, attempt)
        except OlstonError as error:
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
        self.done.append(Done(name, tried.seconds, invocation.cost, tuple(made[0])))

    def _make(self, invocation: Invocation, attempt: str) -> tuple[list[Block], list[Any], Callable[[], None]]:
        step = step_of(invocation, self.state.find, self._within)
        made = run(self.store, self._own_session(), step, attempt)
        rows = [record(self.state, s, step.name, self.digests, self.clock()) for s in made]

        def publish() -> None:
            for stored in made:
                self.state.stored[stored.block.key] = stored

        return [s.block for s in made], rows, publish

    def _deliver(self, invocation: Invocation, attempt: str) -> tuple[list[Block], list[Any], Callable[[], None]]:
        given, content = invocation.operands[-1], invocation.results[0].target
        output, session = given.channel, self._own_session()
        source = source_of(given, self.state.find, self._within)
        version: int | None = None
        if self.store.workflow.outputs[output].feed:
            assert isinstance(source, Stored)
            feed = Feed(self.store, output)
            number = feed.last(session) + 1
            feed.deliver(session, source, content, number, attempt)
        else:
            published = Published(self.store, output)
            rows = operand(self.store, session, source, View.PUBLIC)
            held = published.held(session)
            number = held.number + 1 if held else 1
            version = published.deliver(session, source.block, rows, content, number, attempt).version
        delivery = DeliveryRecord(
            workflow=self.store.workflow.name, output=output, number=number, block=source.block.id or attempt,
            content=self.state.pack(output, content) or [], digest=self.digests[output], delivered_at=self.clock(),
            version=version,
        )  # fmt: skip

        def publish() -> None:
            self.state.holds[output], self.state.deliveries[output] = content, delivery

        return [source.block], [delivery], publish

    def _own_session(self) -> SparkSession:
        if not hasattr(self._mine, "session"):
            self._mine.session = clone(self.session)
        found: SparkSession = self._mine.session
        return found
