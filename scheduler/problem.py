"""A planning problem: everything a decision depends on, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from olston.block import Block
from olston.provenance import Provenance
from olston.scheduler.bounds import Bounds
from olston.scheduler.network import Network
from olston.timeline import History


@dataclass(frozen=True)
class Problem:
    """The network, the blocks that exist by channel, the timelines at `now`, and what each consumer holds.

    `holds[output]` is `None` while the consumer has nothing, or content of an older definition. `hidden` are the keys
    of blocks that exist but have left planning.
    """

    network: Network
    blocks: Mapping[str, Sequence[Block]]
    history: History
    holds: Mapping[str, Provenance | None]
    hidden: Collection[tuple[object, ...]] = ()

    def bounds(self) -> Bounds:
        return Bounds(self.network, self.history)

    def due(self) -> tuple[str, ...]:
        """The outputs that hold nothing, or whose content breaks a staleness bound now."""
        bounds = self.bounds()
        return tuple(
            channel
            for channel in self.network.outputs
            if (held := self.holds.get(channel)) is None or next(bounds.stale(channel, held), None) is not None
        )
