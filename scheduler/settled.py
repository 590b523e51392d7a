"""The blocks already optimized, found by channel, kind and provenance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Sequence

from olston.block import BASE, DELTA, MONOTONE, Kind, laid
from olston.provenance import Provenance
from olston.scheduler.plan import Entry

_NONE: Sequence[Entry] = ()


class Settled:
    """`B_optimized` of Algorithm 1, indexed. Iteration is in the order of settling, so the search is deterministic."""

    def __init__(self) -> None:
        self.entries: dict[tuple[object, ...], Entry] = {}
        self._reached: set[tuple[object, ...]] = set()
        self.keys: Container[tuple[object, ...]] = self._reached
        """The vertices that need not be reached any more."""
        self._of: defaultdict[tuple[str, Kind], list[Entry]] = defaultdict(list)
        self._starting: defaultdict[tuple[str, Kind, Provenance], list[Entry]] = defaultdict(list)
        self._ending: defaultdict[tuple[str, Kind, Provenance], list[Entry]] = defaultdict(list)

    def add(self, entry: Entry) -> None:
        block = entry.block
        channel, source, target = block.channel, block.source, block.target
        self.entries[block.vertex] = entry
        # what was written whole is no dearer to read than what is laid over another base
        self._reached.update((block.vertex, laid(block.key)) if block.is_base else (block.vertex,))
        # a Δ operand also takes a Δ⁺
        for kind in (DELTA, MONOTONE) if block.kind == MONOTONE else (block.kind,):
            self._of[channel, kind].append(entry)
            self._ending[channel, kind, target].append(entry)
            if source is not None:
                self._starting[channel, kind, source].append(entry)

    def of(self, channel: str, kind: Kind) -> Sequence[Entry]:
        """All blocks that may stand where `kind` is read on `channel`."""
        return self._of.get((channel, kind), _NONE)

    def bases(self, channel: str) -> Sequence[Entry]:
        return self._of.get((channel, BASE), _NONE)

    def starting(self, channel: str, kind: Kind, source: Provenance) -> Sequence[Entry]:
        """The deltas that start at `source`."""
        return self._starting.get((channel, kind, source), _NONE)

    def ending(self, channel: str, kind: Kind, target: Provenance) -> Sequence[Entry]:
        """The blocks whose target is `target`; for bases, those that stand there."""
        return self._ending.get((channel, kind, target), _NONE)
