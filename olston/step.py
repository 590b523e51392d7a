"""One step of a plan: an operator on blocks, and its results as blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston import table
from olston.block import BASE, Block, Kind, is_strong, is_weak
from olston.content import Content
from olston.errors import OlstonError
from olston.failure import failed
from olston.operators import bag
from olston.operators.chain import Chain
from olston.operators.columns import View
from olston.operators.convert import Apply, ApplyWeak, Complete, Difference, Strengthen
from olston.operators.join import ReplaceLeftJoin, ReplaceRightJoin, SupersedingRightJoin
from olston.operators.map import ReplaceMap
from olston.operators.operand import Operand
from olston.operators.operator import Operator
from olston.operators.weak import Increment, WeakDelta
from olston.report import called
from olston.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from olston.workflow import Workflow

KEEPS_KEYS = (ReplaceMap, ReplaceLeftJoin, ReplaceRightJoin, SupersedingRightJoin)
"""Operators whose result supersedes the keys that an operand has."""


@dataclass(frozen=True)
class Stored:
    """A block that exists, and where its rows lie."""

    block: Block
    content: Content


@dataclass(frozen=True)
class Step:
    """An operator, called `name`, applied to `operands`, whose results are to be known as `results`."""

    name: str
    operator: Operator
    operands: tuple[Stored | Inline, ...]
    results: tuple[Block, ...]


@dataclass(frozen=True)
class Inline:
    """A block that is not written: its rows are made within the job of the step that reads it."""

    block: Block
    step: Step


def linked(workflow: Workflow, step: Step) -> Content | None:
    """The content of the result where it follows from the contents of the operands: no job, nothing written."""
    contents = [o.content for o in step.operands if isinstance(o, Stored)]
    if isinstance(step.operator, Apply | ApplyWeak | Chain):
        return contents[0].then(contents[1])
    if isinstance(step.operator, Complete):
        return contents[1]
    if isinstance(step.operator, Difference):
        found = contents[0].until(contents[1])
        # what is taken back does not say when what it deleted had arrived
        if found and step.results[0].channel in workflow.arrivals and any(p.inverted for p in found.parts):
            return None
        return found
    return None


def run(
    store: Store, session: SparkSession, step: Step, attempt: str, said: Mapping[str, Any] | None = None
) -> tuple[Stored, ...]:
    """The results of `step`, written by `attempt` where there is anything to write; commits also say `said`.

    If it fails, nothing that was readable has changed, and what was written is known to nobody. `session` must not be
    used by another thread meanwhile.
    """
    known = linked(store.workflow, step)
    if known is not None:
        block = _committed(step.results[0], _kind(step.results[0].kind, known), None, attempt)
        if block.is_base:
            block.overlay, block.over = known.overlay, known.over
        return (Stored(block, known),)
    try:
        frames = [table.within(session, frame) for frame in rows(store, session, step)]
        return tuple(_write(store, step, i, frame, attempt, said or {}) for i, frame in enumerate(frames))
    except OlstonError:
        raise
    except Exception as error:
        raise failure(step, error) from error


def rows(store: Store, session: SparkSession, step: Step) -> tuple[DataFrame, ...]:
    """The rows of the results of `step`, not computed yet."""
    if isinstance(step.operator, Strengthen):
        made = _strengthened(store, session, step.operator.weak, *step.operands)
        if made is not None:
            return (made,)
    return step.operator.run([operand(store, session, o, step.operator.view) for o in step.operands])


def _strengthened(
    store: Store, session: SparkSession, representation: WeakDelta, old: Stored | Inline, weak: Stored | Inline
) -> DataFrame | None:
    """What a weak delta comes to where the converter alone would not do, or would do more than it has to."""
    if not isinstance(old, Stored) or not isinstance(weak, Stored):
        return None
    channel, base = old.block.channel, old.content
    if not representation.chains and len(weak.content.parts) > 1:
        both = (base, base.then(weak.content))
        return bag.difference(*[store.read(session, channel, BASE, content) for content in both])
    if isinstance(representation, Increment) and base.parts and {p.kind for p in base.parts} == {representation.kind}:
        # of what lies over the base, only the groups of this delta have to be added up
        changes = store.operand(session, channel, weak.block.kind, weak.content)
        return representation.strengthened(store.pieces(session, channel, base), changes, among=base.label)
    return None


def operand(store: Store, session: SparkSession, source: Stored | Inline, view: View) -> Operand:
    """A block as a reader sees it."""
    block = source.block
    if isinstance(source, Stored):
        found = store.operand(session, block.channel, block.kind, source.content)
    else:
        position = [b.channel for b in source.step.results].index(block.channel)
        made = store.shaped(block.channel, block.kind, rows(store, session, source.step)[position])
        found = Operand(made, block.kind, size(source), labelled(block, source.step.name))
    return found.seen(view)


def given(store: Store, session: SparkSession, source: Stored | Inline) -> Operand:
    """A block as a consumer sees it. What is made on the way fails as a step of its own would."""
    try:
        return operand(store, session, source, View.PUBLIC)
    except OlstonError:
        raise
    except Exception as error:
        if isinstance(source, Inline):
            raise failure(source.step, error) from error
        raise failed(f"{called(source.block)}: could not be read", error) from error


def superseding(store: Store, session: SparkSession, source: Stored | Inline) -> DataFrame | None:
    """Rows with the keys that a weak delta supersedes; `None` of another block.

    What is made within the job has the keys of what it is made from, so that to know them nothing need be computed.
    """
    if not is_weak(source.block.kind):
        return None
    step = source.step if isinstance(source, Inline) else None
    if step is None or not isinstance(step.operator, KEEPS_KEYS):
        return operand(store, session, source, View.PUBLIC).rows
    if isinstance(step.operator, SupersedingRightJoin):
        return step.operator.given(operand(store, session, step.operands[1], View.PUBLIC))
    return superseding(store, session, next(o for o in step.operands if is_weak(o.block.kind)))


def size(source: Stored | Inline) -> float:
    """Bytes recorded of a block; of one that is not written, of what it is made from."""
    if isinstance(source, Stored):
        return source.content.bytes
    if isinstance(source.step.operator, Strengthen):  # of the base it has no more than what the weak delta changes
        return 2 * size(source.step.operands[1])
    return sum(size(o) for o in source.step.operands)


def failure(step: Step, error: Exception) -> OlstonError:
    """What to tell of a step that failed on Spark: with all that is done in its job, and the blocks that this reads."""
    names, read = _told(step)
    return failed(f"{names}: failed reading {read}", error)


def origin(source: Stored | Inline) -> str:
    """How errors tell of a block what is done to make it within the job that reads it, and from which blocks."""
    if isinstance(source, Stored):
        return ""
    names, read = _told(source.step)
    return f", made by {names} reading {read}"


def _told(step: Step) -> tuple[str, str]:
    """The steps done in the job of `step`, and the blocks that these read."""
    parts = within(step).values()
    read = dict.fromkeys(called(o.block) for p in parts for o in p.operands if isinstance(o, Stored))
    return " + ".join(p.name for p in parts), ", ".join(read)


def within(step: Step) -> dict[str, Step]:
    """The steps done in the job of `step` by name, itself last; a split of which it reads two results is one."""
    made: dict[str, Step] = {}
    for source in step.operands:
        if isinstance(source, Inline):
            made |= within(source.step)
    return {**made, step.name: step}


def _write(store: Store, step: Step, position: int, frame: DataFrame, attempt: str, said: Mapping[str, Any]) -> Stored:
    block = step.results[position]
    name = attempt if len(step.results) == 1 else f"{attempt}.{position}"
    metadata = {**describe(block, name, step.name), "inputs": [o.block.id for o in step.operands], **said}
    if block.kind == BASE:
        content = store.write_base(block.channel, frame, attempt, metadata)
        assert content.anchor is not None
        return Stored(_committed(block, BASE, content.anchor.rows, name), content)
    label = labelled(block, step.name)
    kind, content = store.write_delta(block.channel, block.kind, frame, attempt, metadata, label)
    return Stored(_committed(block, kind, content.parts[0].rows, name), content)


def describe(block: Block, name: str, producer: str) -> Mapping[str, Any]:
    """What the commit of a block says of it, enough to know it again without a catalog."""
    return {
        "block": name,
        "channel": block.channel,
        "kind": block.kind,
        "source": None if block.source is None else [sorted(e) for e in block.source],
        "target": [sorted(e) for e in block.target],
        "relaxed": block.relaxed,
        "producer": producer,
    }


def labelled(block: Block, producer: str) -> str:
    """How errors call what was written of a block."""
    return f"{called(block)}, made by {producer}"


def _kind(planned: Kind, content: Content) -> Kind:
    """A strong delta is a `Δ⁺` if none of its parts deletes."""
    return ("Δ⁺" if content.monotone else "Δ") if is_strong(planned) else planned


def _committed(block: Block, kind: Kind, rows: float | None, name: str) -> Block:
    known = block.rows if rows is None else rows
    return Block(block.channel, kind, block.target, block.source, known, block.relaxed, name)
