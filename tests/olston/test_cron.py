"""Moments of refresh: cron as cron means it, checked against an independent reading of it, and intervals."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from cronsim import CronSim, CronSimError
from hypothesis import assume, example, given
from hypothesis import strategies as st

import olston as ol
from olston.cron import read, trigger
from olston.errors import WorkflowError

START = datetime(2024, 2, 27, 23, 58, 30, tzinfo=UTC)
NAMES = {
    3: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    4: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
}
RANGES = [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)]


def firings(text: str, count: int, start: datetime = START) -> list[datetime]:
    """The next moments after `start`, as a scheduler asks for them."""
    made, found, previous = trigger(text), [], None
    now = start
    for _ in range(count):
        previous = made.get_next_fire_time(previous, now)
        assert previous is not None
        found.append(previous)
        now = previous + timedelta(microseconds=1)
    return found


def words(position: int) -> st.SearchStrategy[str]:
    """One field: all that five-field cron allows in it."""
    first, last = RANGES[position]
    number = st.integers(first, last)
    named = NAMES.get(position)

    def spelled(n: int, upper: bool) -> str:
        if named is None or n - first >= len(named):
            return str(n)
        return named[n - first].upper() if upper else named[n - first]

    single = st.builds(spelled, number, st.booleans()) | number.map(str)
    ends = st.tuples(number, number).map(sorted).filter(lambda p: p[0] < p[1])  # to cronsim, 3-3/2 is 3/2
    ranges = ends.map(lambda p: f"{p[0]}-{p[1]}")
    spans = st.just("*") | single | ranges
    steps = st.builds("{}/{}".format, spans, st.integers(1, last + 3))
    return st.just("*") | st.lists(spans | steps, min_size=1, max_size=3).map(",".join)


EXPRESSIONS = st.tuples(*[words(i) for i in range(5)]).map(" ".join)


@given(EXPRESSIONS, st.datetimes(datetime(2000, 1, 1), datetime(2030, 1, 1)))
@example("0 0 13 * fri", datetime(2024, 1, 1))  # either will do
@example("0 0 */2 * fri", datetime(2024, 1, 1))  # a star: both
@example("0 0 * * 0", datetime(2024, 1, 1))
@example("0 0 * * 5-7", datetime(2024, 1, 1))
@example("0 0 * * 5/2", datetime(2024, 1, 1))
@example("0 0 31 2 mon", datetime(2024, 1, 1))  # a day that never comes, and one that does
@example("0 0 29 2 *", datetime(2024, 3, 1))
@example("59 23 31 12 sun,7,0", datetime(2024, 12, 31, 23, 59))
def test_the_next_moments_are_those_of_cron(text: str, moment: datetime) -> None:
    start = moment.replace(tzinfo=UTC)
    try:
        reference = CronSim(text, start)
    except CronSimError:
        with pytest.raises(WorkflowError):
            read(text)
        return
    count = 3 if " 29" in text else 8  # leap days are far apart
    found = firings(text, count, start + timedelta(microseconds=1))
    assume(all(m.year < 2200 for m in found))
    assert found == [next(reference) for _ in range(count)]


def test_weekdays_are_cron_s_and_not_apscheduler_s() -> None:
    assert {m.strftime("%a") for m in firings("0 6 * * 1-5", 10)} == {"Mon", "Tue", "Wed", "Thu", "Fri"}
    assert {m.strftime("%a") for m in firings("0 6 * * 0", 3)} == {"Sun"}
    assert {m.strftime("%a") for m in firings("0 6 * * fri-sun", 6)} == {"Fri", "Sat", "Sun"}


def test_a_time_zone_keeps_its_hour_in_summer_and_winter() -> None:
    text = "CRON_TZ=Europe/Berlin 0 6 1 * *"
    assert [m.astimezone(UTC).hour for m in firings(text, 12)] == [5, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5]


def test_intervals_are_counted_from_the_epoch_so_that_a_restart_does_not_shift_them() -> None:
    assert [m.isoformat() for m in firings("6 hours", 3)] == [
        "2024-02-28T00:00:00+00:00", "2024-02-28T06:00:00+00:00", "2024-02-28T12:00:00+00:00",
    ]  # fmt: skip
    assert read("1 day and 12 hours") == timedelta(hours=36)  # five words, and still no cron


BAD = {
    "0 6 * *": "neither an interval such as '6 hours' nor the five fields of cron",
    "6 hurs": "but 2 words",
    "": "but 0 words",
    "60 6 * * *": "'60' is no minute; it goes from 0 to 59",
    "0 6 * foo *": "'foo' is no month; it is a number from 1 to 12, or jan to dec",
    "0 6 * * 8": "'8' is no day of the week; it goes from 0 to 7",
    "0 6 * * 6-1": "a range goes up; write two, 6-7,0-1",
    "0 6 * * 1-": "'' is no day of the week",
    "*/0 6 * * *": "a step is a number above 0",
    "0 6 L * *": "'L' is no day of the month",
    "0 0 31 2,4 *": "its day of the month never comes in its months",
    "CRON_TZ=Mars/Olympus 0 6 * * *": "'Mars/Olympus' is no time zone",
    "0 seconds": "a second or longer",
    "-1 hour": "a second or longer",
}


@pytest.mark.parametrize(("text", "says"), BAD.items(), ids=BAD)
def test_what_is_neither_is_refused_where_it_is_declared(text: str, says: str) -> None:
    wf = ol.Workflow("w")
    counts = wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count())
    with pytest.raises(WorkflowError) as caught:
        wf.output(counts, refresh=text)
    assert str(caught.value).startswith(f"[BAD_REFRESH] output(counts): refresh={text!r}: ")
    assert says in str(caught.value)
    assert not wf.outputs


def test_an_output_keeps_its_text_and_declaring_it_does_not_import_apscheduler() -> None:
    program = """
import sys, olston as ol
wf = ol.Workflow("w")
wf.output(wf.source("rows").distinct("once"), refresh="0 6 * * mon-fri")
assert wf.outputs["once"].refresh == "0 6 * * mon-fri"
assert not wf.check(), wf.check()
sys.exit("apscheduler" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
