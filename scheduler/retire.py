"""Retirement: which blocks planning still needs (DESIGN 4).

So that the number of live blocks does not grow with the age of a run. On each channel there are a few
*points*: the provenances on which something downstream stands, the newest base and the newest base
below each of those, and the newest provenances reached. Planning needs those bases, and one run of
deltas of each kind between neighbouring points, or of several kinds where none alone leads on; everything else leaves
planning at once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise

from olston.block import BASE, DELTA, Block, fits, is_strong
from olston.provenance import Provenance
from olston.scheduler.frontier import alongside_of, newest_of
from olston.scheduler.network import Network
from olston.scheduler.prune import chain, chained


def live(
    network: Network,
    blocks: Mapping[str, Sequence[Block]],
    holds: Mapping[str, Provenance | None],
    channels: Iterable[str] | None = None,
) -> dict[str, list[Block]]:
    """The blocks that plans can still use, by channel; `channels` limits the look to some and all that feeds them."""
    chosen = sorted(network.inputs if channels is None else channels, key=network.order.__getitem__)
    alongside = alongside_of(network, blocks, chosen)
    stands: dict[str, set[Provenance]] = {}
    kept: dict[str, list[Block]] = {}
    for channel in reversed(chosen):
        own, points = blocks.get(channel, ()), stands.setdefault(channel, set())
        held = holds.get(channel)
        if held is not None:
            points.add(held)
        if held is not None and channel not in network.read and channel not in network.resumed:
            mine = _for_the_consumer(network, channel, own, held)
        elif len(network.inputs[channel]) == 1:
            mine = _between(own, points, alongside.get(channel, set()))
        else:
            mine = _not_passed(own, points)
        if mine:
            kept[channel] = mine
        for feed, offset in network.feeds.get(channel, ()):
            positions = range(offset, offset + len(network.inputs[feed]))
            parts = (t.part(positions) for t in _ends(mine, points))
            stands.setdefault(feed, set()).update(p for p in parts if not p.has_empty_entry)
    return kept


def _ends(blocks: Sequence[Block], stands: set[Provenance]) -> set[Provenance]:
    """From where the next step on a channel starts: what it has reached, and what stands without a way on."""
    started = {b.source for b in blocks}
    return set(newest_of(b.target for b in blocks)) | {s for s in stands if s not in started}


def _bases(blocks: Sequence[Block], stands: Iterable[Provenance]) -> list[Block]:
    """The newest bases, and for each stand the newest ones at or below it."""
    bases = {b.target: b for b in blocks if b.is_base}
    keep = dict.fromkeys(newest_of(bases))
    for stand in stands:
        if stand in bases:
            keep[stand] = None
        else:
            keep.update(dict.fromkeys(newest_of(t for t in bases if t.precedes(stand))))
    return [bases[t] for t in keep]


def _between(blocks: Sequence[Block], stands: set[Provenance], alongside: set[Provenance]) -> list[Block]:
    """Of a channel with one pathway, whose points are in order: bases, and one delta of each kind between
    neighbours; where no kind alone leads from one to the next, the fewest of several kinds."""
    # content that mixes several snapshots stands nowhere: no delta of this channel starts there
    stands = {s for s in stands if len(s[0]) == 1}
    bases = _bases(blocks, stands | {b.target for b in blocks if b.is_base and b.target in alongside})
    deltas = [b for b in blocks if not b.is_base]
    points = stands | {b.target for b in bases} | set(newest_of(b.target for b in deltas))
    inner = sorted(points, key=lambda t: (t.oldest, t.newest))
    keep, led = list(bases), set[tuple[Provenance, Provenance]]()
    for kind in dict.fromkeys(b.kind for b in deltas):
        onward = _onward(b for b in deltas if fits(b.kind, kind))
        for start, end in pairwise(inner):
            run = shortest_run(onward, start, end) if start in onward else []
            led |= {(start, end)} if run else set()
            if run and any(b.kind == kind for b in run):
                keep.append(chain(run))
    onward = _onward(deltas)
    for start, end in pairwise(inner):
        if (start, end) not in led and start in onward:
            mixed = groupby(shortest_run(onward, start, end), lambda b: DELTA if is_strong(b.kind) else b.kind)
            keep += [chain(list(run)) for _, run in mixed]
    return keep


def _onward(deltas: Iterable[Block]) -> dict[Provenance | None, list[Block]]:
    """The deltas by their source."""
    found: dict[Provenance | None, list[Block]] = {}
    for delta in deltas:
        found.setdefault(delta.source, []).append(delta)
    return found


def shortest_run(onward: Mapping[Provenance | None, list[Block]], start: Provenance, end: Provenance) -> list[Block]:
    """The fewest abutting deltas that lead from `start` to `end`; empty if none do. `onward` has them by source."""
    came: dict[Provenance, Block] = {}
    pending = deque([start])
    while pending and end not in came:
        at = pending.popleft()
        for delta in onward.get(at, ()):
            if delta.target not in came:
                came[delta.target] = delta
                pending.append(delta.target)
    run: list[Block] = []
    at = end
    while at != start:
        last = came.get(at)
        if last is None or last.source is None:
            return []
        run.append(last)
        at = last.source
    return run[::-1]


def _not_passed(blocks: Sequence[Block], stands: set[Provenance]) -> list[Block]:
    """Of a channel with several pathways: bases, and the deltas that bring something to one of them or to a stand."""
    bases = _bases(blocks, stands)
    points = stands | {b.target for b in bases}
    deltas = [b for b in blocks if not b.is_base and not all(_passed(b, p) for p in points)]
    keep = list(bases)
    for kind in dict.fromkeys(b.kind for b in deltas):
        keep += chained([b for b in deltas if b.kind == kind], points)
    return keep


def _for_the_consumer(network: Network, channel: str, blocks: Sequence[Block], held: Provenance) -> list[Block]:
    """Of a channel that only its consumer reads: what would bring it something; if it takes no deltas, also a base
    to build on."""
    bases = [b for b in blocks if b.is_base and not b.target.precedes(held)]
    if network.outputs[channel].accepts == {BASE}:
        bases = _bases(blocks, (held,))
    points = {held, *(b.target for b in bases)}
    return bases + [b for b in blocks if not b.is_base and not all(_passed(b, p) for p in points)]


def _passed(delta: Block, point: Provenance) -> bool:
    """Whether `point` has what the delta would bring: it is not behind in any entry that the delta advances."""
    assert delta.source is not None
    for i, (old, new) in enumerate(zip(delta.source, delta.target, strict=True)):
        low, high = delta.target.oldest[i], delta.target.newest[i]
        own_low, own_high = point.oldest[i], point.newest[i]
        if old == new or low is None or high is None or own_low is None or own_high is None:
            continue
        if own_high < high or own_low < low:
            return False
    return True
