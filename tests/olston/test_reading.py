"""The forms in which users name a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest

from olston.attempt import new_attempt
from olston.errors import OlstonError
from olston.reading import moment

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MICROSECONDS = 1_767_268_800_000_000


@pytest.mark.parametrize(
    "given",
    [
        MICROSECONDS,
        NOON,
        datetime(2026, 1, 1, 12),
        datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        "2026-01-01 12:00",
        "2026-01-01T12:00:00Z",
        "2026-01-01T07:00:00-05:00",
    ],
)
def test_a_time_is_microseconds_and_without_a_zone_it_is_utc(
    given: int | str | datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert moment(given) == MICROSECONDS


def test_no_microsecond_is_lost() -> None:
    assert moment(NOON + timedelta(microseconds=1)) == MICROSECONDS + 1


def test_a_block_is_named_by_its_id() -> None:
    block = f"{new_attempt()}.0"
    assert moment(block) == block
    assert moment(None) is None


@pytest.mark.parametrize("given", ["nonsense", b"nonsense", date(2026, 1, 1), 1_767_268_800.0, True])
def test_what_is_neither_is_refused_with_the_forms_that_there_are(given: Any) -> None:
    with pytest.raises(OlstonError, match=r"at=.*: neither a time nor the id of a block; give a datetime"):
        moment(given)
