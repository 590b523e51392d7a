"""Timelines of input channels, and what they say about provenance [2.1].

Snapshot `t` of an input is valid in `[t, t⁻)`, where `t⁻` is the next arrival there, or `now`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from olston.errors import TimelineError, unknown
from olston.provenance import Entry, Provenance, Stamp


class Timeline:
    """The arrivals of one input channel, in order, after the empty relation at stamp 0."""

    __slots__ = ("_arrivals", "channel")

    def __init__(self, channel: str, arrivals: Iterable[Stamp] = ()) -> None:
        self.channel = channel
        self._arrivals: list[Stamp] = [0]
        for i, stamp in enumerate(arrivals):
            if i or stamp != 0:  # the first may be the empty relation itself
                self.arrive(stamp)

    def arrive(self, stamp: Stamp) -> None:
        """Record an arrival; it must be later than the one before."""
        if not stamp > self._arrivals[-1]:
            raise TimelineError(
                f"{self.channel}: arrival at {stamp} is not later than the newest snapshot {self._arrivals[-1]}; "
                "stamp arrivals in ascending order."
            )
        self._arrivals.append(stamp)

    @property
    def arrivals(self) -> Sequence[Stamp]:
        return tuple(self._arrivals)

    @property
    def newest(self) -> Stamp:
        return self._arrivals[-1]

    def __contains__(self, stamp: Stamp) -> bool:
        i = bisect_left(self._arrivals, stamp)
        return i < len(self._arrivals) and self._arrivals[i] == stamp

    def end(self, stamp: Stamp, now: Stamp) -> Stamp:
        """`t⁻`: the end of the validity of snapshot `stamp`, exclusive."""
        i = bisect_right(self._arrivals, stamp)
        return self._arrivals[i] if i < len(self._arrivals) else now

    def snapshot_at(self, time: Stamp) -> Stamp:
        """The snapshot that was valid at `time`."""
        return self._arrivals[max(0, bisect_right(self._arrivals, time) - 1)]

    def snapshot_before(self, time: Stamp) -> Stamp:
        """The oldest snapshot whose validity lasts until `time` or longer: `t⁻ ≥ time`."""
        i = bisect_left(self._arrivals, time)
        return self._arrivals[max(0, i - 1)]

    def runs(self, entry: Entry) -> list[tuple[Stamp, Stamp]]:
        """`entry` as runs of consecutive arrivals, first and last of each: how long sets are stored."""
        runs: list[tuple[Stamp, Stamp]] = []
        following: int | None = None
        for stamp in sorted(entry):
            i = self._position(stamp)
            if i == following:
                runs[-1] = (runs[-1][0], stamp)
            else:
                runs.append((stamp, stamp))
            following = i + 1
        return runs

    def expand(self, runs: Iterable[tuple[Stamp, Stamp]]) -> Entry:
        """The set of snapshots that `runs` stands for; inverse of `runs`."""
        stamps: set[Stamp] = set()
        for first, last in runs:
            stamps.update(self._arrivals[self._position(first) : self._position(last) + 1])
        return frozenset(stamps)

    def _position(self, stamp: Stamp) -> int:
        i = bisect_left(self._arrivals, stamp)
        if i == len(self._arrivals) or self._arrivals[i] != stamp:
            raise TimelineError(f"{self.channel}: no arrival at {stamp}; its snapshots are {self._arrivals[:5]} ….")
        return i

    def __repr__(self) -> str:
        return f"Timeline({self.channel!r}, {len(self._arrivals)} snapshots, newest {self.newest})"


class History:
    """All timelines as seen at one `now`: what turns provenance into ages and consistency.

    `inputs` of every method names the input channel of each provenance entry, in order; it is a
    property of the channel that the block is on.
    """

    __slots__ = ("now", "timelines")

    def __init__(self, timelines: Mapping[str, Timeline], now: Stamp) -> None:
        self.timelines, self.now = timelines, now

    def end(self, channel: str, stamp: Stamp) -> Stamp:
        """`t⁻` of snapshot `stamp` of input `channel`."""
        try:
            return self.timelines[channel].end(stamp, self.now)
        except KeyError:
            raise unknown("input channel", channel, self.timelines) from None

    def entry_end(self, provenance: Provenance, inputs: Sequence[str], i: int) -> Stamp | None:
        """`T[i]⁻ = (min T[i])⁻`, or `None` for an empty entry."""
        low = provenance.oldest[i]
        return None if low is None else self.end(inputs[i], low)

    def span(self, provenance: Provenance, inputs: Sequence[str]) -> tuple[Stamp, Stamp] | None:
        """`(T⁺, T⁻)` over all entries that claim something; `None` if none does."""
        ends = [
            self.end(channel, low) for channel, low in zip(inputs, provenance.oldest, strict=True) if low is not None
        ]
        if not ends:
            return None
        return max(high for high in provenance.newest if high is not None), min(ends)

    def consistent(self, provenance: Provenance, inputs: Sequence[str]) -> bool:
        """`T⁺ < T⁻`: there is a moment at which every input stood as this block shows it."""
        span = self.span(provenance, inputs)
        return span is None or span[0] < span[1]

    def inconsistency(self, provenance: Provenance, inputs: Sequence[str]) -> Stamp:
        """`max(0, T⁺ − T⁻)`."""
        span = self.span(provenance, inputs)
        return 0 if span is None else max(0, span[0] - span[1])

    def staleness(self, provenance: Provenance, inputs: Sequence[str], i: int) -> Stamp:
        """`max(0, now − T[i]⁻)`; an empty entry claims nothing and is never stale."""
        end = self.entry_end(provenance, inputs, i)
        return 0 if end is None else max(0, self.now - end)
