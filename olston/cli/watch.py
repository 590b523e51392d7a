"""Progress of `run` and `serve`: which steps run since when, against what they were expected to take.

The catalog is asked, so it makes no difference whether steps run here or in another scheduler.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from rich.console import Console
from sqlalchemy.exc import SQLAlchemyError

from olston.cli.answers import emit_json
from olston.errors import CatalogError
from olston.provenance import Stamp
from olston.report import Tried

if TYPE_CHECKING:
    from rich.console import RenderableType

    from olston.engine import Engine

EVERY = 0.25
"""Seconds between two looks."""
STEPS = 100
"""Steps of the past that are looked at."""

Sink = Callable[[Tried], None]


@contextmanager
def watching(engine: Engine, *, quiet: bool = False, lines: Sink | None = None, waits: bool = False) -> Iterator[None]:
    """Show steps as they begin and end: live where a person watches, else line by line; or give them to `lines`.

    `waits` if there may be nothing to do for long.
    """
    console = Console(stderr=True, highlight=False)
    if quiet:
        yield
        return
    if lines is None and console.is_terminal:
        with _live(console, _Watch(engine), waits):
            yield
        return
    with _polled(_Watch(engine), lines or tell):
        yield


def tell(step: Tried) -> None:
    """A line of log on standard error."""
    clock = datetime.now().strftime("%H:%M:%S")
    if step.state == "running":
        print(f"{clock} begins {step.step}, about {step.expected_seconds:.1f} s", file=sys.stderr)
    else:
        why = f": {step.error.splitlines()[0]}" if step.error else ""
        print(f"{clock} {step.state} {step.step} in {step.seconds or 0:.1f} s{why}", file=sys.stderr)


def tell_json(step: Tried) -> None:
    """A line of JSON on standard output."""
    emit_json({"step": step.step, "state": step.state, "started_at": step.started_at,
               "expected_seconds": step.expected_seconds, "seconds": step.seconds, "rows": step.rows,
               "error": step.error})  # fmt: skip


class _Watch:
    """What became of steps since it was made."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._since = engine, engine.now
        self._known: dict[tuple[str, Stamp], str] = {}
        self.running: dict[tuple[str, Stamp], tuple[Tried, float]] = {}

    @property
    def seen(self) -> bool:
        """Whether a step has begun."""
        return bool(self._known)

    def news(self) -> list[Tried]:
        """The steps that began or ended since the last look, in order."""
        found = []
        for step in reversed(self._engine.history(STEPS).steps):
            key = (step.step, step.started_at)
            if step.started_at < self._since or self._known.get(key) == step.state:
                continue
            if step.state != "running" and key not in self._known and step.seconds is not None:
                found.append(_begun(step))
            self._known[key] = step.state
            found.append(step)
            if step.state == "running":
                self.running[key] = (step, time.monotonic())
            else:
                self.running.pop(key, None)
        return found


def _begun(step: Tried) -> Tried:
    """A step that ended between two looks, as it was when it began."""
    return Tried(step.step, "running", step.started_at, step.expected_seconds, None, step.expected_rows, None)


@contextmanager
def _polled(watch: _Watch, sink: Sink) -> Iterator[None]:
    stop = threading.Event()

    def look() -> None:
        while not stop.wait(EVERY):
            with suppress(CatalogError, SQLAlchemyError):  # it is asked again
                for step in watch.news():
                    sink(step)

    thread = threading.Thread(target=look, name="olston-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        for step in watch.news():
            sink(step)


@contextmanager
def _live(console: Console, watch: _Watch, waits: bool) -> Iterator[None]:
    from rich.live import Live
    from rich.text import Text

    idle = time.monotonic()

    def view() -> RenderableType:
        nonlocal idle
        now = time.monotonic()
        lines = [
            f"  {step.step}  {now - began:.1f} s of about {step.expected_seconds:.1f} s"
            for step, began in list(watch.running.values())
        ]
        if lines:
            idle = now
        elif waits or not watch.seen:
            lines = [f"  {'nothing to do' if waits else 'getting ready'}, {now - idle:.0f} s"]
        return Text("\n".join(lines))

    with Live(console=console, get_renderable=view, refresh_per_second=4, transient=True) as live:

        def done(step: Tried) -> None:
            if step.state != "running":
                mark = "✓" if step.state == "done" else "✗"
                live.refresh()  # it no longer runs
                live.console.print(f"{mark} {step.step}  {step.seconds or 0:.1f} s", markup=False)

        with _polled(watch, done):
            yield
