"""`blockGen` of Algorithm 1: every block that one more invocation could make.

When a block is settled it is tried in every place where a variant reads its kind; the remaining
operands are drawn from the blocks settled so far, all legal combinations of them [6.1].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import TypeAlias

from olston.block import BASE, DELTA, MONOTONE, Block, is_delta
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
        self._readers, self._inputs = network.readers, network.inputs
        self._bounds, self._ledger, self._within = bounds, ledger, within
        self._barred = barred
        self._unclaimed: dict[str, Provenance] = {}

    def __call__(self, entry: Entry, settled: Settled) -> Iterator[Entry]:
        """The blocks that `entry` makes possible, each with its plan and cost."""
        block = entry.block
        for variant, i, position in self._readers.get((block.channel, block.kind), ()):
            if self._within.isdisjoint(variant.outputs) or variant in self._barred:
                continue
            reads, foreign = variant.signature.reads, variant.foreign
            options: list[Iterable[Operands]] = []
            for j, (channel, wanted) in enumerate(zip(variant.inputs, reads, strict=True)):
                if j == i:
                    options.append(self._with(entry, position, wanted, settled, foreign))
                else:
                    options.append(self._any(channel, wanted, settled, foreign))
            for choice in product(*options) if len(options) > 1 else ((o,) for o in options[0]):
                yield from self._invoke(variant, choice, settled)

    def _with(self, entry: Entry, position: int, reads: Reads, settled: Settled, foreign: bool) -> Iterator[Operands]:
        """The operands of one input that have `entry` at `position`."""
        block = entry.block
        # of a pair, bounds bind on the target only: the old base it starts from is stale by nature
        binds = foreign and position == len(reads.kinds) - 1
        if binds and not self._bounds.readable(block):
            return
        if len(reads.kinds) == 1:
            yield (entry,)
            return
        channel, other = block.channel, reads.kinds[1 - position]
        if reads.link is Link.EXACT:
            if position == 0:
                for delta in settled.starting(channel, other, block.target):
                    if not foreign or self._bounds.readable(delta.block):
                        yield entry, delta
            elif block.source is not None:
                for base in settled.ending(channel, other, block.source):
                    yield base, entry
        elif reads.link is Link.ABUTS:
            if position == 0:
                for later in settled.starting(channel, other, block.target):
                    yield entry, later
            elif block.source is not None:
                for earlier in settled.ending(channel, other, block.source):
                    yield earlier, entry
        else:
            for partner in settled.of(channel, other):
                pair = (entry, partner) if position == 0 else (partner, entry)
                if fits_together(reads.link, pair[0].block, pair[1].block):
                    yield pair

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

    def _invoke(self, variant: Variant, choice: Sequence[Operands], settled: Settled) -> Iterator[Entry]:
        signature = variant.signature
        source, target = self._step(variant, choice)
        delta = signature.writes != BASE
        if signature.sync:
            channel = variant.outputs[0]
            if not self._bounds.consistent(channel, target):
                return
            if delta and not self._bounds.consistent(channel, source):
                return
        operands = choice[0] if len(choice) == 1 else tuple(e for part in choice for e in part)
        kind = signature.writes
        if kind == DELTA and signature.monotone and all(
            e.block.kind == MONOTONE for e in operands if e.block.kind != BASE
        ):
            kind = MONOTONE
        keys = [(channel, kind, source if delta else None, target) for channel in variant.outputs]
        if all(key in settled for key in keys):
            return
        blocks = tuple(e.block for e in operands)
        cost, rows = variant.price(blocks)
        relaxed = not delta or len(target) == 1 or may_relax(signature.relaxed, blocks)
        results = tuple(
            Block(channel, kind, target, source if delta else None, size, relaxed)
            for channel, size in zip(variant.outputs, rows, strict=True)
        )
        plan, total = self._ledger.join(operands)
        made_by = None
        if variant.listed:
            made_by = self._ledger.invocation(variant, blocks, results, cost)
            if made_by.bit & plan:
                return
            plan, total = plan | made_by.bit, total + self._ledger.charge(made_by)
        for result in results:
            if result.channel in self._within and result.key not in settled:
                yield Entry(result, plan, total, made_by, operands)

    def _step(self, variant: Variant, choice: Sequence[Operands]) -> Step:
        """`source ▷ target` of the result: the steps of all inputs, concatenated."""
        source: Provenance | None = None
        target: Provenance | None = None
        for channel, reads, part in zip(variant.inputs, variant.signature.reads, choice, strict=True):
            if not part:
                old = new = self._nothing(channel)
            else:
                old, new = step(reads.link, part)
            if source is None or target is None:
                source, target = old, new
            else:
                source, target = source + old, target + new
        assert source is not None and target is not None
        return source, target

    def _nothing(self, channel: str) -> Provenance:
        found = self._unclaimed.get(channel)
        if found is None:
            found = self._unclaimed[channel] = Provenance.unclaimed(len(self._inputs[channel]))
        return found


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
    if link is Link.COMPLETES and any(
        own != old for own, old in zip(first.target, second.source, strict=True) if old
    ):
        return False
    return first.target.admits(second.source, second.target)


def may_relax(rule: Relaxed, operands: Iterable[Block]) -> bool:
    """Whether a result made from `operands` may be applied relaxed (DESIGN 3)."""
    if rule is Relaxed.NEVER:
        return False
    deltas = [b for b in operands if is_delta(b.kind)]
    if rule is Relaxed.IF_MONOTONE and any(b.kind == DELTA for b in deltas):
        return False
    return all(b.relaxed for b in deltas)
