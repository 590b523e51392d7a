"""Rests: what failed is left alone for a while, longer each time, and tried again."""

from __future__ import annotations

from collections.abc import Iterable

from olston.provenance import Stamp

FIRST, LONGEST = 60_000_000, 3_600_000_000
"""Microseconds of the first rest, which doubles with every failure, and of the longest."""


class Rests:
    """Names, of outputs or of variants, each with the moment until which it rests."""

    def __init__(self) -> None:
        self._until: dict[str, Stamp] = {}
        self._span: dict[str, int] = {}

    def begin(self, names: Iterable[str], now: Stamp) -> None:
        """After a failure at `now`."""
        for name in names:
            span = self._span.get(name, 0)
            self._span[name] = min(2 * span, LONGEST) if span else FIRST
            self._until[name] = now + self._span[name]

    def end(self, names: Iterable[str] | None = None) -> None:
        """After a success, or because somebody asks for it: of `names`, or of all."""
        for name in list(self._until) if names is None else names:
            self._until.pop(name, None)
            self._span.pop(name, None)

    def at(self, now: Stamp) -> frozenset[str]:
        """What rests at `now`."""
        return frozenset(name for name in self._until if self._rests(name, now))

    def next_end(self, now: Stamp) -> Stamp | None:
        """When the first of the present rests is over."""
        return min((until for name, until in self._until.items() if self._rests(name, now)), default=None)

    def _rests(self, name: str, now: Stamp) -> bool:
        """Before a rest began nothing rests: a clock that is set back makes none longer."""
        return self._until[name] - self._span[name] <= now < self._until[name]
