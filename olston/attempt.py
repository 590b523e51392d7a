"""Attempts: every try to write something has a name of its own, never used before, so nothing is written over."""

from __future__ import annotations

import re
import secrets
import threading
import time

_lock = threading.Lock()
_last = 0
"""The moment that the last name of this process says."""


def new_attempt() -> str:
    """A new name. Names sort by the time at which they were made, to the microsecond of this machine's clock.

    Those of one process sort in the order in which they were made, also if the clock is set back: what is newest, what
    failed last and what is learned from goes by it.
    """
    global _last
    with _lock:
        _last = max(_last + 1, time.time_ns() // 1000)
        return f"{_last:014x}{secrets.token_hex(5)}"


def is_attempt(name: str) -> bool:
    """Whether `name` was given by `new_attempt`."""
    return re.fullmatch(r"[0-9a-f]{24}", name) is not None


def made_at(attempt: str) -> float:
    """When an attempt was named, in seconds since the epoch."""
    return int(attempt[:14], 16) / 1e6
