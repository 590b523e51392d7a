"""Declared bounds, laid out by the channels on which they bind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from olston.constraints import Inconsistency, Staleness


@dataclass(frozen=True, slots=True)
class Slice:
    """An inconsistency bound on the entries at `positions`; declared on the channel itself or upstream of it."""

    positions: tuple[int, ...]
    declared: Inconsistency


class Declared:
    """`staleness` and `whole` bounds of each channel itself, and the `slices` that bounds upstream lay on it."""

    def __init__(
        self,
        inputs: Mapping[str, tuple[str, ...]],
        feeds: Mapping[str, tuple[tuple[str, int], ...]],
        staleness: Iterable[Staleness],
        inconsistency: Iterable[Inconsistency],
    ) -> None:
        self.staleness: dict[str, list[Staleness]] = {}
        for stale in staleness:
            self.staleness.setdefault(stale.channel, []).append(stale)
        self.whole: dict[str, list[Slice]] = {}
        for bound in inconsistency:
            positions = tuple(range(len(inputs[bound.channel])))
            self.whole.setdefault(bound.channel, []).append(Slice(positions, bound))
        self.slices: dict[str, list[Slice]] = {}
        for channel in inputs if self.whole else ():
            inherited = [
                Slice(tuple(offset + p for p in part.positions), part.declared)
                for feed, offset in feeds.get(channel, ())
                for part in [*self.slices.get(feed, ()), *self.whole.get(feed, ())]
            ]
            if inherited:
                self.slices[channel] = inherited
        self.bounded = frozenset((*self.staleness, *self.whole, *self.slices))
