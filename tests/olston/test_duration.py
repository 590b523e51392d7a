from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.duration import SECOND, UNITS, microseconds, show_duration, show_measured
from olston.errors import DurationError

DAY = 86_400 * SECOND


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 week", 604_800), ("2 weeks", 1_209_600), ("1 day", 86_400), ("1 day 12 h", 129_600), ("90 s", 90),
        ("5 min", 300), ("4 hours", 14_400), ("1.5 hours", 5_400), ("1h30min", 5_400), ("1 hour, 5 minutes", 3_900),
        ("1 week and 1 day", 691_200), ("250 ms", 0.25), ("7 us", 0.000007), ("1 Week", 604_800), (" 3 d ", 259_200),
        ("0", 0), ("90", 90), ("0.5", 0.5),
    ],
)  # fmt: skip
def test_text_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert microseconds(text) == round(seconds * SECOND)


@given(st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=36_500)))
def test_a_timedelta_is_taken_exactly(duration: timedelta) -> None:
    assert timedelta(microseconds=microseconds(duration)) == duration


@given(st.integers(0, 10**9))
def test_numbers_are_seconds(seconds: int) -> None:
    assert microseconds(seconds) == microseconds(float(seconds)) == seconds * SECOND


@pytest.mark.parametrize("text", ["", "  ", "soon", "5 fortnights", "1 week later", "week", "1 day !", "nan", "inf"])
def test_text_that_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(DurationError, match="'5 min'"):
        microseconds(text)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_an_endless_duration_is_refused(value: float) -> None:
    with pytest.raises(DurationError, match="finite"):
        microseconds(value)


@pytest.mark.parametrize("value", [None, True, [1], b"1 day"])
def test_other_things_are_refused(value: object) -> None:
    with pytest.raises(DurationError, match="a duration is a timedelta, a number of seconds or text"):
        microseconds(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (0, "0 seconds"), (DAY + 4 * 3_600 * SECOND, "1 day 4 hours"), (7 * DAY, "1 week"), (1, "1 microsecond"),
        (90 * SECOND, "1 minute 30 seconds"), (-DAY, "-1 day"), (8 * DAY + 1, "1 week 1 day"),
    ],
)  # fmt: skip
def test_durations_are_shown_in_the_two_largest_units_that_matter(span: int, text: str) -> None:
    assert show_duration(span) == text


@given(st.sampled_from(sorted(UNITS.values(), reverse=True)), st.integers(1, 4))
def test_what_is_shown_is_read_back(unit: int, count: int) -> None:
    assert microseconds(show_duration(unit * count)) == unit * count


@pytest.mark.parametrize(
    ("span", "shown"),
    [
        (436_657, "436 milliseconds"),
        (1_999_999, "1 second"),
        (-1_999_999, "-1 second"),
        (3_661 * SECOND + 5, "1 hour 1 minute"),
        (12, "12 microseconds"),
        (0, "0 seconds"),
    ],
)
def test_what_a_clock_measured_is_shown_without_what_nobody_reads(span: int, shown: str) -> None:
    assert show_measured(span) == shown
