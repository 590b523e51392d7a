"""The loop: events are handled in order, and what is due is planned and carried out (DESIGN 7).

Each event is handled in one transaction, once; the loop itself never waits for a job. Events say that something
happened; what is true stands in the catalog, so whatever a loop that was killed had in mind, the next one finds out.
Several plans may be under way, for outputs that have nothing in common which is computed; others wait for them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from olston import events, setbacks
from olston.ahead import Ahead
from olston.carry_out import Execution
from olston.catalog import Catalog
from olston.catalog.records import EventRecord, WorkflowRecord
from olston.commands import Asked, Commands
from olston.declared import unusable
from olston.errors import CatalogError, InfeasibleError, OlstonError
from olston.folding import Folding
from olston.lease import Lease
from olston.maintain import UnderWay, long, renew, retire
from olston.planning import Planned, Planning
from olston.provenance import Stamp
from olston.setbacks import Setbacks
from olston.state import State
from olston.worker import Work

POLL = 0.5
"""Seconds after which the log is looked at although nobody said that something happened."""
AT_WORK = 0.1
"""Seconds after which steps wait for Spark, and why their plan was chosen can be found out at nobody's expense."""
SECOND = 1_000_000


class Loop:
    """The scheduler of one workflow, while it holds the lease.

    `submit` runs a function in another thread; `planning` gives the definition as it is now known. If it is `serving`,
    whatever is due is refreshed while commands wait; one that is turned for the sake of a command does only that.
    """

    def __init__(
        self,
        catalog: Catalog,
        planning: Callable[[], Planning],
        work: Callable[[], Work],
        lease: Lease,
        clock: Callable[[], int],
        submit: Callable[[Callable[[], None]], Any],
        *,
        serving: bool = True,
    ) -> None:
        self._catalog, self._planning, self._work = catalog, planning, work
        self._lease, self._clock, self._submit, self._serving = lease, clock, submit, serving
        self.woken = threading.Event()
        self.commands = Commands(catalog, lease)
        self._name = planning().workflow.name
        self._executions: list[Execution] = []
        self._overlapped = False
        self._interrupted: set[str] = set()
        self._setbacks = Setbacks()
        self._ahead = Ahead()
        self._folding = Folding(work, submit)
        self._stopping = False
        self.caught_up = False
        """Whether the logs of all consumers were asked what they hold, and told."""
        self._followed = False
        self._changed = True
        self._turned_at = 0
        self.next: float | None = None
        """The moment at which something has to be done although nothing happened."""
        self.state: State | None = None
        """What the catalog said when it was last planned."""
        with catalog.look() as db:
            left = events.unanswered(db, self._name)
        for event in left:
            self._ask(event)

    # turning

    def run(self, until: Callable[[], bool]) -> None:
        """Turn until told to stop."""
        while not until():
            if not self.turn():
                if not self.woken.wait(AT_WORK):
                    for execution in self._executions:
                        execution.justify()
                    self.woken.wait(POLL)
                self.woken.clear()

    def turn(self) -> bool:
        """Handle what has happened, then do what follows from it; whether there was anything."""
        now, before = self._clock(), self._turned_at
        self._turned_at = now
        if now < before or (self.next is not None and self.next <= now):  # moments ahead of a clock set back are void
            self.next = None
            with self._catalog.transaction(lasting=False) as db:
                events.happen(db, self._name, events.DEADLINE, {}, now)
        handled = self._handle_pending()
        for lost in (e.lost for e in self._executions if e.lost is not None):
            raise CatalogError(
                f"catalog {self._catalog.url}: could not be told how a step ended: {lost} "
                "The step will be done again by the next scheduler."
            ) from lost
        return self._advance() or handled

    @property
    def folding(self) -> bool:
        """Whether a base is being folded, or was and is not recorded."""
        return bool(self._folding)

    @property
    def running(self) -> bool:
        """Whether a job runs, or one that ended is not recorded."""
        return bool(self._folding) or any(e.dispatch.running for e in self._executions)

    def stop(self) -> None:
        """Begin nothing more; what runs may finish."""
        self._stopping = True
        for execution in self._executions:
            execution.dispatch.stop()

    def abandon(self) -> None:
        """Let what runs fail: nothing that was readable changes by it."""
        for execution in self._executions:
            execution.abandon()
        self._folding.abandon()

    # events

    def _handle_pending(self) -> bool:
        """Handle what had happened by now, in order; whether there was anything."""
        with self._catalog.look() as db:
            pending = events.pending(db, self._name)
            if not pending:
                self._lease.check(db)
        for number in pending:
            with self._catalog.transaction(lasting=False) as db:
                self._lease.check(db)
                event = db.get(EventRecord, number)
                if event is None or event.handled:
                    continue
                event.handled = True
            self._handle(event)
        return bool(pending)

    def _handle(self, event: EventRecord) -> None:
        if event.kind not in (events.FINISHED, events.FAILED):
            for execution in self._executions:
                execution.alone = False
        if event.kind == events.COMMAND:
            self._ask(event)
        elif event.kind == events.ARRIVAL:
            for execution in self._executions:
                # a plan that follows an interrupted one is left alone: arrivals without end must not stop deliveries
                if execution.concerns(event.about) and self._interrupted.isdisjoint(execution.due):
                    execution.dispatch.stop()
                    self._interrupted.update(execution.due)
            self._changed = True
        elif event.kind == events.DEADLINE:
            self._changed = True
        else:
            for execution in (e for e in self._executions if e.plan == event.about["plan"]):
                self._finished(execution, event)

    def _finished(self, execution: Execution, event: EventRecord) -> None:
        busy = self._busy
        execution.justify()  # before what was learned from the step changes the prices
        execution.dispatch.finished(event.about["position"])
        if event.kind == events.FAILED:
            execution.dispatch.stop()
            execution.failures.append(event)
        # somebody who served would refresh what waited for this step; the caller of a refresh waits for the whole plan
        self._changed = self._changed or (self._serving and self._busy != busy)

    def _ask(self, event: EventRecord) -> None:
        self._changed = True
        if event.about.get("pause"):
            for execution in self._executions:
                execution.dispatch.stop()
        if "refresh" in event.about and not event.about.get("timed"):
            self._try_again(event.about["refresh"])
        self.commands.take(event)

    def _try_again(self, outputs: Collection[str]) -> None:
        """Somebody asks for `outputs`, or for all if there are none: what failed on the way to them rests no more."""
        network = self._planning().network
        wanted = outputs or network.outputs
        upstream = {channel for output in wanted for channel in network.upstream(output)}
        self._setbacks.forget(wanted, {v.name for v in network.variants if not upstream.isdisjoint(v.outputs)})

    # what follows

    def _advance(self) -> bool:
        did, left = False, None
        for execution in list(self._executions):
            did = self._begin_steps(execution) or did
            if execution.dispatch.ended:
                left = self._end(execution)
                did = True
        did = self._record_folds() or did
        if self._changed and not self._stopping:
            if left is None or not self._is_all(left):
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
        self._changed = False
        planning, busy = self._planning(), self._busy
        if busy == planning.network.outputs.keys():
            return  # all wait for what runs, and its end is an event
        with self._catalog.look() as db:
            self._lease.check(db)
            self.state = state = planning.load(db)
            record = db.get(WorkflowRecord, self._name)
            paused = record is not None and record.paused
            self.commands.forget_withdrawn(db)
        self.commands.refuse_those_of_the_dead()
        clock = self._clock()  # by which what failed rests; the `now` of a plan may be far ahead of one set back
        now = state.now(clock)
        if paused:
            self.next = None
            self.commands.refuse(OlstonError(f"workflow {self._name!r}: is paused; resume it first.", code="PAUSED"))
            return
        refused = self.commands.refuse_others(planning.network, planning.digests)
        self._changed = refused or self._changed
        resting, excluded = self._setbacks.resting(clock), self._setbacks.excluded(clock)
        due = frozenset(state.problem(now).due()) - resting if busy or self._serving else frozenset()
        asked, waiting = self.commands.turn(planning.network, busy, due)
        if asked is None and not self._serving:
            return
        if asked is not None and not asked.demand.outputs and self._serving:
            asked.left, asked.since = (due, now) if asked.left is None else (asked.left & due, asked.since)
            if not asked.left and not self._looks_ahead(planning, state, now, asked):
                return self._satisfied(asked)
        if asked is not None and not asked.met:
            plan = partial(planning.plan, state, now, asked.rest)
        else:
            only, left = (asked.demand.outputs or None if asked is not None else None), resting | waiting
            if self._serving:  # also while something is due all the time
                self._ahead = planning.ahead(state, now, left | due, excluded)
            soon = {o: span for o, span in self._ahead.soon(now).items() if o not in left}
            plan = partial(planning.plan, state, now, only=only, without=left, soon=soon)
        planned = plan(excluded=excluded)
        stuck = planned.decision.infeasible
        if stuck is not None and excluded and (unharmed := self._setbacks.unharmed(stuck.outputs)):
            planned = plan(only=unharmed)
        if (stuck := planned.decision.infeasible) is not None:
            self._give_up(asked, stuck.outputs, self._unusable(planning) or stuck.error())
        elif any(s.is_delivery for s in planned.decision.steps):
            if self._catches_up(asked):
                self._changed = True
            else:
                if self._serving:
                    planned = planning.joined(state, planned, resting | waiting)
                self._begin(planning, state, planned, asked)
        elif asked is not None and (asked.demand.outputs or not busy):
            if not self._looks_ahead(planning, state, now, asked):
                self._satisfied(asked)
        else:
            self._await(now)

    def _unusable(self, planning: Planning) -> Exception | None:
        """What is wrong with what arrived, if no bound is in the way of a plan, but that."""
        with self._catalog.look() as db:
            reason = unusable(db, planning.workflow)
        return self._work().missing_input() if reason is None else InfeasibleError(reason)

    @property
    def _busy(self) -> frozenset[str]:
        """The outputs that are computed from what a plan under way works on."""
        if not self._executions:
            return frozenset()
        return self._planning().network.sharing({c for e in self._executions for c in e.works_on})

    def _looks_ahead(self, planning: Planning, state: State, now: Stamp, asked: Asked) -> bool:
        """Whether a bound breaks before a plan for it would be done, which is due too; asked once."""
        if asked.looked_ahead or asked.demand.outputs:
            return False
        asked.looked_ahead = True
        clock = self._clock()
        self._ahead = planning.ahead(state, now, self._setbacks.resting(clock), self._setbacks.excluded(clock))
        self._changed = bool(self._ahead.soon(now))
        return self._changed

    def _catches_up(self, asked: Asked | None) -> bool:
        """Whether the logs of consumers told something new, which they are asked for before the first delivery.

        An output whose log cannot be read rests; a delivery to it would find out what the log tells.
        """
        if self.caught_up or self._followed:
            return False
        followed = self._work().follow()
        self._followed, self.caught_up = True, not followed.faults
        for output, error in followed.faults.items():
            self._give_up(asked, [output], error)
        return bool(followed.moved or followed.faults)

    def _begin(self, planning: Planning, state: State, planned: Planned, asked: Asked | None) -> None:
        execution = Execution(
            self._catalog, self._work(), self._lease, planning.workflow, planned, state, planning.digests, self._clock
        )
        with self._catalog.transaction(lasting=False) as db:
            self._lease.check(db)
            claimed = planning.claim(db, state, planned.now)
            if claimed:
                execution.begin(db)
        if not claimed:
            self._changed = True
            return
        if asked is not None:
            asked.plans.append(execution.plan)
        self._overlapped = bool(self._executions)
        self._executions.append(execution)
        self._begin_steps(execution)
        self._changed = self._serving  # others may be planned for, or their deadlines are to be known

    def _is_all(self, left: State) -> bool:
        """Whether the one who waits has all he asked for, as a plan `left` the catalog that nobody else changed."""
        asked = next(iter(self.commands), None)
        now = left.now(self._clock())
        if self._serving or asked is None or not asked.met or left.problem(now).due():
            return False
        self.state = left
        if not self._looks_ahead(self._planning(), left, now, asked):
            self._satisfied(asked)
        return True

    def _satisfied(self, asked: Asked) -> None:
        """Nothing is left to be done for who asked, but for what cannot be done."""
        failed = [] if asked.demand.outputs else self._setbacks.reasons(self._clock())
        if failed and not asked.tried_in_vain:  # it was in plans from before it was asked for
            self._try_again(())
            asked.left = None
        elif failed:
            self.commands.failed(asked, failed[0])
        else:
            self.commands.done(asked)
        self._changed = True

    def _await(self, now: Stamp) -> None:
        """Nothing is to be done: know when there will be something."""
        # what could not be done at its moment is not tried at every turn
        clock = self._clock()
        coming = [clock + SECOND if moment <= now else moment for moment, _ in self._ahead.begin.values()]
        if self._ahead.look is not None:
            coming.append(self._ahead.look)
        end = self._setbacks.next_end(clock)
        self.next = min(coming if end is None else [*coming, end], default=None)

    def _end(self, execution: Execution) -> State | None:
        """Draw the conclusions; what the catalog says now, if only the plan itself changed that since it was made."""
        self._executions.remove(execution)
        self._changed = True
        if execution.dispatch.complete and not execution.failures:
            self._interrupted.difference_update(execution.due)
            self._setbacks.overcome(execution.due, execution.variants)
            for asked in self.commands:
                asked.carried_out(execution.plan, execution.due, execution.planned.now)
            self._tidy(execution)
        for failure in execution.failures:
            self._failed(execution, failure)
        undisturbed = execution.alone and not self._overlapped
        return execution.state if undisturbed and execution.dispatch.complete and not execution.failures else None

    def _tidy(self, execution: Execution) -> None:
        """Take out of planning what nobody needs since a plan was carried out, and fold what grew long."""
        state, planning = execution.state, self._planning()
        with self._catalog.transaction() as db:
            self._lease.check(db)
            setbacks.overcome(db, self._name, execution.due)
            renew(db, state, execution.planned.anew, execution.made)
            under_way = None
            if self._overlapped:  # others made something meanwhile
                state, under_way = planning.load(db), UnderWay()
                for other in self._executions:
                    other.foretell(under_way)
            retire(db, state, planning.digests, self._clock(), under_way)
        for stored in long(state, planning.learning, planning.released_before(self._clock())):
            expected = planning.learning.cost_of_folding(stored)
            self._folding.begin(stored, expected, self._clock(), self.woken.set)

    def _record_folds(self) -> bool:
        """Let what was folded be read, where no plan under way goes on from what it was; whether there was anything."""
        folds = self._folding.written({channel for e in self._executions for channel in e.reads})
        if folds:
            with self._catalog.transaction() as db:
                self._lease.check(db)
                for fold in folds:
                    fold.record(db, self._name, self._planning().digests[fold.channel])
        return bool(folds)

    def _failed(self, execution: Execution, event: EventRecord) -> None:
        """Plan around variants that failed; if there is no other way, leave the outputs behind them alone for now."""
        asked = self.commands.that_planned(execution.plan)
        # what was begun before it was asked for says nothing of what will come of that
        begun_before = asked is None and any(
            not a.demand.outputs or not set(execution.due).isdisjoint(a.demand.outputs) for a in self.commands
        )
        if event.about.get("again") or begun_before:
            return
        now, position = self._clock(), event.about["position"]
        outputs, error = execution.outputs_behind(position), execution.errors[position]
        variants = execution.around(position, self._setbacks.excluded(now))
        if variants:
            self._setbacks.avoid(variants, outputs, error, now)
        else:
            self._give_up(asked, outputs, error)

    def _give_up(self, asked: Asked | None, outputs: Collection[str], error: Exception) -> None:
        if asked is not None:
            asked.tried_in_vain = True
        now = self._clock()
        reason = self._setbacks.give_up(outputs, error, now)
        with self._catalog.transaction() as db:
            self._lease.check(db)
            setbacks.record(db, self._name, outputs, reason, now)
        if asked is not None and not set(asked.demand.outputs).isdisjoint(outputs):
            self.commands.failed(asked, reason)
        self._changed = True
