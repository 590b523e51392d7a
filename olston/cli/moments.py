"""Moments of time as people give them on the command line."""

from __future__ import annotations

from datetime import datetime

from olston.errors import OlstonError


def parse_moment(given: str | None) -> datetime | int | None:
    """A date and time of ISO 8601, UTC if it names no zone, as all times are shown; or microseconds since the epoch."""
    if given is None:
        return None
    if given.strip().isdigit():
        return int(given)
    try:
        return datetime.fromisoformat(given.strip())
    except ValueError:
        raise OlstonError(
            f"--at {given!r}: not a time; write 2026-03-01, 2026-03-01T12:00, 2026-03-01T12:00Z, or microseconds.",
            code="BAD_TIME",
        ) from None
