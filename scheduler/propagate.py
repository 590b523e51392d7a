"""Constraints propagated upstream [6.2.3].

A bound on an output says how old what feeds it may be at most. On a channel with several consumers the
loosest demand is the sound one for generating. Staleness is carried as a *floor* under `T[i]⁻`; the
paper's clamp to the inconsistency bound is unsound while inputs are idle; what holds is that nothing may
end before what the consumer's freshest entry must reflect at least, less that bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from olston.provenance import Provenance, Stamp
from olston.scheduler.bounds import Bounds
from olston.scheduler.frontier import ordered
from olston.scheduler.network import Network

ANY: Stamp = float("-inf")


@dataclass(frozen=True, slots=True)
class Demand:
    """What a block must meet to be of use: `floors[i] ≤ T[i]⁻`, `above < T⁻`, and `T⁺ < T⁻ + inconsistency`."""

    floors: tuple[Stamp, ...]
    inconsistency: Stamp = float("inf")
    above: Stamp = ANY

    def met_by(self, bounds: Bounds, inputs: tuple[str, ...], target: Provenance) -> bool:
        newest: Stamp = ANY
        earliest: Stamp = float("inf")
        for channel, floor, low, high in zip(inputs, self.floors, target.oldest, target.newest, strict=True):
            if low is None or high is None:
                continue
            end = bounds.end(channel, low)
            if end < floor:
                return False
            newest, earliest = max(newest, high), min(earliest, end)
        return self.above < earliest and newest < earliest + self.inconsistency

    def loosened(self, other: Demand) -> Demand:
        """What meets this demand or the other."""
        floors = tuple(min(a, b) for a, b in zip(self.floors, other.floors, strict=True))
        return Demand(floors, max(self.inconsistency, other.inconsistency), min(self.above, other.above))

    def tightened(self, other: Demand) -> Demand:
        """What meets this demand and the other."""
        floors = tuple(max(a, b) for a, b in zip(self.floors, other.floors, strict=True))
        return Demand(floors, min(self.inconsistency, other.inconsistency), max(self.above, other.above))


def demands(network: Network, bounds: Bounds, due: Iterable[str], within: frozenset[str]) -> dict[str, Demand]:
    """The propagated demand on each channel that feeds `due`."""
    outputs = set(due)
    asked: dict[str, Demand] = {}
    found: dict[str, Demand] = {}
    for channel in ordered(network, within, reverse=True):
        own = declared(network, bounds, channel)
        if channel in asked and channel not in outputs:
            own = own.tightened(asked[channel])
        found[channel] = own = _raised(network, bounds, channel, own)
        for feed, offset in network.feeds.get(channel, ()):
            part = replace(own, floors=own.floors[offset : offset + len(network.inputs[feed])])
            asked[feed] = asked[feed].loosened(part) if feed in asked else part
    return found


def declared(network: Network, bounds: Bounds, channel: str) -> Demand:
    """The bounds declared on `channel` itself."""
    floors = [ANY] * len(network.inputs[channel])
    for stale in network.declared.staleness.get(channel, ()):
        floors[stale.pathway] = max(floors[stale.pathway], bounds.history.now - stale.bound)
    apart = min((s.declared.bound for s in network.declared.whole.get(channel, ())), default=float("inf"))
    return Demand(tuple(floors), apart)


def _raised(network: Network, bounds: Bounds, channel: str, demand: Demand) -> Demand:
    """Nothing may end before what the freshest entry must reflect at least, less the inconsistency allowed."""
    if demand.inconsistency == float("inf"):
        return demand
    newest = ANY
    for source, floor in zip(network.inputs[channel], demand.floors, strict=True):
        if floor > ANY:
            # T[i]⁻ ≥ floor: the oldest snapshot reflected is the last one that began before the floor, or a later one
            line = bounds.history.timelines[source]
            newest = max(newest, line.snapshot_before(floor) if floor <= bounds.history.now else line.newest)
    return replace(demand, above=max(demand.above, newest - demand.inconsistency))
