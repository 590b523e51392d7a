"""`blockGen` of Algorithm 1: every block that one more invocation could make.

When a block is settled it is tried in every place where a variant reads its kind; the remaining
operands are drawn from the blocks settled so far, all legal combinations of them [6.1].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TypeAlias

from olston.block import BASE, DELTA, MONOTONE, Block, is_delta, laid
from olston.content import laid_over, run_of
from olston.operators.signature import Link, Reads, Relaxed
from olston.provenance import Provenance
from olston.scheduler.bounds import Bounds
from olston.scheduler.network import Network, Variant
from olston.scheduler.plan import Entry, Ledger
from olston.scheduler.settled import Settled

Operands: TypeAlias = tuple[Entry, ...]
Step: TypeAlias = tuple[Provenance, Provenance]


class Candidates:
    """Enumerates invocations within the declared bounds, which bind at reading."""

    def __init__(
        self,
        network: Network,
        bounds: Bounds,
        ledger: Ledger,
        within: frozenset[str],
        barred: frozenset[Variant] = frozenset(),
    ) -> None:
        self._readers, self._inputs = network.readers_within(within), network.inputs
        self._bounds, self._ledger, self._within = bounds, ledger, within
        self._barred = barred
        self._unclaimed: dict[str, Provenance] = {}

    def __call__(self, entry: Entry, settled: Settled) -> list[Entry]:
        """The blocks that `entry` makes possible, each with its plan and cost."""
        block, barred, found = entry.block, self._barred, list[Entry]()
        for variant, i, position in self._readers.get((block.channel, block.kind), ()):
            if barred and variant in barred:
                continue
            reads, foreign = variant.signature.reads, variant.foreign
            mine = self._with(entry, position, reads[i], settled, foreign)
            if len(reads) == 1:
                for part in mine:
                    self._invoke(variant, (part,), settled, found)
            elif mine:
                options = [
                    mine if j == i else self._any(variant.inputs[j], reads[j], settled, foreign)
                    for j in range(len(reads))
                ]
                for choice in product(*options):
                    self._invoke(variant, choice, settled, found)
        return found

    def _with(self, entry: Entry, position: int, reads: Reads, settled: Settled, foreign: bool) -> list[Operands]:
        """The operands of one input that have `entry` at `position`."""
        block, kinds = entry.block, reads.kinds
        # of a pair, bounds bind on the target only: the old base it starts from is stale by nature
        if foreign and position == len(kinds) - 1 and not self._bounds.readable(block):
            return []
        if len(kinds) == 1:
            return [(entry,)]
        channel, other, link = block.channel, kinds[1 - position], reads.link
        if link is Link.EXACT or link is Link.ABUTS:
            if position == 0:
                later = settled.starting(channel, other, block.target)
                return [(entry, e) for e in later if not foreign or self._bounds.readable(e.block)]
            assert block.source is not None
            return [(e, entry) for e in settled.ending(channel, other, block.source)]
        if position == 0:
            return [(entry, e) for e in settled.of(channel, other) if fits_together(link, block, e.block)]
        return [(e, entry) for e in settled.of(channel, other) if fits_together(link, e.block, block)]

    def _any(self, channel: str, reads: Reads, settled: Settled, foreign: bool) -> list[Operands]:
        """All operands that one input could contribute."""
        if not reads.kinds:
            return [()]
        last = settled.of(channel, reads.kinds[-1])
        if foreign:
            last = [e for e in last if self._bounds.readable(e.block)]
        if len(reads.kinds) == 1:
            return [(e,) for e in last]
        return [
            (base, e)
            for e in last
            if e.block.source is not None
            for base in settled.ending(channel, reads.kinds[0], e.block.source)
        ]

    def _invoke(self, variant: Variant, choice: Sequence[Operands], settled: Settled, found: list[Entry]) -> None:
        """Add the results of `variant` on `choice` to `found`, unless they are settled or not consistent."""
        signature = variant.signature
        delta, kind = signature.incremental, signature.writes
        if len(choice) == 1:
            operands = choice[0]
            source, target = step(signature.reads[0].link, operands)
            steps = [(source, target)]
        else:
            steps = [
                step(reads.link, part) if part else self._nothing(channel)
                for channel, reads, part in zip(variant.inputs, signature.reads, choice, strict=True)
            ]
        if signature.sync and not (
            self._together(variant.inputs, [new for _, new in steps])
            and (not delta or self._together(variant.inputs, [old for old, _ in steps]))
        ):
            return
        if len(choice) > 1:
            (source, target), operands = steps[0], choice[0]
            for (old, new), part in zip(steps[1:], choice[1:], strict=True):
                source, target, operands = source + old, target + new, operands + part
        if signature.monotone and kind == DELTA and no_deletions(operands):
            kind = MONOTONE
        start = source if delta else None
        keys = [(channel, kind, start, target) for channel in variant.outputs]
        vertices: Sequence[tuple[object, ...]] = [laid(keys[0])] if variant.lays_over else keys
        done = settled.keys
        if vertices[0] in done and all(vertex in done for vertex in vertices):
            return
        plan, total = self._ledger.join(operands)
        blocks = tuple([e.block for e in operands])
        cost, rows = variant.price(blocks)
        relaxed = not delta or len(target) == 1 or may_relax(signature.relaxed, blocks)
        results = tuple([Block.planned(key, size, relaxed) for key, size in zip(keys, rows, strict=True)])
        if variant.lays_over:
            base, over = blocks
            results[0].overlay, results[0].over = laid_over(base, over), run_of(over.kind)
            results[0].vertex = vertices[0]
        made_by = None
        if variant.listed:
            made_by = self._ledger.invocation(variant, blocks, results, cost)
            if made_by.bit & plan:
                return
            plan, total = plan | made_by.bit, total + self._ledger.charge(made_by)
        for result in results:
            if result.channel in self._within and result.vertex not in done:
                found.append(Entry(result, plan, total, made_by, operands))

    def _together(self, channels: Sequence[str], parts: Sequence[Provenance]) -> bool:
        """Whether provenances of several channels are consistent when concatenated: `T⁺ < T⁻` over all."""
        spans = [self._bounds.span(channel, part) for channel, part in zip(channels, parts, strict=True)]
        return max(newest for newest, _ in spans) < min(end for _, end in spans)

    def _nothing(self, channel: str) -> Step:
        found = self._unclaimed.get(channel)
        if found is None:
            found = self._unclaimed[channel] = Provenance.unclaimed(len(self._inputs[channel]))
        return found, found


def step(link: Link, part: Operands) -> Step:
    """The step `source ▷ target` that the operands of one input stand for."""
    first = part[0].block
    if len(part) == 1:
        return (first.target, first.target) if first.source is None else (first.source, first.target)
    second = part[1].block
    if link is Link.PRECEDES:
        return first.target, second.target
    if link is Link.ABUTS:
        assert first.source is not None
        return first.source, second.target
    assert second.source is not None
    if link is Link.EXACT:
        return second.source, second.target
    return first.target, first.target.apply(second.source, second.target)


def fits_together(link: Link, first: Block, second: Block) -> bool:
    """Whether two operands of one input fit by `link`."""
    if link is Link.PRECEDES:
        return first.target.precedes(second.target)
    assert second.source is not None
    if link is Link.COMPLETES and not second.target.has_empty_entry:
        return False
    if second.source == first.target:
        return True
    if not second.relaxed and link is Link.RELAXED:
        return False
    if link is Link.COMPLETES and any(own != old for own, old in zip(first.target, second.source, strict=True) if old):
        return False
    return first.target.admits(second.source, second.target)


def no_deletions(operands: Operands) -> bool:
    """Whether all deltas among `operands` are `Δ⁺`."""
    for entry in operands:  # noqa: SIM110, twice as fast as all(…) here
        if entry.block.kind not in (MONOTONE, BASE):
            return False
    return True


def may_relax(rule: Relaxed, operands: Iterable[Block]) -> bool:
    """Whether a result made from `operands` may be applied relaxed (DESIGN 3)."""
    if rule is Relaxed.NEVER:
        return False
    deltas = [b for b in operands if is_delta(b.kind)]
    if rule is Relaxed.IF_MONOTONE and any(b.kind == DELTA for b in deltas):
        return False
    return all(b.relaxed for b in deltas)
