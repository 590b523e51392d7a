"""Durations as people write them: a `timedelta`, a number of seconds, or text such as "1 week".

Inside olston a duration is an `int` of microseconds, the unit of timestamps.
"""

from __future__ import annotations

import math
import re
from datetime import timedelta
from typing import TypeAlias

from olston.errors import DurationError

Duration: TypeAlias = timedelta | int | float | str

SECOND = 1_000_000
UNITS = {
    "week": 604_800 * SECOND,
    "day": 86_400 * SECOND,
    "hour": 3_600 * SECOND,
    "minute": 60 * SECOND,
    "second": SECOND,
    "millisecond": 1_000,
    "microsecond": 1,
}
_SPELLINGS = {
    **UNITS,
    **{name + "s": size for name, size in UNITS.items()},
    **{"w": UNITS["week"], "d": UNITS["day"], "h": UNITS["hour"], "hr": UNITS["hour"], "hrs": UNITS["hour"]},
    **{"min": UNITS["minute"], "mins": UNITS["minute"], "s": SECOND, "sec": SECOND, "secs": SECOND},
    **{"ms": 1_000, "us": 1, "µs": 1},
}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+)\s*(?:,|and\b)?\s*")


def microseconds(duration: Duration) -> int:
    """`duration` in whole microseconds; numbers are seconds, as in `timedelta(seconds=…)`."""
    if isinstance(duration, timedelta):
        return round(duration / timedelta(microseconds=1))
    if isinstance(duration, bool) or not isinstance(duration, int | float | str):
        raise DurationError(f"{duration!r}: a duration is a timedelta, a number of seconds or text such as '1 week'.")
    if isinstance(duration, str):
        return _parse(duration)
    if not math.isfinite(duration):
        raise DurationError(f"{duration!r}: a duration is finite; leave the bound out to promise nothing.")
    return round(duration * SECOND)


def span_of(name: str, duration: Duration) -> int:
    """`duration`, which is called `name`, in microseconds; not below 0."""
    try:
        span = microseconds(duration)
    except DurationError as error:
        raise DurationError(f"{name}: {error.message}") from None
    if span < 0:
        raise DurationError(f"{name}: {duration!r} is below 0; give for example '90 days'.")
    return span


def _parse(text: str) -> int:
    try:
        return microseconds(float(text))
    except ValueError:
        pass
    sign, position = (-1, text.index("-") + 1) if text.lstrip().startswith("-") else (1, 0)
    total, start = 0.0, position
    while match := _PART.match(text, position):
        unit = _SPELLINGS.get(match[2].lower())
        if unit is None:
            break
        total += float(match[1]) * unit
        position = match.end()
    if position != len(text) or position == start:
        raise DurationError(f"{text!r}: not a duration; write for example '90 s', '5 min', '4 hours', '1 day 12 h'.")
    return sign * round(total)


def show_duration(span: float) -> str:
    """`span` microseconds in the two largest units that matter: `1 day 4 hours`, `0 seconds`."""
    sign, rest = ("-" if span < 0 else ""), abs(round(span))
    parts = []
    for name, size in UNITS.items():
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {name}{'s' if count > 1 else ''}")
        elif parts:
            break
        if len(parts) == 2:
            break
    return sign + (" ".join(parts) or "0 seconds")


def show_measured(span: float) -> str:
    """As `show_duration`, of what a clock measured: in whole seconds, or milliseconds if there is no whole one."""
    for size in (SECOND, SECOND // 1_000):
        if abs(span) >= size:
            return show_duration(int(span / size) * size)
    return show_duration(span)
