"""How far processing has got on each channel [6.2.1].

The frontier of an output is what its consumer holds. Upstream it is projected: the part of the
provenance that came through each channel. A channel with several paths to outputs has a frontier set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from olston.block import Block
from olston.provenance import Provenance
from olston.scheduler.network import Network


def frontiers(
    network: Network, due: Iterable[str], holds: Mapping[str, Provenance | None], within: frozenset[str]
) -> dict[str, set[Provenance] | None]:
    """The frontier set of each channel that feeds `due`; `None` where some output downstream holds nothing yet."""
    found: dict[str, set[Provenance] | None] = {}
    for output in due:
        held = holds.get(output)
        found[output] = None if held is None else (found.get(output) or set()) | {held}
    for channel in ordered(network, within, reverse=True):
        own = found.setdefault(channel, set())
        for feed, offset in network.feeds.get(channel, ()):
            if own is None:
                found[feed] = None
            elif found.setdefault(feed, set()) is not None:
                positions = range(offset, offset + len(network.inputs[feed]))
                found[feed].update(t.part(positions) for t in own)  # type: ignore[union-attr]
    return found


def standing(
    network: Network, blocks: Mapping[str, Iterable[Block]], within: frozenset[str]
) -> dict[str, set[Provenance]]:
    """For each channel, the provenances on which blocks downstream of it stand: where the next delta must start."""
    found: dict[str, set[Provenance]] = {}
    for channel in ordered(network, within, reverse=True):
        own = set(found.get(channel, ()))
        for block in blocks.get(channel, ()):
            own.add(block.target)
            if block.source is not None:
                own.add(block.source)
        for feed, offset in network.feeds.get(channel, ()):
            positions = range(offset, offset + len(network.inputs[feed]))
            found.setdefault(feed, set()).update(t.part(positions) for t in own)
    return found


def ordered(network: Network, within: Iterable[str], reverse: bool = False) -> list[str]:
    """The channels of `within` in topological order."""
    return sorted(within, key=network.order.__getitem__, reverse=reverse)


def alongside_of(
    network: Network, blocks: Mapping[str, Iterable[Block]], channels: Iterable[str]
) -> dict[str, set[Provenance]]:
    """Where the newest base of a derived channel upstream stands: from there a step may run through both without
    bringing that base forward first."""
    found: dict[str, set[Provenance]] = {}
    for channel in channels:
        feeds = network.feeds.get(channel, ())
        if len(feeds) == 1 and feeds[0][0] in network.feeds:
            feed = feeds[0][0]
            newest = newest_of(b.target for b in blocks.get(feed, ()) if b.is_base)
            found[channel] = found.get(feed, set()).union(newest)
    return found


def newest_of(provenances: Iterable[Provenance]) -> list[Provenance]:
    """Those that precede no other."""
    found = list(dict.fromkeys(provenances))
    return [p for p in found if not any(p.precedes(q) for q in found)]
