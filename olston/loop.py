"""The loop: events are handled in order, and what is due is planned and carried out (DESIGN 7).

Each event is handled in one transaction, once; the loop itself never waits for a job. Events say that something
happened; what is true stands in the catalog, so whatever a loop that was killed had in mind, the next one finds out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from olston import events
from olston.carry_out import Execution
from olston.catalog import Catalog
from olston.catalog.records import EventRecord, WorkflowRecord
from olston.commands import Asked, Commands
from olston.errors import CatalogError, OlstonError, unknown
from olston.lease import Lease
from olston.maintain import fold, long, retire
from olston.planning import Planned, Planning
from olston.provenance import Stamp
from olston.setbacks import Setbacks
from olston.state import State
from olston.step import Stored
from olston.worker import Work

POLL = 0.5
"""Seconds after which the log is looked at although nobody said that something happened."""
SECOND = 1_000_000

log = logging.getLogger("olston")


class Loop:
    """The scheduler of one workflow, while it holds the lease.

    `submit` runs a function in another thread; `planning` gives the definition as it is now known.
    """

    def __init__(
        self,
        catalog: Catalog,
        planning: Callable[[], Planning],
        work: Callable[[], Work],
        lease: Lease,
        clock: Callable[[], int],
        submit: Callable[[Callable[[], None]], Any],
    ) -> None:
        self._catalog, self._planning, self._work = catalog, planning, work
        self._lease, self._clock, self._submit = lease, clock, submit
        self.woken = threading.Event()
        self.commands = Commands(catalog, lease)
        self._name = planning().workflow.name
        self._execution: Execution | None = None
        self._interrupted = False
        self._failures: list[EventRecord] = []
        self._setbacks = Setbacks()
        self._ahead: dict[str, tuple[float, float]] = {}
        self._folding: set[str] = set()
        self._stopping = False
        self.caught_up = False
        """Whether the logs of consumers were asked what they hold."""
        self._changed = True
        self.next: float | None = None
        """The moment at which something has to be done although nothing happened."""
        with catalog.look() as db:
            left = events.unanswered(db, self._name)
        for event in left:
            self._ask(event)

    # turning

    def run(self, until: Callable[[], bool]) -> None:
        """Turn until told to stop."""
        while not until():
            if not self.turn():
                self.woken.wait(POLL)
                self.woken.clear()

    def turn(self) -> bool:
        """Handle what has happened, then do what follows from it; whether there was anything."""
        now = self._clock()
        if self.next is not None and self.next <= now:
            self.next = None
            with self._catalog.transaction() as db:
                events.happen(db, self._name, events.DEADLINE, {}, now)
        handled = self._handle_pending()
        if self._execution is not None and self._execution.lost is not None:
            raise CatalogError(
                f"catalog {self._catalog.url}: could not be told how a step ended: {self._execution.lost} "
                "The step will be done again by the next scheduler."
            ) from self._execution.lost
        return self._advance() or handled

    @property
    def running(self) -> bool:
        """Whether a job runs."""
        return bool(self._folding) or (self._execution is not None and bool(self._execution.dispatch.running))

    def stop(self) -> None:
        """Begin nothing more; what runs may finish."""
        self._stopping = True
        if self._execution is not None:
            self._execution.dispatch.stop()

    def abandon(self) -> None:
        """Let what runs fail: nothing that was readable changes by it."""
        if self._execution is not None:
            self._execution.abandon()

    # events

    def _handle_pending(self) -> bool:
        """Handle what had happened by now, in order; whether there was anything."""
        with self._catalog.look() as db:
            pending = events.pending(db, self._name)
            if not pending:
                self._lease.check(db)
        for number in pending:
            with self._catalog.transaction() as db:
                self._lease.check(db)
                event = db.get(EventRecord, number)
                if event is None or event.handled:
                    continue
                event.handled = True
            self._handle(event)
        return bool(pending)

    def _handle(self, event: EventRecord) -> None:
        execution = self._execution
        if event.kind == events.COMMAND:
            self._ask(event)
        elif event.kind == events.ARRIVAL:
            # a plan that follows an interrupted one is left alone: arrivals without end must not stop deliveries
            if execution is not None and execution.concerns(event.about) and not self._interrupted:
                execution.dispatch.stop()
                self._interrupted = True
            self._changed = True
        elif event.kind == events.DEADLINE:
            self._changed = True
        elif execution is not None and event.about["plan"] == execution.plan:
            execution.dispatch.finished(event.about["position"])
            if event.kind == events.FAILED:
                execution.dispatch.stop()
                self._failures.append(event)

    def _ask(self, event: EventRecord) -> None:
        self._changed = True
        if event.about.get("pause") and self._execution is not None:
            self._execution.dispatch.stop()
        if "refresh" in event.about:
            self._setbacks.forget()
        self.commands.take(event)

    # what follows

    def _advance(self) -> bool:
        did = False
        if self._execution is not None:
            did = self._begin_steps(self._execution)
            if self._execution.dispatch.ended:
                self._end(self._execution)
                did = True
        if self._execution is None and self._changed and not self._folding and not self._stopping:
            self._plan()
            did = True
        return did

    def _begin_steps(self, execution: Execution) -> bool:
        ready = execution.dispatch.begin()
        for position in ready:
            self._submit(partial(self._in_thread, execution, position))
        return bool(ready)

    def _in_thread(self, execution: Execution, position: int) -> None:
        try:
            execution.step(position)
        except BaseException as error:
            execution.lost = error
        self.woken.set()

    def _plan(self) -> None:
        """Plan what is asked for, else what is due, and begin; if there is nothing, know when there will be."""
        planning = self._planning()
        with self._catalog.transaction() as db:
            self._lease.check(db)
            state, now = planning.begin(db, self._clock())
            record = db.get(WorkflowRecord, self._name)
            paused = record is not None and record.paused
        self._changed = False
        if paused:
            self.next = None
            self.commands.refuse(OlstonError(f"workflow {self._name!r}: is paused; resume it first.", code="PAUSED"))
            return
        asked = self.commands.first
        outputs = planning.network.outputs
        if asked is not None and (gone := [o for o in asked.demand.outputs if o not in outputs]):
            # asked by who knew another definition
            self.commands.failed(asked, unknown("output", gone[0], outputs, f"workflow {self._name!r}"))
            self._changed = True
            return
        resting, excluded = self._setbacks.resting(now), self._setbacks.excluded(now)
        if asked is not None and not asked.met:
            planned = planning.plan(state, now, asked.demand, excluded=excluded)
        else:
            only = asked.demand.outputs or None if asked is not None else None
            soon = {o: span for o, (moment, span) in self._ahead.items() if moment <= now and o not in resting}
            planned = planning.plan(state, now, only=only, without=resting, excluded=excluded, soon=soon)
        if planned.decision.infeasible is not None:
            error = self._work().missing_input() or planned.decision.infeasible.error()
            self._give_up(planned.decision.infeasible.outputs, error, now)
        elif any(s.is_delivery for s in planned.decision.steps):
            if self._catches_up():
                self._changed = True
            else:
                self._begin(planning, state, planned, asked)
        elif asked is not None:
            if not self._looks_ahead(planning, state, now, asked):
                self._satisfied(asked, now)
        else:
            self._await(planning, state, now)

    def _looks_ahead(self, planning: Planning, state: State, now: Stamp, asked: Asked) -> bool:
        """Whether a bound breaks before a plan for it would be done, which is due too; asked once."""
        if asked.looked_ahead or asked.demand.outputs:
            return False
        asked.looked_ahead = True
        self._ahead = planning.deadlines(state, now, without=self._setbacks.resting(now))
        self._changed = any(moment <= now for moment, _ in self._ahead.values())
        return self._changed

    def _catches_up(self) -> bool:
        """Whether the logs of consumers told something new, which they are asked for before the first delivery."""
        asked, self.caught_up = self.caught_up, True
        return not asked and self._work().follow()

    def _begin(self, planning: Planning, state: State, planned: Planned, asked: Asked | None) -> None:
        execution = Execution(
            self._catalog, self._work(), self._lease, planning.workflow, planned, state, planning.digests, self._clock
        )
        with self._catalog.transaction() as db:
            self._lease.check(db)
            execution.begin(db)
        if asked is not None:
            asked.plans.append(execution.plan)
        self._execution = execution
        self._begin_steps(execution)
        execution.justify()

    def _satisfied(self, asked: Asked, now: Stamp) -> None:
        """Nothing is left to be done for who asked, but for what cannot be done."""
        failed = [] if asked.demand.outputs else self._setbacks.reasons(now)
        if failed:
            self.commands.failed(asked, failed[0])
        else:
            self.commands.done(asked)
        self._changed = True

    def _await(self, planning: Planning, state: State, now: Stamp) -> None:
        """Nothing is to be done: find out when there will be something."""
        self._ahead = planning.deadlines(state, now, without=self._setbacks.resting(now))
        # what could not be done at its moment is not tried at every turn
        coming = [max(moment, now + SECOND) for moment, _ in self._ahead.values()]
        end = self._setbacks.next_end(now)
        self.next = min(coming if end is None else [*coming, end], default=None)

    def _end(self, execution: Execution) -> None:
        self._execution, self._changed = None, True
        if execution.dispatch.complete and not self._failures:
            self._interrupted = False
            self._setbacks.overcome(execution.due, execution.variants)
            for asked in self.commands:
                asked.met = asked.met or execution.plan in asked.plans
            state, planning = execution.state, self._planning()
            with self._catalog.transaction() as db:
                self._lease.check(db)
                retire(db, state, planning.digests, self._clock())
            for stored in long(state, planning.learning):
                self._folding.add(stored.block.id)
                self._submit(partial(self._fold, stored))
        for failure in self._failures:
            self._failed(execution, failure)
        self._failures = []

    def _failed(self, execution: Execution, event: EventRecord) -> None:
        """Plan around the variants that failed; if there are none, leave the outputs behind them alone for a while."""
        asked = self.commands.first
        if event.about.get("again") or (asked is not None and execution.plan not in asked.plans):
            return
        now, position = execution.planned.now, event.about["position"]
        outputs, error = execution.outputs_behind(position), execution.errors[position]
        if not self._setbacks.avoid(event.about["avoidable"], outputs, error, now):
            self._give_up(outputs, error, now)

    def _give_up(self, outputs: Collection[str], error: Exception, now: Stamp) -> None:
        self.commands.fail_first(outputs, self._setbacks.give_up(outputs, error, now))
        self._changed = True

    def _fold(self, stored: Stored) -> None:
        try:
            expected = self._planning().learning.cost_of_folding(stored)
            fold(self._catalog, self._work(), stored, self._name, expected, self._clock)
        except Exception as error:  # the base is as readable as before, and will be found long again
            log.warning("%s: could not be folded: %s", stored.block, error)
        finally:
            self._folding.discard(stored.block.id)
            self.woken.set()
