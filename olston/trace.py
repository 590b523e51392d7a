"""Which snapshots single rows of a channel may come from.

The provenance of a channel speaks of all its rows. A row that is there since an earlier delivery was in what the
consumer held then, and one that a delivery brought was in what it brought; so a row comes from those snapshots of the
present provenance that are also in the one that came with it. Where an entry has none of those left, it advanced
without touching the row, and the present ones hold. What was there before all rows were replaced says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlmodel import Session, col, select

from olston.block import BASE
from olston.catalog.records import BlockRecord, DeliveryRecord, StepRecord
from olston.errors import SchemaError
from olston.failure import reason
from olston.provenance import Entry, Provenance, Stamp
from olston.report import OUTDATED, ProvenanceOf, Shown, add_names, moment, moments
from olston.state import State, unpack

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.console import RenderableType

ROWS = 10
"""Rows that are traced at most."""
LOOK = 50
"""Deliveries that are looked back at."""

_TARGET = re.compile(r"▷ ⟨(.*)⟩\)$")


@dataclass(frozen=True)
class Traced:
    """A row, the delivery it is there since (none of a channel that is no output), and the snapshots by pathway."""

    row: dict[str, Any]
    since: Stamp | None
    snapshots: tuple[tuple[Stamp, ...], ...]


@dataclass(frozen=True, repr=False)
class TraceOf(Shown):
    """The snapshots that rows of a channel may come from; `more` rows than those shown match."""

    whole: ProvenanceOf
    where: str
    rows: tuple[Traced, ...]
    more: bool = False

    def to_dict(self) -> dict[str, Any]:
        def pathways(traced: Traced) -> list[dict[str, Any]]:
            parts = zip(self.whole.pathways, traced.snapshots, strict=True)
            return [{"index": p.index, "name": p.name, "input": p.input, "snapshots": [*s]} for p, s in parts]

        rows = [{"row": t.row, "since": t.since, "pathways": pathways(t)} for t in self.rows]
        whole = {"channel": self.whole.channel, "outdated": self.whole.outdated}
        return {**whole, "where": self.where, "rows": rows, "more": self.more}

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        if not self.rows:
            return Text(f"{self.whole.channel} has no row where {self.where}")
        parts: list[RenderableType] = []
        for traced in self.rows:
            since = "" if traced.since is None else f", there since {moment(traced.since)}"
            parts.append(Text(", ".join(f"{k}={v}" for k, v in traced.row.items()) + since))
            table = Table(box=None, pad_edge=False, padding=(0, 1))
            table.add_column("")
            add_names(table, "pathway", [p.name for p in self.whole.pathways])
            table.add_column("may come from", overflow="fold")
            for p, snapshots in zip(self.whole.pathways, traced.snapshots, strict=True):
                table.add_row(str(p.index), Text(p.name), moments(snapshots))
            parts.append(table)
        outdated = [Text(OUTDATED)] if self.whole.outdated else []
        return Group(*parts, *(["and more rows"] if self.more else []), *outdated)


@dataclass(frozen=True)
class Brought:
    """A delivery: what the consumer held since, and what the block that it brought stands for."""

    record: DeliveryRecord
    content: Provenance
    block: Provenance | None
    """`None` if it replaced all there was, or is not known any more."""


def deliveries(db: Session, state: State, last: DeliveryRecord) -> list[Brought]:
    """`last` and the deliveries before it by the same definition, the newest first."""
    known = select(DeliveryRecord).where(
        DeliveryRecord.workflow == last.workflow,
        DeliveryRecord.output == last.output,
        DeliveryRecord.number <= last.number,
        DeliveryRecord.digest == last.digest,
    )
    inputs = state.network.inputs[last.output]
    found = []
    for record in db.exec(known.order_by(col(DeliveryRecord.number).desc()).limit(LOOK)):
        if len(record.content) != len(inputs):
            break
        content = state.unpack(last.output, record.content)
        found.append(Brought(record, content, _delta(db, state, record)))
        if found[-1].block is None:
            break
    return found


def _delta(db: Session, state: State, delivery: DeliveryRecord) -> Provenance | None:
    """The target of the delta that a delivery brought, if it was one, and the catalog knows it still."""
    inputs = state.network.inputs[delivery.output]
    block = db.get(BlockRecord, delivery.block)
    if block is not None:
        return None if block.kind == BASE else unpack(state.timelines, inputs, block.target)
    step = db.get(StepRecord, delivery.block)  # what went straight into the table has the name of the attempt
    said = None if step is None or not step.operands else _TARGET.search(step.operands[-1])
    if said is None:
        return None
    entries = re.findall(r"\{([^}]*)\}", said[1])
    if len(entries) != len(inputs):
        return None
    return Provenance(frozenset(int(s) for s in e.split(",") if s) for e in entries)


def trace(
    whole: ProvenanceOf,
    where: str,
    now: DataFrame,
    before: Sequence[Brought],
    held: Callable[[DeliveryRecord], DataFrame],
) -> TraceOf:
    """The rows of `now` where a condition holds; `before` are the deliveries that led there, the newest first."""
    rows = _rows(now, where, ROWS + 1)
    more, rows = len(rows) > ROWS, dict(list(rows.items())[:ROWS])
    missing, since = dict(rows), dict[str, Brought]()
    for brought in before:
        if not missing:
            break
        there = rows if brought is before[0] else _rows(held(brought.record), where)
        missing = {key: row for key, row in missing.items() if key in there}
        since |= dict.fromkeys(missing, brought)
    traced = tuple(
        Traced(row, since[key].record.delivered_at if key in since else None, _snapshots(whole.content, since.get(key)))
        for key, row in rows.items()
    )
    return TraceOf(whole, where, traced, more)


def _snapshots(now: Provenance, brought: Brought | None) -> tuple[tuple[Stamp, ...], ...]:
    if brought is None:
        return tuple(tuple(sorted(entry)) for entry in now)
    return tuple(
        tuple(sorted(_first(entry & block, entry & content, entry)))
        for entry, content, block in zip(now, brought.content, brought.block or brought.content, strict=True)
    )


def _first(*entries: Entry) -> Entry:
    """The first that claims something."""
    return next((e for e in entries if e), entries[-1])


def _rows(frame: DataFrame, where: str, limit: int | None = None) -> dict[str, dict[str, Any]]:
    """Rows where a condition holds, by what they are."""
    import json

    from pyspark.sql import functions as F

    from olston.operators.columns import col as column

    try:
        chosen = frame.where(where)
        whole = F.to_json(F.struct(*[column(c) for c in frame.columns]), {"ignoreNullFields": "false"})
        found: Iterable[Any] = (chosen if limit is None else chosen.limit(limit)).select(whole).collect()
    except Exception as error:
        raise SchemaError(f"--where {where}: {reason(error)} The columns are {', '.join(frame.columns)}.") from error
    return {row[0]: json.loads(row[0]) for row in found}
