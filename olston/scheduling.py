"""Who turns the loop: a caller that waits for its refresh, or a server until it is told to stop (DESIGN 7)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from olston import events
from olston.catalog import Catalog
from olston.catalog.records import EventRecord
from olston.errors import CatalogError, OlstonError, StepError, StoreError
from olston.lease import Lease, LeaseLost
from olston.loop import Loop
from olston.planning import Planning
from olston.state import State
from olston.worker import Work

WORKERS = 4
"""Steps that run at the same time; Spark shares its cores among them."""
GRACE = 30.0
"""Seconds that steps which run are given to finish before they are abandoned, and then to end."""
STEP = "olston-step"
"""What the names of the threads begin with in which steps run."""
RETRY = 2.0
"""Seconds after which a server tries a catalog again that it could not reach."""
LONGEST = 60.0
"""Seconds after which a server goes on at the latest after a failure that nobody foresaw, and kept coming."""
WAIT = 0.1
"""Seconds between two looks at what another scheduler made of a command."""

log = logging.getLogger("olston")


@dataclass(frozen=True)
class Fulfilled:
    """What came of a command; if it was carried out here, the failure itself, and what the catalog says since."""

    answer: dict[str, Any]
    error: Exception | None = None
    state: State | None = None


class Scheduling:
    """The part of an engine that schedules. It holds the lease only while it turns the loop.

    `declare` makes the catalog know the definition that it schedules by, in a transaction that the lease checks.
    """

    def __init__(
        self,
        catalog: Catalog,
        workflow: str,
        declare: Callable[[Lease], None],
        planning: Callable[[], Planning],
        work: Callable[[], Work],
        clock: Callable[[], int],
    ) -> None:
        self._catalog, self._workflow, self._declare = catalog, workflow, declare
        self._planning, self._work, self._clock = planning, work, clock
        self._turning = threading.Lock()
        self._loop: Loop | None = None
        self._caught_up_at: int | None = None
        self.lease = Lease(catalog, workflow)

    def command(self, about: Mapping[str, Any]) -> int:
        """Ask whoever schedules for something; returns the number of the command."""
        with self._catalog.transaction(lasting=False) as db:
            event = events.happen(db, self._workflow, events.COMMAND, about, self._clock())
        self.wake()
        assert event.id is not None
        return event.id

    @property
    def leads(self) -> bool:
        """Whether it holds the workflow now."""
        return self._loop is not None

    def wake(self) -> None:
        """Let the loop look at the log now, if it turns here."""
        loop = self._loop
        if loop is not None:
            loop.woken.set()

    def fulfil(self, command: int) -> Fulfilled:
        """What came of a command.

        It is carried out here if nobody else schedules; otherwise the one who does is waited for. Who stops waiting
        wants it no more.
        """
        try:
            return self._fulfil(command)
        except BaseException:
            self._withdraw(command)
            raise

    def _fulfil(self, command: int) -> Fulfilled:
        while True:
            with self._leading(serving=False) as loop:
                # once this one schedules, nobody else answers
                answer = self._answer_to(command)
                if answer is not None:
                    return Fulfilled(answer)
                if loop is not None:
                    with suppress(LeaseLost):  # then somebody else carries it out
                        # others are served too while what it made long is folded
                        loop.run(lambda: command in loop.commands.answers and not loop.folding)
                        return Fulfilled(loop.commands.answers[command], loop.commands.errors.get(command), loop.state)
            time.sleep(WAIT)

    def _withdraw(self, command: int) -> None:
        with suppress(CatalogError), self._catalog.transaction() as db:
            known = db.get(EventRecord, command)
            if known is not None and not known.answered:
                known.handled = True
                events.answer(db, command, {"withdrawn": True})

    def _answer_to(self, command: int) -> dict[str, Any] | None:
        with self._catalog.look() as db:
            known = db.get(EventRecord, command)
        return known.answer or {} if known is not None and known.answered else None

    def serve(self, stop: threading.Event, turned: Callable[[Loop], None]) -> None:
        """Turn the loop until `stop`, waiting while another scheduler does; `turned` is called after every turn.

        While the catalog cannot be reached, it is tried again; what ran meanwhile is abandoned, and done again then.
        So is it after any other failure, with a rest. What is wrong with the definition or with the installation, or
        a catalog that is lost, does not mend itself, and is raised.
        """
        rest = RETRY
        while not stop.is_set():
            began = time.monotonic()
            try:
                self._turn(stop, turned)
            except CatalogError as error:
                if error.code != CatalogError.code:  # it is lost, or another's
                    raise
                log.warning("%s Trying again.", error)
                stop.wait(RETRY)
            except Exception as error:
                if isinstance(error, OlstonError) and not isinstance(error, StoreError | StepError):
                    raise
                known = isinstance(error, OlstonError)
                rest = RETRY if time.monotonic() - began > LONGEST else rest
                said = error if known else f"{type(error).__name__}: {error}."
                log.warning("%s Going on in %g seconds.", said, rest, exc_info=not known)
                stop.wait(rest)
                rest = min(2 * rest, LONGEST)
            stop.wait(WAIT)

    def _turn(self, stop: threading.Event, turned: Callable[[Loop], None]) -> None:
        with self._leading(serving=True) as loop:
            if loop is not None:

                def over(loop: Loop = loop) -> bool:
                    turned(loop)
                    return stop.is_set()

                with suppress(LeaseLost):
                    loop.run(over)

    @contextmanager
    def _leading(self, *, serving: bool) -> Iterator[Loop | None]:
        """A loop while this scheduler holds the workflow, else none. At the end what runs finishes or is abandoned."""
        if not self._turning.acquire(blocking=False):
            yield None
            return
        try:
            if not self.lease.take():
                yield None
                return
            pool, ended = ThreadPoolExecutor(WORKERS, thread_name_prefix=STEP), True
            try:
                # if nobody else held it since, the catalog knows all that consumers hold
                fence, before = self.lease.fence, self._caught_up_at
                try:
                    self._declare(self.lease)  # the definition of the one who leads rules
                    loop = Loop(
                        self._catalog, self._planning, self._work, self.lease, self._clock, pool.submit, serving=serving
                    )
                except LeaseLost:  # before it began
                    yield None
                    return
                loop.caught_up = before is not None and fence == before + 1
                self._loop = loop
                grace = 0.0  # who is interrupted wants to go
                try:
                    yield loop
                    grace = GRACE
                finally:
                    self._caught_up_at = fence if loop.caught_up else None
                    ended = self._wind_up(loop, grace)
            finally:
                self._loop = None
                pool.shutdown(wait=ended)
                self.lease.release()
        finally:
            self._turning.release()

    def _wind_up(self, loop: Loop, grace: float) -> bool:
        """Let what runs finish, and record it; after the seconds of `grace` abandon it. Whether all has ended.

        A function that computes in the driver cannot be cancelled. It is left, and what comes of it is void.
        """
        loop.stop()
        given_up_at, abandoned = time.monotonic() + grace, False
        try:
            while loop.running:
                if time.monotonic() > given_up_at:
                    if abandoned:
                        log.warning("A step that computes in this process cannot be cancelled, and is left.")
                        return False
                    loop.abandon()
                    given_up_at, abandoned = time.monotonic() + GRACE, True
                if not loop.turn():
                    loop.woken.wait(WAIT)
                    loop.woken.clear()
        except BaseException as error:
            loop.abandon()
            if not isinstance(error, LeaseLost):
                raise
        return True
