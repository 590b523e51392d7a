from __future__ import annotations

import time
from datetime import timedelta

import pytest

from olston.clock import ManualClock, SystemClock
from olston.errors import TimelineError


def test_a_manual_clock_stands_still_until_it_is_advanced() -> None:
    clock = ManualClock(1_000)
    assert [clock.now(), clock.now()] == [1_000, 1_000]
    assert clock.advance("1 hour") == clock.now() == 3_600_001_000
    assert clock.advance(timedelta(seconds=1)) == 3_601_001_000
    assert clock.advance(0) == 3_601_001_000


def test_time_never_moves_back() -> None:
    clock = ManualClock(1_000)
    with pytest.raises(TimelineError, match="never moves back"):
        clock.advance(-1)
    assert clock.now() == 1_000


def test_the_system_clock_tells_microseconds_since_the_epoch() -> None:
    before = time.time_ns() // 1_000
    now = SystemClock().now()
    assert isinstance(now, int)
    assert before <= now <= time.time_ns() // 1_000
