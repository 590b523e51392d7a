"""What came of a step: of every invocation in it, the work that was done and its share of the seconds.

A step may be one job of several variants and a delivery. What each of them took cannot be seen, so the seconds are
shared out as the model expected them, now that the sizes are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from olston.block import BASE, MONOTONE, Block
from olston.fuse import Key, parts_of, step_of
from olston.scheduler.cost import delivery_to
from olston.scheduler.outcome import Outcome
from olston.scheduler.plan import Invocation
from olston.scheduler.price import Priced
from olston.scheduler.ways import FEED, DeliveryPriced, Way
from olston.step import Inline, Stored, linked
from olston.workflow import Workflow

_WRITTEN_AS_SUCH = (BASE, MONOTONE)  # what else is delivered changes other rows of the table

Find = Callable[[Block], Stored]


def outcomes(
    workflow: Workflow,
    step: Invocation,
    within: Mapping[Key, Invocation],
    find: Find,
    made: Sequence[Block],
    seconds: float,
    way: Way | None = None,
    recalled: Collection[Key] = (),
) -> list[dict[str, Any]]:
    """The outcomes of `step` and all that was done within it, which made `made` in `seconds`.

    `way` is how it delivered, if it did; the bases `recalled` were read from memory, with nothing to resolve. What was
    a matter of the catalog has none.
    """
    if not step.is_delivery and linked(workflow, step_of(step, find, within)) is not None:
        return []
    rows = tuple(b.rows for b in made) if _is_counted(step, within, find, way) else None
    parts = list(_parts(step, within, lambda b: _resolved(find(b), recalled), rows, way))
    total = sum(cost for cost, _ in parts)
    if not total:
        return []
    return [o.to_dict() | {"seconds": seconds * cost / total} for cost, o in parts]


def _resolved(stored: Stored, recalled: Collection[Key]) -> Stored:
    """`stored` as it is read: without an overlay, if it is read from memory."""
    b = stored.block
    return Stored(_with_rows(b, b.rows), stored.content) if b.key in recalled else stored


def counted(source: Stored | Inline, rows: float) -> Block:
    """The block delivered, with the number of rows that were written for it where it was written as such."""
    return _with_rows(source.block, rows) if source.block.kind in _WRITTEN_AS_SUCH else source.block


def _with_rows(b: Block, rows: float) -> Block:
    """The same block with so many rows, and no overlay."""
    return Block(b.channel, b.kind, b.target, b.source, rows, b.relaxed, b.id)


def _is_counted(step: Invocation, within: Mapping[Key, Invocation], find: Find, way: Way | None) -> bool:
    """Whether the rows of what a step made were counted: what it delivers may be put together, or change others."""
    if not step.is_delivery:
        return True
    given = step.operands[-1]
    stored = None if given.key in within else find(given)
    if way != FEED and (given if stored is None else stored.block).kind in _WRITTEN_AS_SUCH:
        return True
    return stored is not None and stored.content.counted is not None


def _parts(
    invocation: Invocation,
    within: Mapping[Key, Invocation],
    find: Find,
    rows: tuple[float, ...] | None,
    way: Way | None = None,
) -> Iterator[tuple[float, Outcome]]:
    """Each invocation with what it should have cost; `rows` is what came out of this one, where that is known."""
    operands = invocation.operands[-1:] if invocation.is_delivery else invocation.operands
    stored = {b.key: find(b) for b in operands if b.key not in within}
    blocks = [stored[b.key].block if b.key in stored else b for b in operands]
    price = invocation.operator.price
    resolved = stored.values() if not isinstance(price, Priced) or price.resolves else ()
    overlaid = tuple((s.content.root, s.block.overlay) for s in resolved if s.block.overlay)
    expected = tuple(b.rows for b in (operands if invocation.is_delivery else invocation.results))
    if isinstance(price, DeliveryPriced):
        given = blocks[0]
        if rows is not None:
            given = Block.planned(given.key, rows[0], given.relaxed, given.overlay)
        done = way or price.ways(given)[0]
        widget, variant, converter = delivery_to(price.output), str(done), True
        work, rates = price.work(given, done), price.rates(done)
        below = rows if given.kind in _WRITTEN_AS_SUCH else None
    elif isinstance(price, Priced):
        widget, variant, converter = price.widget, price.operator.name, price.converter
        work, rates = price.work(blocks), price.rates
        work.written = work.written if rows is None else rows
        below = None
    else:
        return
    read = tuple((b.kind, b.rows) for b in blocks)
    yield (
        rates.cost(work),
        Outcome(widget, variant, read, work, rows, expected, 0.0, invocation.cost, converter, overlaid),
    )
    for made in parts_of(invocation, within):
        yield from _parts(made, within, find, below if len(made.results) == 1 else None)
