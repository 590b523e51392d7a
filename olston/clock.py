"""Where `now` comes from."""

from __future__ import annotations

import time
from typing import Protocol

from olston.duration import Duration, microseconds
from olston.errors import TimelineError


class Clock(Protocol):
    """Anything that tells the time in microseconds since the epoch, UTC."""

    def now(self) -> int: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return time.time_ns() // 1_000


class ManualClock:
    """A clock that stands still until it is advanced: for tests, replays and simulations."""

    def __init__(self, start: int = 0) -> None:
        self._now = start

    def now(self) -> int:
        return self._now

    def advance(self, by: Duration) -> int:
        """Move forward by `by` and return the new time. Time never moves back."""
        span = microseconds(by)
        if span < 0:
            raise TimelineError(f"ManualClock.advance({by!r}): time never moves back; advance by 0 or more.")
        self._now += span
        return self._now

    def __repr__(self) -> str:
        return f"ManualClock({self._now})"
