"""Delivery: an edge like any other, from what a consumer holds to what it would hold [5].

A consumer holding `E` takes `B(T)` if `E ≺ T`, and a delta if it applies to `E` and the result is ahead.
Inconsistency must hold after each delivery, staleness after the last; a plan may deliver several
blocks in sequence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from olston.block import BASE, DELTA, Block, Kind
from olston.constraints import Inconsistency, Staleness
from olston.provenance import Provenance
from olston.scheduler.bounds import Bounds
from olston.scheduler.network import Output
from olston.scheduler.plan import Entry, Ledger
from olston.scheduler.settled import Settled


@dataclass(frozen=True, slots=True)
class Rejected:
    """Content that a consumer could have been given, and the bounds it would have broken."""

    output: str
    content: Provenance
    entry: Entry
    broken: tuple[Staleness | Inconsistency, ...]


class Deliveries:
    """Generates what consumers could hold, and notices when every due output is within its bounds."""

    def __init__(
        self, outputs: Iterable[Output], holds: Mapping[str, Provenance | None], bounds: Bounds, ledger: Ledger
    ) -> None:
        self._by_channel = {o.channel: o for o in outputs}
        self._by_consumer = {o.consumer: o for o in self._by_channel.values()}
        self._holds, self._bounds, self._ledger = holds, bounds, ledger
        self.goals: dict[str, Entry] = {}
        self.proposals: list[Entry] = []
        self.rejected: list[Rejected] = []
        self.must_deliver = False
        """Whether what consumers hold already does not count, even if it keeps the bounds."""
        self.thorough = False
        """Whether `proposals` also get the dearer ways to a content that is settled already."""

    def held(self) -> Iterator[Block]:
        """What the consumers hold now, as blocks of their own channels."""
        for output in self._by_channel.values():
            content = self._holds.get(output.channel)
            if content is not None:
                yield Block(output.consumer, BASE, content)

    def __call__(self, entry: Entry, settled: Settled) -> Iterator[Entry]:
        """The contents that `entry`, a block or a content, makes possible."""
        output = self._by_channel.get(entry.block.channel)
        if output is not None:
            if accepted(output, entry.block.kind):
                if self._holds.get(output.channel) is None and entry.block.is_base:
                    yield from self._deliver(output, None, entry, settled)
                for held in settled.bases(output.consumer):
                    yield from self._deliver(output, held, entry, settled)
            return
        output = self._by_consumer.get(entry.block.channel)
        if output is not None:
            for kind in sorted(output.accepts):
                for block in settled.of(output.channel, kind):
                    yield from self._deliver(output, entry, block, settled)

    def _deliver(self, output: Output, held: Entry | None, entry: Entry, settled: Settled) -> Iterator[Entry]:
        block = entry.block
        if self._bounds.network.wary and block.obscure:
            return
        content = held_after(None if held is None else held.block.target, block)
        if content is None:
            return
        broken = tuple(self._bounds.inconsistent(output.channel, content))
        if broken:
            self.rejected.append(Rejected(output.channel, content, entry, broken))
            return
        result = Block(output.consumer, BASE, content)
        known = result.key in settled.keys
        if known and not self.thorough:
            return
        operands = (entry,) if held is None else (held, entry)
        plan, cost = self._ledger.join(operands)
        blocks = tuple(e.block for e in operands)
        made_by = self._ledger.invocation(output, blocks, (result,), output.price(block))
        if made_by.bit & plan:
            return
        made = Entry(result, plan | made_by.bit, cost + self._ledger.charge(made_by), made_by, operands)
        self.proposals.append(made)
        if not known:
            yield made

    def finished(self, entry: Entry) -> bool:
        """Whether, with `entry` settled, every output is within all of its bounds."""
        output = self._by_consumer.get(entry.block.channel)
        if (
            output is not None
            and output.channel not in self.goals
            and (entry.made_by is not None or not self.must_deliver)
            and next(self._bounds.stale(output.channel, entry.block.target), None) is None
        ):
            self.goals[output.channel] = entry
        return len(self.goals) == len(self._by_channel)


def first_content(output: Output, pathways: int) -> Provenance | None:
    """What a consumer has before its first delivery: nothing, or the empty relation if it takes deltas only."""
    return None if BASE in output.accepts else Provenance.at(*(0,) * pathways)


def accepted(output: Output, kind: Kind) -> bool:
    """Whether the consumer takes blocks of `kind`; one that takes `Δ` also takes `Δ⁺`."""
    return kind in output.accepts or (DELTA in output.accepts and kind == "Δ⁺")


def held_after(held: Provenance | None, block: Block) -> Provenance | None:
    """What a consumer would hold after being given `block`; `None` if it does not take it."""
    if block.source is None:
        return block.target if held is None or held.precedes(block.target) else None
    if held is None:
        return None
    if held != block.source and not (block.relaxed and held.admits(block.source, block.target)):
        return None
    after = held.apply(block.source, block.target)
    return after if held.precedes(after) else None
