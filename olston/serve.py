"""Serving: the loop turns until it is told to stop, and the clock has its say (DESIGN 7)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from olston import cron
from olston.errors import CatalogError, OlstonError
from olston.loop import Loop
from olston.scheduling import RETRY, Scheduling, log

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler

    from olston.engine import Engine


FAR = 10 * 365 * 86_400e6
"""Microseconds ahead for which a date job is made at most; a bound may break later than the last year there is."""
LEAP = timedelta(seconds=5)
"""From one turn of the loop to the next it is less than that, unless the clock was set or the machine slept."""


def serve(engine: Engine, scheduling: Scheduling, stop: threading.Event) -> None:
    """Keep the promises of a workflow until `stop`, SIGTERM or Ctrl-C."""
    from apscheduler.schedulers.background import BackgroundScheduler

    jobs = BackgroundScheduler(timezone=UTC, job_defaults={"coalesce": True, "misfire_grace_time": None})
    for name, output in engine.workflow.outputs.items():
        if output.refresh is not None:
            asked = {"refresh": [name], "full": False, "timed": True}
            given = [scheduling, asked, stop]
            jobs.add_job(_refresh, cron.trigger(output.refresh), args=given, id=f"refresh {name}")
    for name, follows in engine.workflow.follows.items():
        if follows.poll is not None:
            every = {"seconds": follows.poll / 1e6, "next_run_time": datetime.now(UTC)}
            jobs.add_job(_poll, "interval", args=[engine, name], id=f"poll {name}", **every)
    soon = datetime.now(UTC) + timedelta(hours=1)  # so that it is done where schedulers are restarted every day
    jobs.add_job(_vacuum, "interval", args=[engine, scheduling], id="vacuum", days=1, next_run_time=soon)
    waking = _Waking(engine, jobs)
    with _signals(stop, scheduling):
        jobs.start()
        try:
            scheduling.serve(stop, waking)
        finally:
            jobs.shutdown()  # a poll that runs may finish too: what it stands on is closed next


def _refresh(scheduling: Scheduling, asked: dict[str, Any], stop: threading.Event) -> None:
    """Ask for a timed refresh; while the catalog cannot be reached, until it can."""
    while not stop.is_set():
        try:
            scheduling.command(asked)
            return
        except CatalogError as error:
            log.warning("%s Trying again.", error)
            stop.wait(RETRY)


def _poll(engine: Engine, source: str) -> None:
    """Whoever serves polls, also one that waits for the lease: what is taken is taken once."""
    try:
        engine.poll(source)
    except OlstonError as error:
        log.warning("%s", error)


def _vacuum(engine: Engine, scheduling: Scheduling) -> None:
    """Who leads tidies up: one that waits may know another definition, by which what is needed is not."""
    try:
        if scheduling.leads:
            engine.vacuum()
    except OlstonError as error:
        log.warning("%s", error)


class _Waking:
    """Keeps one date job at the next moment at which the loop has something to do.

    If the machine's clock is set back, what is done at intervals is not put off by as much. If it leaps ahead, as after
    a machine slept, what was to be done meanwhile is done at once: APScheduler would wait for as long as it meant to.
    """

    def __init__(self, engine: Engine, jobs: BackgroundScheduler) -> None:
        self._engine, self._jobs = engine, jobs
        self._moment: float | None = None
        self._seen = datetime.now(UTC)

    def __call__(self, loop: Loop) -> None:
        before, self._seen = self._seen, datetime.now(UTC)
        if self._seen < before:
            self._bring_forward(before - self._seen)
        elif self._seen - before > LEAP:
            self._jobs.wakeup()
        if loop.next == self._moment:
            return
        self._moment = loop.next
        if loop.next is not None:
            ahead = min(max(0.0, loop.next - self._engine.now), FAR)
            at = datetime.now(UTC) + timedelta(microseconds=ahead)
            self._jobs.add_job(loop.woken.set, "date", run_date=at, id="wake", replace_existing=True)

    def _bring_forward(self, span: timedelta) -> None:
        from apscheduler.triggers.interval import IntervalTrigger

        for job in self._jobs.get_jobs():
            if isinstance(job.trigger, IntervalTrigger) and job.next_run_time is not None:
                job.modify(next_run_time=job.next_run_time - span)


@contextmanager
def _signals(stop: threading.Event, scheduling: Scheduling) -> Iterator[None]:
    """In the main thread, SIGTERM and SIGINT mean stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def told(*_: Any) -> None:
        stop.set()
        scheduling.wake()

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
