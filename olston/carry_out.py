"""Carrying out a plan: every step writes under a name of its own, and exists once the catalog says so (DESIGN 7)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from olston import events, faults, held
from olston.attempt import new_attempt
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import BlockRecord, DeliveryRecord, EventRecord, PlanRecord, StepRecord
from olston.errors import OlstonError, StepError, StoreError
from olston.fuse import Key, parts_of, source_of, step_of, unwritten
from olston.lease import Lease, LeaseLost
from olston.maintain import UnderWay
from olston.outcomes import counted, outcomes
from olston.planning import Planned
from olston.scheduler.around import around
from olston.scheduler.dispatch import Dispatch
from olston.scheduler.explain import explain
from olston.scheduler.network import Variant
from olston.scheduler.plan import Invocation
from olston.scheduler.ways import AGAIN, CHANGING, DeliveryPriced, Way
from olston.state import State, record
from olston.worker import Handover, Work

if TYPE_CHECKING:
    from sqlmodel import Session, SQLModel

    from olston.step import Stored
    from olston.workflow import Workflow

ATTEMPTS = 2
"""Times that a step is tried before the planner is asked for another way."""


Made: TypeAlias = "tuple[list[SQLModel], list[Block], Way | None]"
"""What the catalog is to remember, the blocks with their counts, and how a delivery was made."""


class Overtaken(Exception):
    """The catalog knew less than the log of a consumer; what is left to do must be planned again."""


@dataclass
class Execution:
    """One plan being carried out. `step` runs in threads; all else belongs to the loop."""

    catalog: Catalog
    work: Work
    lease: Lease
    workflow: Workflow
    planned: Planned
    state: State
    digests: Mapping[str, str]
    clock: Callable[[], int]
    plan: str = field(default_factory=new_attempt)
    errors: dict[int, Exception] = field(default_factory=dict)
    """Why steps failed, by their position."""
    failures: list[EventRecord] = field(default_factory=list)
    """The events that say so."""
    lost: BaseException | None = None
    """Why the catalog could not be told how a step ended."""
    abandoned: bool = False
    """Whether steps were told to fail, which is no fault of theirs."""
    made: set[str] = field(default_factory=set)
    """The blocks that its steps made."""
    alone: bool = True
    """Whether nothing happened since it was planned but that its steps ended."""
    justified: bool = False

    def __post_init__(self) -> None:
        steps = self.planned.decision.steps
        feeds = {name for name, output in self.workflow.outputs.items() if output.feed}
        pinned = {m.name for w in self.workflow.widgets.values() if w.keep for m in w.makes()}
        self._within = unwritten(steps, feeds | pinned, self.state.network.read | self.state.network.resumed)
        written = [s for s in steps if s.is_delivery or s.results[0].key not in self._within]
        self.dispatch = Dispatch(written, self._within)
        self._running: dict[int, str] = {}
        self._lock = threading.Lock()

    @property
    def due(self) -> tuple[str, ...]:
        return self.planned.decision.due

    def begin(self, db: Session) -> None:
        """Record the plan."""
        decision = self.planned.decision
        db.add(
            PlanRecord(
                id=self.plan, workflow=self.workflow.name, now=int(self.planned.now), due=list(decision.due),
                cost=decision.cost, evidence={}, made_at=self.clock(), fence=self.lease.fence,
            )
        )  # fmt: skip

    def justify(self) -> None:
        """Record the evidence for the plan, once; it may be looked for while its steps run."""
        if self.justified:
            return
        self.justified = True
        evidence = explain(self.planned.problem, self.planned.decision).to_json()
        with self.catalog.transaction(lasting=False) as db:
            recorded = db.get(PlanRecord, self.plan)
            if recorded is not None:  # nobody wanted so short a history
                recorded.evidence = evidence

    def step(self, position: int) -> None:
        """Carry out one step; how it ended is an event in the same transaction that makes its results exist."""
        for remaining in reversed(range(ATTEMPTS)):
            try:
                return self._try(position)
            except LeaseLost:
                return None
            except Overtaken:
                return self._ended(position, events.FAILED, {"again": True})
            except Exception as error:
                if self.abandoned:
                    return self._ended(position, events.FAILED, {"again": True})
                if not remaining:
                    if self.work.leave_planning(error):
                        return self._ended(position, events.FAILED, {"again": True})
                    self.errors[position] = error
                    return self._ended(position, events.FAILED, _said(error))

    def abandon(self) -> None:
        """Stop the jobs of the steps that run; they fail, and are not tried again."""
        self.abandoned = True
        with self._lock:
            running = list(self._running.values())
        for attempt in running:
            self.work.abandon(attempt)

    def concerns(self, arrival: Mapping[str, Any]) -> bool:
        """Whether an arrival came after the plan was made, where its outputs would see it."""
        inputs = {i for o in self.due for i in self.state.network.inputs[o]}
        return arrival["stamp"] > self.planned.now and not inputs.isdisjoint(arrival["channels"])

    @property
    def variants(self) -> frozenset[str]:
        """The names of the variants that the plan uses."""
        return frozenset(str(s.operator) for s in self.planned.decision.work)

    @property
    def works_on(self) -> frozenset[str]:
        """The channels that it makes something of, and those between its inputs and the outputs that need it."""
        makes, network = set(), self.state.network
        for position in self.dispatch.remaining:
            for part in self._all(self.dispatch.steps[position]):
                makes |= {block.channel for block in part.results}
            for output in self.outputs_behind(position):
                makes |= {c for c in network.upstream(output) if network.producers.get(c)}
        return frozenset(makes)

    @property
    def reads(self) -> frozenset[str]:
        """The channels that its steps still read."""
        return frozenset(block.channel for block in self._operands())

    def foretell(self, under_way: UnderWay) -> None:
        """Add what its steps still read and make."""
        for block in self._operands():
            under_way.reads.update(self.state.parts(block))
        for position in self.dispatch.remaining:
            for part in self._all(self.dispatch.steps[position]):
                if part.is_delivery:
                    under_way.holds[part.operands[-1].channel] = part.results[0].target
                else:
                    under_way.blocks += part.results

    def _operands(self) -> Iterator[Block]:
        for position in self.dispatch.remaining:
            for part in self._all(self.dispatch.steps[position]):
                yield from part.operands

    def outputs_behind(self, position: int) -> frozenset[str]:
        """The outputs of the plan that need the step."""
        step = self.dispatch.steps[position]
        channel = step.operands[-1].channel if step.is_delivery else step.results[0].channel
        return frozenset(o for o in self.due if channel in self.state.network.upstream(o))

    def around(self, position: int, excluded: Collection[str]) -> frozenset[str]:
        """The variants of a step that failed without which there is another way to the outputs that need it."""
        variants = [i.operator for i in self._all(self.dispatch.steps[position]) if isinstance(i.operator, Variant)]
        return around(self.planned.problem, variants, self.outputs_behind(position), excluded)

    def _ended(self, position: int, kind: str, about: Mapping[str, Any]) -> None:
        try:
            with self.catalog.transaction() as db:
                self._happen(db, position, kind, about)
        except LeaseLost:
            return

    def _happen(self, db: Session, position: int, kind: str, about: Mapping[str, Any]) -> None:
        self.lease.check(db)
        told = {"plan": self.plan, "position": position, **about}
        events.happen(db, self.workflow.name, kind, told, self.clock())

    def _all(self, invocation: Invocation) -> Iterator[Invocation]:
        """A step and all that is done within it."""
        yield invocation
        for made in parts_of(invocation, self._within):
            yield from self._all(made)

    def _called(self, invocation: Invocation) -> str:
        """A step with what is done within it: `digests.incremental + output.async_left → output`."""
        within = [self._called(made) for made in parts_of(invocation, self._within)]
        if isinstance(invocation.operator, Variant):
            return " + ".join([*within, invocation.operator.name])
        return f"{' '.join(within)} → {invocation.operator.channel}".strip()

    def _try(self, position: int) -> None:
        invocation, attempt = self.dispatch.steps[position], new_attempt()
        tried = StepRecord(
            attempt=attempt, plan=self.plan, workflow=self.workflow.name, name=self._called(invocation),
            state="running", operands=[str(b) for b in invocation.operands],
            results=[str(b) for b in invocation.results],
            expected_seconds=sum(i.cost for i in self._all(invocation)),
            expected_rows=sum(b.rows for b in invocation.results), started_at=self.clock(),
        )  # fmt: skip
        with self.catalog.transaction(lasting=False) as db:
            self.lease.check(db)
            db.add(tried)
        with self._lock:
            self._running[position] = attempt
        started = time.perf_counter()
        try:
            recalled = self._recalled(invocation)
            made, blocks, way = (self._deliver if invocation.is_delivery else self._make)(invocation, attempt)
        except Exception as error:
            tried.state = "abandoned" if self.abandoned else "failed"
            tried.error, tried.seconds = str(error), time.perf_counter() - started
            with self.catalog.transaction() as db:
                db.merge(tried)
            raise
        finally:
            with self._lock:
                self._running.pop(position, None)
        tried.state, tried.seconds = "done", time.perf_counter() - started
        tried.rows = sum(b.rows for b in blocks)
        tried.outcomes = outcomes(
            self.workflow, invocation, self._within, self.state.find, blocks, tried.seconds, way, recalled
        )
        release = self._hold(invocation, made)
        try:
            with self.catalog.transaction() as db:
                self._happen(db, position, events.FINISHED, {})
                db.add(tried)
                for row in made:
                    db.merge(row)
        except LeaseLost:  # what it made stays unknown; it did run, and that is kept
            tried.state = "superseded"
            with self.catalog.transaction() as db:
                db.merge(tried)
            raise
        except Exception:
            release()  # trying again takes the same number, and finds it taken
            raise

    def _recalled(self, invocation: Invocation) -> set[Key]:
        """The bases that a step, and what is done within it, will read from memory."""
        read = (b for part in self._all(invocation) for b in part.operands[-1 if part.is_delivery else 0 :])
        bases = {b.key: b for b in read if b.is_base and b.key not in self._within}
        return {key for key, b in bases.items() if self.work.recalls(self.state.find(b))}

    def _make(self, invocation: Invocation, attempt: str) -> Made:
        step = step_of(invocation, self.state.find, self._within)
        made = self.work.make(step, attempt, {"now": int(self.planned.now), "made_at": self.clock()})
        faults.point("block-committed")
        rows: list[SQLModel] = []
        for stored in made:
            rows += self._supersede(stored)
            rows.append(record(self.state, stored, step.name, self.digests, self.clock()))
            self.state.stored[stored.block.key] = stored
            self.made.add(stored.block.id)
        return rows, [s.block for s in made], None

    def _supersede(self, stored: Stored) -> Iterator[SQLModel]:
        """What was made before of the same provenance leaves planning."""
        known = self.state.stored.get(stored.block.key)
        if known is not None and known.block.id and known.block.id != stored.block.id:
            with self.catalog.look() as db:
                old = db.get(BlockRecord, known.block.id)
            if old is not None:
                old.live = False
                yield old

    def _deliver(self, invocation: Invocation, attempt: str) -> Made:
        given, content = invocation.operands[-1], invocation.results[0].target
        output = given.channel
        source = source_of(given, self.state.find, self._within)
        last = self.state.deliveries.get(output)
        number = last.number + 1 if last else 1
        said = {"now": int(self.planned.now), "delivered_at": self.clock()}
        price, ways = invocation.operator.price, CHANGING
        if isinstance(price, DeliveryPriced):
            ways = price.ways(source.block, afresh=number % AGAIN == 0)
        rows = last.rows if last else 0
        handover = Handover(output, source, content, number, self.digests[output], said, ways, rows)
        try:
            done = self.work.deliver(handover, attempt)
        except StoreError as error:
            if held.is_behind(error):
                followed = self.work.follow(output, disown=error.code == held.FOREIGN)
                if output in followed.faults:
                    raise followed.faults[output] from error
                raise Overtaken(str(error)) from error
            raise
        faults.point("delivery-committed")
        delivery = DeliveryRecord(
            workflow=self.workflow.name, output=output, number=number, block=source.block.id or attempt,
            content=self.state.pack(output, content) or [], digest=self.digests[output],
            delivered_at=said["delivered_at"], version=done.version, rows=done.held,
            allows=done.allows or (last.allows if last else None),
            supersedes=done.supersedes if done.supersedes is not None else last.supersedes if last else None,
        )  # fmt: skip
        return [delivery], [counted(source, done.rows)], done.way

    def _hold(self, invocation: Invocation, made: Iterable[SQLModel]) -> Callable[[], None]:
        """Know that what was delivered is held, before others hear that it is; returns how to forget that."""
        delivery = next((row for row in made if isinstance(row, DeliveryRecord)), None)
        if delivery is None:
            return lambda: None
        holds, deliveries, output = self.state.holds, self.state.deliveries, delivery.output
        content, last = holds.get(output), deliveries.get(output)
        holds[output], deliveries[output] = invocation.results[0].target, delivery

        def release() -> None:
            holds[output] = content
            deliveries.pop(output)
            if last is not None:
                deliveries[output] = last

        return release


def _said(error: Exception) -> dict[str, Any]:
    """What the event of a failure tells."""
    return {
        "error": error.message if isinstance(error, OlstonError) else f"{type(error).__name__}: {error}",
        "code": error.code if isinstance(error, OlstonError) else StepError.code,
    }
