"""Algorithm 1: Dijkstra's search, with blocks as vertices and invocations as edges [6.1].

Two things differ from the letter of the paper. A block already settled is never re-entered, else
converter cycles would not end. And the search stops once `finished` has seen enough: everything still
queued is dearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heappop, heappush

from olston.block import Block
from olston.scheduler.plan import NO_STEPS, Entry
from olston.scheduler.settled import Settled


class Queue:
    """A priority queue of entries that holds one plan per block, the cheapest discovered so far."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Entry]] = []
        self._best: dict[tuple[object, ...], Entry] = {}
        self._offers = 0

    def __bool__(self) -> bool:
        return bool(self._best)

    def offer(self, entry: Entry) -> None:
        """Insert `entry`, unless its block is queued with a plan that is no dearer."""
        vertex = entry.block.vertex
        queued = self._best.get(vertex)
        if queued is None or entry.cost < queued.cost:
            self._best[vertex] = entry
            self._offers += 1
            heappush(self._heap, (entry.cost, self._offers, entry))

    def poll(self) -> Entry:
        """Remove and return the cheapest entry; the earliest offered among equals."""
        while True:
            _, _, entry = heappop(self._heap)
            if self._best.get(entry.block.vertex) is entry:
                del self._best[entry.block.vertex]
                return entry


def search(
    existing: Iterable[Block],
    block_gen: Callable[[Entry, Settled], Iterable[Entry]],
    admits: Callable[[Entry], bool],
    finished: Callable[[Entry], bool],
) -> Settled:
    """The cheapest plan for every block, in order of cost, until `finished` or nothing is left."""
    queue = Queue()
    for block in existing:
        queue.offer(Entry(block, NO_STEPS, 0.0))
    optimized = Settled()
    while queue:
        entry = queue.poll()
        if entry.block.vertex in optimized.keys or not admits(entry):
            continue
        optimized.add(entry)
        if finished(entry):
            break
        for made in block_gen(entry, optimized):
            queue.offer(made)
    return optimized
