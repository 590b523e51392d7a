"""When an output is refreshed whatever its bounds say: cron's five fields, or an interval.

    "0 6 * * mon-fri"                           at six on weekdays, UTC
    "CRON_TZ=Europe/Berlin 0 6 * * mon-fri"     at six there
    "6 hours"                                   at 0, 6, 12 and 18 o'clock UTC: counted from 1970, not from a start

The fields mean what they mean to cron: Sunday is 0 and 7; where both days are restricted, either will do, unless one of
them begins with a star. They are spelled out for APScheduler, whose own reading of them differs in all of that.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from olston.duration import SECOND, UNITS, microseconds
from olston.errors import DurationError, WorkflowError

_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ZONE = "CRON_TZ="
_LONGEST = 1_000 * UNITS["week"]


class _Fault(ValueError):
    pass


@dataclass(frozen=True)
class _Field:
    name: str
    first: int
    last: int
    names: tuple[str, ...] = ()

    def read(self, text: str) -> frozenset[int]:
        """The numbers that `text` names: `*`, numbers, names, ranges, steps, and lists of them."""
        return frozenset(n for part in text.split(",") for n in self._part(part))

    def _part(self, text: str) -> range:
        span, slash, step = text.partition("/")
        every = self._step(text, step) if slash else 1
        if span == "*":
            return range(self.first, self.last + 1, every)
        low, dash, high = span.partition("-")
        first = self._number(low)
        last = self._end(first, high) if dash else self.last if slash else first
        if last < first:
            raise _Fault(
                f"{text!r} in its {self.name}: a range goes up; write two, {low}-{self.last},{self.first}-{high}"
            )
        return range(first, last + 1, every)

    def _number(self, text: str) -> int:
        if text.lower() in self.names:
            return self.names.index(text.lower()) + self.first
        if not (text.isascii() and text.isdigit()):
            known = f", or {self.names[0]} to {self.names[-1]}" if self.names else ""
            raise _Fault(f"{text!r} is no {self.name}; it is a number from {self.first} to {self.last}{known}")
        if not self.first <= int(text) <= self.last:
            raise _Fault(f"{text!r} is no {self.name}; it goes from {self.first} to {self.last}")
        return int(text)

    def _end(self, first: int, text: str) -> int:
        """The end of a range; a week that did not begin with Sunday ends with it."""
        return 7 if text.lower() == "sun" and self.names == _DAYS and first > 0 else self._number(text)

    def _step(self, text: str, step: str) -> int:
        if not (step.isascii() and step.isdigit()) or int(step) == 0:
            raise _Fault(f"{text!r} in its {self.name}: a step is a number above 0, as in */5")
        return int(step)


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of the month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of the week", 0, 7, _DAYS),
)


@dataclass(frozen=True)
class Cron:
    """The moments that five fields name. With `either`, one of the two kinds of days is enough."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool
    zone: str = "UTC"


def read(text: str, place: str = "") -> Cron | timedelta:
    """What `text` says; if nothing, a `WorkflowError` that says why, after `place`. Needs no APScheduler."""
    try:
        return _read(text)
    except _Fault as fault:
        raise WorkflowError(f"{place}refresh={text!r}: {fault}.", code="BAD_REFRESH") from None


def trigger(text: str) -> Any:
    """The APScheduler trigger that fires at the moments `text` names."""
    found = read(text)
    if isinstance(found, timedelta):
        from apscheduler.triggers.interval import IntervalTrigger

        epoch = datetime(1970, 1, 1, tzinfo=UTC)
        return IntervalTrigger(seconds=found.total_seconds(), start_date=epoch, timezone=UTC)
    from apscheduler.triggers.combining import OrTrigger
    from apscheduler.triggers.cron import CronTrigger

    clock = {
        "minute": _listed(found.minutes),
        "hour": _listed(found.hours),
        "month": _listed(found.months),
        "timezone": ZoneInfo(found.zone),
    }
    weekdays = ",".join(_DAYS[d] for d in sorted({d % 7 for d in found.weekdays}))
    if not found.either:
        return CronTrigger(day=_listed(found.days), day_of_week=weekdays, **clock)
    by_week = CronTrigger(day_of_week=weekdays, **clock)
    if not _ever(found.days, found.months):
        return by_week  # APScheduler would look for the other until the year 9999
    return OrTrigger([CronTrigger(day=_listed(found.days), **clock), by_week])


def _read(text: str) -> Cron | timedelta:
    if not isinstance(text, str):
        raise _Fault("it is text, such as '6 hours' or '0 6 * * mon-fri'")
    try:
        span = microseconds(text)
    except DurationError:
        return _cron(text)
    if not SECOND <= span <= _LONGEST:
        raise _Fault("an interval is a second or longer, and at most a thousand weeks")
    return timedelta(microseconds=span)


def _cron(text: str) -> Cron:
    zone, fields = "UTC", text.split()
    if fields and fields[0].startswith(_ZONE):
        zone = fields.pop(0).removeprefix(_ZONE)
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError) as error:
            raise _Fault(f"{zone!r} is no time zone; name one, as in {_ZONE}Europe/Berlin") from error
    if len(fields) != len(_FIELDS):
        raise _Fault(
            "neither an interval such as '6 hours' nor the five fields of cron (minute, hour, day of the month, month, "
            f"day of the week) such as '0 6 * * mon-fri', but {len(fields)} words"
        )
    numbers = [field.read(given) for field, given in zip(_FIELDS, fields, strict=True)]
    either = not (fields[2].startswith("*") or fields[4].startswith("*"))
    if not either and not _ever(numbers[2], numbers[3]):
        raise _Fault("its day of the month never comes in its months")
    return Cron(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], either, zone)


def _ever(days: frozenset[int], months: frozenset[int]) -> bool:
    """Whether one of `days` comes in one of `months`, in a leap year at least."""
    return min(days) <= max(monthrange(2024, month)[1] for month in months)


def _listed(numbers: frozenset[int]) -> str:
    return ",".join(map(str, sorted(numbers)))
