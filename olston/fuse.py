"""Which results of a plan are not written: those that are made inside the job of the only step that reads them.

A stateless step whose result is read once, physically, by one step of the same plan costs no job, no commit and no
file of its own, nor does a split of which one step reads all the results that are read; nor does a strong delta made
from a weak one, which is kept and says the same. What is made for a consumer and read by nobody else is written once,
into the published table (DESIGN 4). But what no consumer holds and a policy forbids to make again is written.
Everything else a plan makes is written, since the next plan may stand on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from olston.block import BASE, DELTA, MONOTONE, Block, fits, is_delta, is_strong
from olston.operators.aggregate import BatchAggregate, IncrementAggregate
from olston.operators.convert import Strengthen
from olston.operators.join import AsyncLeftJoin, AsyncRightJoin, BatchJoin, SupersedingRightJoin
from olston.operators.map import BatchMap, IncrementalMap, Project, ReplaceMap
from olston.operators.operator import Operator
from olston.operators.union import AnyUnion
from olston.scheduler.network import Output, Recompute, Variant
from olston.scheduler.plan import Invocation
from olston.scheduler.ways import SUPERSEDE, DeliveryPriced
from olston.step import KEEPS_KEYS, Inline, Step, Stored

_STATELESS = (BatchMap, IncrementalMap, ReplaceMap, AnyUnion)

Key = tuple[object, ...]


def unwritten(
    steps: Sequence[Invocation], written: Collection[str] = (), read: Collection[str] = ()
) -> dict[Key, Invocation]:
    """The results that need not be written, with what makes them.

    Those on the channels `written` must be; the channels `read` have readers in the workflow, or will be read by what
    follows.
    """
    readers: dict[Key, list[Invocation]] = {}
    for step in steps:
        for block in step.operands:
            readers.setdefault(block.key, []).append(step)
    made = {block.key for step in steps for block in step.results}
    chains = [b for step in steps for b in step.operands if is_delta(b.kind) and b.key not in made]
    found: dict[Key, Invocation] = {}
    for step in reversed(steps):  # how a split is read is known before what it reads is looked at
        if isinstance(step.operator, Output) or any(r.channel in written for r in step.results):
            continue
        if any(b.channel == r.channel and fits(r.kind, b.kind) for b in chains for r in step.results):
            continue  # it may be part of what another step reads
        reading = [(result, reader) for result in step.results for reader in readers.get(result.key, [])]
        once = len({result.key for result, _ in reading}) == len(reading) and len({id(r) for _, r in reading}) == 1
        if once and all(_within(step, result, reader, found, readers, read) for result, reader in reading):
            found |= {result.key: step for result in step.results}
    return found


def _within(
    step: Invocation,
    result: Block,
    reader: Invocation,
    found: Mapping[Key, Invocation],
    readers: Mapping[Key, Sequence[Invocation]],
    read: Collection[str],
) -> bool:
    """Whether `reader` may make a result of `step` in its own job; `found` is what readers of its own results make."""
    assert isinstance(step.operator, Variant)
    stateless = isinstance(step.operator.operator, _STATELESS)
    if isinstance(reader.operator, Output):
        # another delta with deletions is read several times to be delivered
        once = result.kind in (BASE, MONOTONE) or (
            isinstance(step.operator.operator, KEEPS_KEYS) and _supersedes(reader.operator, result)
        )
        made_for_it = result.channel not in read and step.operator.foreign and once
        if len(step.results) > 1:
            return stateless and (made_for_it or result.kind != BASE)
        return stateless or made_for_it
    if len(reader.results) > 1 and (
        reader.results[0].key not in found or sum(r.key in readers for r in reader.results) > 1
    ):
        return False  # each result of a split is made apart
    if step.operator.recompute is not Recompute.ALLOWED:
        return False  # what must not be made anew is kept
    strengthened = isinstance(step.operator.operator, Strengthen)
    return (stateless or strengthened) and _reads_once(reader.operator.operator, result)


def _supersedes(consumer: Output, block: Block) -> bool:
    """Whether rows are to take the place of those of their keys, which are known without them."""
    return isinstance(consumer.price, DeliveryPriced) and consumer.price.ways(block)[0] == SUPERSEDE


def step_of(invocation: Invocation, stored: Callable[[Block], Stored], inline: Mapping[Key, Invocation]) -> Step:
    """`invocation` as it is run, with the operands that are not written made within."""
    variant = invocation.operator
    assert isinstance(variant, Variant)
    assert variant.operator is not None
    operands = tuple(source_of(b, stored, inline) for b in invocation.operands)
    return Step(variant.name, variant.operator, operands, invocation.results)


def parts_of(invocation: Invocation, inline: Mapping[Key, Invocation]) -> list[Invocation]:
    """What is done within `invocation` to make its operands, each once: a split may make several."""
    made = {id(inline[b.key]): inline[b.key] for b in invocation.operands if b.key in inline}
    return list(made.values())


def source_of(block: Block, stored: Callable[[Block], Stored], inline: Mapping[Key, Invocation]) -> Stored | Inline:
    """Where the rows of `block` come from."""
    made = inline.get(block.key)
    return stored(block) if made is None else Inline(block, step_of(made, stored, inline))


def _reads_once(operator: Operator | None, operand: Block) -> bool:
    """Whether `operator` scans such an operand once: a function twice in one job would cost as much as writing."""
    if isinstance(operator, IncrementalMap | ReplaceMap):
        return operand.kind != DELTA or isinstance(operator.function, Project)
    if isinstance(operator, AsyncLeftJoin):
        return operator.how == "inner"
    if isinstance(operator, SupersedingRightJoin):
        return operand.is_base
    once = (BatchMap, AnyUnion, BatchAggregate, IncrementAggregate, BatchJoin, AsyncRightJoin)
    return isinstance(operator, once) and (operand.is_base or is_strong(operand.kind))
