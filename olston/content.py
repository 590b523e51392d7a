"""Where the rows of a block lie: an immutable anchor and an ordered overlay of deltas.

A base is an anchor, a Delta table written once, and the deltas not yet folded into it; a delta is a list of parts.
Applying a delta to a base, chaining deltas, and the difference of bases that share an anchor put such lists
together: nothing is read or written. Contents are what a catalog keeps; nothing else says what is readable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby, takewhile
from typing import Any

from olston.block import DELTA, MONOTONE, Block, Kind, is_strong
from olston.operators.operand import FEW
from olston.provenance import Stamp

PART = 10_000
"""Rows that are read in the time it takes to open one more part."""
LOOKED_UP = 500_000
"""Rows that are read in the time it takes to send changes around and to count what they touch, however few they are."""
LITTLE = 100_000
"""Rows that one task reads as soon as several would: changes are not looked up in so few, all are counted instead."""
TOLD_APART = 8
"""Parts up to which an error says which of them deletes what is not there; each costs a sum of all rows counted."""
COUNTED = 200_000
"""Rows that are read in the time that counting takes longer than reading, however few they are."""
MANY = 200_000
"""Rows from which on changes are taken to be too big to be sent around, so that what they change is shuffled."""
OF_ALL = 8
"""Increments with a row for so many, or fewer, below them are not looked up in them: all are added up as one."""
SHUFFLED = 3
"""Rows that are read in the time that one takes to be shuffled, to meet changes to it."""


@dataclass(frozen=True)
class Anchor:
    """A whole bag of rows in a Delta table of its own. `stamp` is that of its arrival, if it arrived.

    `table_id` is Delta's name of the table, another if it was deleted and made anew. `files` hold the rows, below the
    table, where that was noted, with `columns`, as a digest.
    """

    table: str
    attempt: str
    rows: int
    bytes: int
    stamp: Stamp | None = None
    table_id: str = ""
    files: tuple[str, ...] = ()
    columns: str = ""


@dataclass(frozen=True)
class Part:
    """The rows that one attempt wrote into a table of deltas; `label` is how errors call them.

    `plain`: every row is added once. `inverted`: what was added counts as deleted, and the other way round.
    `files` hold the rows, below the table, where that was noted.
    """

    table: str
    attempt: str
    kind: Kind
    rows: int
    bytes: int
    label: str
    plain: bool = False
    stamp: Stamp | None = None
    inverted: bool = False
    table_id: str = ""
    files: tuple[str, ...] = ()

    @property
    def monotone(self) -> bool:
        return self.kind == MONOTONE and not self.inverted

    def inverse(self) -> Part:
        return replace(self, inverted=not self.inverted)

    def undoes(self, other: Part) -> bool:
        """Whether it is the inverse of `other`: an attempt writes one block of a channel."""
        return (self.attempt, self.table, self.inverted) == (other.attempt, other.table, not other.inverted)


@dataclass(frozen=True)
class Content:
    """The rows of a block. Without an anchor, those of its parts, on top of nothing."""

    anchor: Anchor | None = None
    parts: tuple[Part, ...] = ()

    def then(self, later: Content) -> Content:
        """With the parts of `later` on top: a delta applied to a base, or chained to a delta.

        What is taken back that was just added, or the other way round, is not there at all.
        """
        parts = list(self.parts)
        for part in later.parts:
            i = len(parts) if is_strong(part.kind) else 0
            while i and is_strong(parts[i - 1].kind) and not part.undoes(parts[i - 1]):
                i -= 1
            if i and is_strong(parts[i - 1].kind):
                del parts[i - 1]
            else:
                parts.append(part)
        return replace(self, parts=tuple(parts))

    def until(self, newer: Content) -> Content | None:
        """What turns this base into `newer`, if that follows from what they consist of: `c^{BΔ}` for nothing."""
        if self.anchor != newer.anchor:
            return None
        shared = sum(1 for _ in takewhile(lambda p: p[0] == p[1], zip(self.parts, newer.parts, strict=False)))
        taken_back, added = self.parts[shared:], newer.parts[shared:]
        if not all(is_strong(p.kind) for p in taken_back + added):
            return None
        return Content(None, tuple(p.inverse() for p in reversed(taken_back))).then(Content(None, added))

    def moved(self, old: Content, new: Content) -> Content | None:
        """The same rows, with `new` in the place of `old`, which has the same rows too; if this lies over `old`."""
        count = len(old.parts)
        if self.anchor != old.anchor or self.parts[:count] != old.parts:
            return None
        return Content(new.anchor, new.parts + self.parts[count:])

    def arrived(self, stamp: Stamp) -> Content:
        """As known once the arrival was stamped."""
        anchor = None if self.anchor is None else replace(self.anchor, stamp=stamp)
        return Content(anchor, tuple(replace(p, stamp=stamp) for p in self.parts))

    @property
    def monotone(self) -> bool:
        """Whether no part deletes anything."""
        return all(p.monotone for p in self.parts)

    @property
    def plain(self) -> bool:
        """Whether every part adds each of its rows once."""
        return all(p.plain and p.monotone for p in self.parts)

    @property
    def rows(self) -> int:
        """The rows written, which is more than there are where some were taken back."""
        return (self.anchor.rows if self.anchor else 0) + sum(p.rows for p in self.parts)

    @property
    def counted(self) -> int | None:
        """How many rows there are, if that is known without reading them: nothing meets anything it may cancel."""
        pieces = len(self.parts) + (self.anchor is not None)
        return self.rows if pieces <= 1 or self.plain else None

    @property
    def bytes(self) -> int:
        return (self.anchor.bytes if self.anchor else 0) + self.overlay_bytes

    @property
    def overlay_bytes(self) -> int:
        return sum(p.bytes for p in self.parts)

    @property
    def overlay(self) -> float:
        """What reading it costs beyond reading its rows, in rows.

        Every part has to be opened. Parts that only add rows once are a union; a run of others is looked up in all
        that lies below it, which is read twice for that, or counted with it.
        """
        lying, found = Content(self.anchor), 0.0
        for _, parts in runs(self.parts):
            lying = Content(self.anchor, (*lying.parts, *parts))
            if not all(p.monotone for p in parts):
                found = _looked_up(found, lying.rows, sum(p.rows for p in parts), lying.little)
            found += PART * len(parts)
        return found

    @property
    def over(self) -> Kind:
        """The kind of the run of parts that lies on top; nothing if there is none."""
        return run_of(self.parts[-1].kind) if self.parts else ""

    @property
    def little(self) -> bool:
        """Whether one task reads it as soon as several would."""
        return is_little(self.rows, self.bytes)

    @property
    def label(self) -> str:
        """What errors call all of its parts."""
        first, last = (self.parts[i].label if self.parts else "" for i in (0, -1))
        return "; ".join(p.label for p in self.parts) if len(self.parts) < 4 else f"one of those from {first} to {last}"

    @property
    def root(self) -> str:
        """The attempt that wrote what lies lowest: bases with a root in common lead from one to the other."""
        return self.anchor.attempt if self.anchor else self.parts[0].attempt if self.parts else ""

    @property
    def attempts(self) -> frozenset[str]:
        """The attempts whose files it needs."""
        return frozenset(p.attempt for p in self.parts) | ({self.anchor.attempt} if self.anchor else set())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Content:
        anchor = fields["anchor"]
        parts = (Part(**{**p, "files": tuple(p.get("files", ()))}) for p in fields["parts"])
        kept = None if anchor is None else Anchor(**{**anchor, "files": tuple(anchor.get("files", ()))})
        return cls(kept, tuple(parts))


def told_apart(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    """The parts as an error tells them apart: each for itself, or if they are many, runs of them."""
    count, runs_ = len(parts), min(len(parts), TOLD_APART)
    return [tuple(parts[i * count // runs_ : (i + 1) * count // runs_]) for i in range(runs_)]


def is_little(rows: float, size: float) -> bool:
    """Whether so many rows, of so many bytes, are read by one task as soon as by several."""
    return rows <= LITTLE and size <= FEW


def runs(
    parts: Sequence[Part], adds: Callable[[Part], bool] = lambda part: part.monotone
) -> Iterator[tuple[Kind, Sequence[Part]]]:
    """The parts of an overlay that are read together, in order, and their kind.

    Of strong ones in a row, those that only `adds` and lie below all others are apart: they need not be looked up.
    """
    for kind, run in groupby(parts, lambda p: run_of(p.kind)):
        together = tuple(run)
        added = len(tuple(takewhile(adds, together))) if kind == DELTA else 0
        yield from ((kind, some) for some in (together[:added], together[added:]) if some)


def run_of(kind: Kind) -> Kind:
    """What parts have in common that are read together."""
    return DELTA if is_strong(kind) else kind


def concerns_all(changes: float, rows: float) -> bool:
    """Whether increments to `rows` are so many that all are added up, rather than those looked up that change."""
    return OF_ALL * changes > rows


def laid_over(base: Block, delta: Block) -> float:
    """The overlay to expect of `base` with `delta` on top; changes that follow changes of their kind are looked up
    together with them."""
    if delta.kind == MONOTONE:
        return base.overlay + PART
    rows = base.rows + delta.rows
    found = _looked_up(base.overlay, rows, delta.rows, rows <= LITTLE)
    alone = _looked_up(0.0, rows, delta.rows, rows <= LITTLE)
    together = base.over in ("", run_of(delta.kind)) and base.overlay >= alone - delta.rows
    return PART + (base.overlay + delta.rows if together else found)


def _looked_up(below: float, rows: float, changes: float, little: bool) -> float:
    """The overlay of what lies `below` with `changes` brought to it, which are among `rows` then."""
    if little:
        return below + COUNTED + rows
    shuffled = changes > MANY or concerns_all(changes, rows - changes)
    return below + LOOKED_UP + SHUFFLED * rows if shuffled else 2 * below + LOOKED_UP + rows
