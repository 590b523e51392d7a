"""Attempts: every try to write something has a name of its own, never used before, so nothing is written over."""

from __future__ import annotations

import re
import secrets
import time


def new_attempt() -> str:
    """A new name. Names sort by the time at which they were made, to the microsecond of this machine's clock."""
    return f"{time.time_ns() // 1000:014x}{secrets.token_hex(5)}"


def is_attempt(name: str) -> bool:
    """Whether `name` was given by `new_attempt`."""
    return re.fullmatch(r"[0-9a-f]{24}", name) is not None


def made_at(attempt: str) -> float:
    """When an attempt was named, in seconds since the epoch."""
    return int(attempt[:14], 16) / 1e6
