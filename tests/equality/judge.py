"""What a block must hold, by the evaluator: the equality of DESIGN 3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import product
from math import prod

from olston.block import Block
from olston.provenance import Entry, Provenance
from tests.equality.bags import Bag, Row, contains, differences
from tests.equality.evaluate import Assignment, Evaluator
from tests.equality.spec import Aggregate, Batch, Distinct, Extract, Map, Source, Spec, reads

MOST_CHOICES = 200
"""A block that reflects more choices of snapshots than that is not judged."""


class Judge:
    """Says what is wrong with the rows of a block, as a bag of rows too many (or, negative, too few)."""

    def __init__(self, spec: Spec, evaluator: Evaluator) -> None:
        self.spec, self._evaluate = spec, evaluator

    def knows(self, block: Block) -> bool:
        """Whether anything can be said of `block`: not of an internal channel's, nor where rows mix beyond telling."""
        if block.channel not in self.spec.channels:
            return False
        return all(_single(t) or self._judgeable(block.channel, t) for t in _ends(block))

    def base(self, block: Block, rows: Bag) -> Bag:
        """What is wrong with the `rows` of a base."""
        channel, target = block.channel, block.target
        if _single(target):
            return differences(rows, self._evaluate(channel, _only(target)))
        choices = [self._evaluate(channel, a) for a in _assignments(target)]
        every = {row for bag in choices for row in bag}
        odd: Bag = Counter({row: rows[row] for row in rows if not contains(every, row)})
        if keeps_apart(self.spec, channel):
            odd.update(
                {row: -1 for row in choices[0] if all(row in bag for bag in choices) and not contains(rows, row)}
            )
        return odd

    def delta(self, block: Block, weights: Bag) -> Bag:
        """What is wrong with the `weights` of a strong delta."""
        assert block.source is not None
        channel = block.channel
        source, target = filled(block.source), filled(block.target)
        if _single(source) and _single(target):
            wanted: Bag = Counter(self._evaluate(channel, _only(target)))
            wanted.subtract(self._evaluate(channel, _only(source)))
            return differences(weights, wanted)
        odd: Bag = Counter()
        for end, sign in ((target, 1), (source, -1)):
            there = {row for a in _assignments(end) for row in self._evaluate(channel, a)}
            odd.update({row: n for row, n in weights.items() if n * sign > 0 and not contains(there, row)})
        return odd

    def replacement(self, block: Block, rows: Bag, keys: Iterable[Row], key: tuple[str, ...]) -> Bag:
        """What is wrong with the `rows` that stand for `keys`, those of all rows given or gone."""
        assert block.source is not None
        source, target = filled(block.source), filled(block.target)
        before, after = (self._evaluate.table(block.channel, _only(t)) for t in (source, target))
        given = set(keys)
        wanted: Bag = Counter({row: n for row, n in after.rows.items() if after.at(row, key) in given})
        changed: Bag = Counter(after.rows)
        changed.subtract(before.rows)
        forgotten = {row: -1 for row, n in changed.items() if n and after.at(row, key) not in given}
        return Counter(differences(rows, wanted) or forgotten)

    def _judgeable(self, channel: str, target: Provenance) -> bool:
        return mixes_rows_only(self.spec, channel) and prod(len(e) or 1 for e in target) <= MOST_CHOICES


def mixes_rows_only(spec: Spec, channel: str) -> bool:
    """Whether, from where pathways meet, each row follows from one row of each input, so that some choice gives it."""
    if len(spec.pathways(channel)) == 1:
        return True
    node = spec.node(channel)
    if isinstance(node, Extract | Aggregate | Distinct | Batch):
        return False
    return all(mixes_rows_only(spec, name) for name in reads(node))


def keeps_apart(spec: Spec, channel: str) -> bool:
    """Whether a row tells all rows that it follows from, so that what every choice gives must be there.

    A map that drops a column makes one row of different ones, of which one choice may give this and another that.
    """
    if len(spec.pathways(channel)) == 1:
        return True
    node = spec.node(channel)
    if isinstance(node, Map):
        columns = {c.name for c in spec.columns(node.input)}
        kept = {e.sql for _, e in node.f.select}
        if node.f.each is not None or not columns <= kept:
            return False
    return not isinstance(node, Source) and all(keeps_apart(spec, name) for name in reads(node))


def filled(provenance: Provenance) -> Provenance:
    """With the empty relation where a delta claims nothing: what it adds and deletes does not depend on that."""
    return Provenance(entry or (0,) for entry in provenance)


def single(block: Block) -> bool:
    """Whether `block` reflects one snapshot of each input, so that there is but one content it can have."""
    return all(_single(t) for t in _ends(block))


def _ends(block: Block) -> list[Provenance]:
    return [block.target] if block.source is None else [block.source, block.target]


def _single(provenance: Provenance) -> bool:
    return all(len(entry) <= 1 for entry in provenance)


def _only(provenance: Provenance) -> Assignment:
    return next(iter(_assignments(provenance)))


def _assignments(provenance: Iterable[Entry]) -> list[Assignment]:
    return [tuple(map(int, choice)) for choice in product(*map(sorted, provenance))]
