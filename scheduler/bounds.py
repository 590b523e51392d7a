"""Where bounds bind (DESIGN 2), at one moment.

On a block when an operator of another channel reads it; on what a consumer holds, inconsistency after
each delivery and staleness after the last. A consistency bound on an intermediate channel also binds
the slice of entries that came through it in every base and consumer content downstream.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from olston.block import BASE, Block
from olston.constraints import Inconsistency, Staleness
from olston.provenance import Provenance, Stamp
from olston.scheduler.declared import Slice
from olston.scheduler.network import Network
from olston.timeline import History


class Bounds:
    """All declared bounds of a network, asked at one `now`. Answers are remembered; make one per search."""

    def __init__(self, network: Network, history: History) -> None:
        self.network, self.history = network, history
        self._staleness, self._whole = network.declared.staleness, network.declared.whole
        self._slices, self._bounded = network.declared.slices, network.declared.bounded
        self._ends: dict[tuple[str, Stamp], Stamp] = {}
        self._spans: dict[tuple[str, Provenance], tuple[Stamp, Stamp]] = {}
        self._readable: dict[tuple[str, bool, Provenance], bool] = {}

    def readable(self, block: Block) -> bool:
        """Whether an operator of another channel may read `block`."""
        if self.network.wary and block.obscure:
            return False
        if block.channel not in self._bounded:
            return True
        key = (block.channel, block.kind == BASE, block.target)
        answer = self._readable.get(key)
        if answer is None:
            answer = self._readable[key] = next(self.broken(block), None) is None
        return answer

    def broken(self, block: Block) -> Iterator[Staleness | Inconsistency]:
        """The bounds that reading `block` from another channel would break."""
        channel, target = block.channel, block.target
        yield from self.stale(channel, target)
        yield from self.inconsistent(channel, target, content=block.kind == BASE)

    def stale(self, channel: str, target: Provenance) -> Iterator[Staleness]:
        """The staleness bounds of `channel` that `target` breaks now."""
        inputs, now = self.network.inputs[channel], self.history.now
        for stale in self._staleness.get(channel, ()):
            low = target.oldest[stale.pathway]
            if low is not None and self.end(inputs[stale.pathway], low) + stale.bound < now:
                yield stale

    def inconsistent(self, channel: str, target: Provenance, *, content: bool = True) -> Iterator[Inconsistency]:
        """The consistency bounds that `target` breaks on `channel`; of bases and contents also the slices."""
        for part in self._whole.get(channel, ()):
            if not self._within(channel, target, part):
                yield part.declared
        if content:
            for part in self._slices.get(channel, ()):
                if not self._within(channel, target, part):
                    yield part.declared

    def _within(self, channel: str, target: Provenance, part: Slice) -> bool:
        inputs = self.network.inputs[channel]
        newest: Stamp | None = None
        end: Stamp | None = None
        for i in part.positions:
            low, high = target.oldest[i], target.newest[i]
            if low is None or high is None:
                continue
            until = self.end(inputs[i], low)
            newest = high if newest is None or high > newest else newest
            end = until if end is None or until < end else end
        return newest is None or end is None or newest < end + part.declared.bound

    def span(self, channel: str, target: Provenance) -> tuple[Stamp, Stamp]:
        """`T⁺` and `T⁻` of a provenance on `channel`, remembered; `(-∞, ∞)` if it claims nothing."""
        key = (channel, target)
        found = self._spans.get(key)
        if found is None:
            found = self.history.span(target, self.network.inputs[channel]) or (-inf, inf)
            self._spans[key] = found
        return found

    def consistent(self, channel: str, target: Provenance) -> bool:
        """`T⁺ < T⁻` for a provenance on `channel`."""
        newest, end = self.span(channel, target)
        return newest < end

    def end(self, channel: str, stamp: Stamp) -> Stamp:
        """`t⁻`, remembered."""
        key = (channel, stamp)
        found = self._ends.get(key)
        if found is None:
            found = self._ends[key] = self.history.end(channel, stamp)
        return found

    def breaks_at(self, channel: str, target: Provenance) -> Stamp | None:
        """The first moment at which `target` breaks a staleness bound of `channel` if nothing else arrives;
        `None` if no bound ever breaks.
        """
        return min((moment for _, moment in self.breaking(channel, target)), default=None)

    def breaking(self, channel: str, target: Provenance) -> Iterator[tuple[Staleness, Stamp]]:
        """The staleness bounds of `channel` that `target` breaks if nothing else arrives, and when.

        An entry that reflects the newest snapshot ends at `now`, so it can only break by an arrival.
        """
        inputs = self.network.inputs[channel]
        for stale in self._staleness.get(channel, ()):
            low = target.oldest[stale.pathway]
            if low is None:
                continue
            line = self.history.timelines[inputs[stale.pathway]]
            if low != line.newest:
                yield stale, line.end(low, self.history.now) + stale.bound
