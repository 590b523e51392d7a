"""Data blocks: the atoms of scheduling [2.2].

`B(T)` base, `Δ(T₁ ▷ T₂)` strong delta, `Δ⁺(T₁ ▷ T₂)` one without deletions, `δ_k(T₁ ▷ T₂)` weak delta of
representation `k`. Rows are a bag: a strong delta is rows with an integer weight, netted; a base has
every row as often as its multiplicity.
"""

from __future__ import annotations

from typing import TypeAlias

from olston.errors import BlockError, ProvenanceError
from olston.provenance import Provenance, Stamp

Kind: TypeAlias = str

BASE: Kind = "B"
DELTA: Kind = "Δ"
MONOTONE: Kind = "Δ⁺"
WEAK = "δ_"


def weak(representation: str) -> Kind:
    """The kind of a weak delta of `representation`."""
    return WEAK + representation


def is_weak(kind: Kind) -> bool:
    return kind.startswith(WEAK)


def is_strong(kind: Kind) -> bool:
    return kind in (DELTA, MONOTONE)


def is_delta(kind: Kind) -> bool:
    return kind != BASE


def laid(key: tuple[object, ...]) -> tuple[object, ...]:
    """The vertex of the base `key` made by laying a delta over another one."""
    return (*key, "laid over")


def fits(kind: Kind, wanted: Kind) -> bool:
    """Whether an operand of `kind` may stand where `wanted` is read: a `Δ` operand also takes a `Δ⁺`."""
    return kind == wanted or (kind == MONOTONE and wanted == DELTA)


class Block:
    """One block; two blocks are equal when channel, kind and provenance are. A value: never changed once made.

    `source` is `None` for bases. `relaxed` says whether the *content* stays right when the block is
    applied to a base that differs where the block does not advance; see `olston.operators.signature`.
    `rows` is exact once committed, an estimate while planned; `overlay` is what reading a base costs beyond reading
    its rows, in rows, and `over` the kind of what lies on top of it, if known (see `olston.content`). `vertex` is the
    block in a search: two ways to make one base, laid over another or written whole, are two vertices, since reading
    what they make costs differently.
    """

    __slots__ = ("channel", "id", "key", "kind", "over", "overlay", "relaxed", "rows", "source", "target", "vertex")

    def __init__(
        self,
        channel: str,
        kind: Kind,
        target: Provenance,
        source: Provenance | None = None,
        rows: float = 0,
        relaxed: bool = True,
        id: str = "",
        overlay: float = 0,
    ) -> None:
        self.channel, self.kind, self.target, self.source = channel, kind, target, source
        self.rows, self.relaxed, self.id, self.overlay, self.over = rows, relaxed, id, overlay, ""
        self.key = (channel, kind, source, target)
        self.vertex: tuple[object, ...] = self.key
        fault = self._fault()
        if fault:
            raise BlockError(f"{self.channel or '(no channel)'}: block {self}: {fault}")

    @classmethod
    def planned(
        cls,
        key: tuple[str, Kind, Provenance | None, Provenance],
        rows: float,
        relaxed: bool,
        overlay: float = 0,
    ) -> Block:
        """A block that the planner derived from others by a signature: sound by construction, so not checked again."""
        made = cls.__new__(cls)
        made.channel, made.kind, made.source, made.target = made.key = made.vertex = key
        made.rows, made.relaxed, made.id, made.overlay, made.over = rows, relaxed, "", overlay, ""
        return made

    def _fault(self) -> str | None:
        if not self.channel:
            return "a block is on a channel; name it."
        if not (self.kind == BASE or is_strong(self.kind) or (is_weak(self.kind) and len(self.kind) > len(WEAK))):
            return f"kind {self.kind!r} is none of B, Δ, Δ⁺, δ_<representation>."
        if not self.rows >= 0:
            return f"{self.rows} rows; a block has 0 rows or more."
        if self.kind == BASE:
            if self.source is not None:
                return "a base stands on its own; only deltas have a source."
            if self.target.has_empty_entry:
                return "a base reflects every pathway; empty entries occur in deltas only."
            return None
        if self.source is None:
            return "a delta needs the source it starts from."
        try:
            progress = self.source.precedes(self.target)
        except ProvenanceError:
            return "source and target differ in the number of pathways."
        if not progress:
            return "the source of a delta precedes its target (≺); this one makes no progress."
        return None

    @property
    def is_base(self) -> bool:
        return self.kind == BASE

    @property
    def stamp(self) -> Stamp:
        """The newest input snapshot reflected; of an arrival, its own stamp."""
        return max(high for high in self.target.newest if high is not None)

    @property
    def obscure(self) -> bool:
        """Whether it fits one base only, and provenance does not tell which: snapshots mix in what it starts from.

        Where they do, rows were paired as the plans had it that made them, and another content of equal provenance may
        be paired otherwise.
        """
        return not self.relaxed and self.source is not None and self.source.mixes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Block) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<Block {self.id + ' ' if self.id else ''}{self} {self.rows:g} rows>"

    def __str__(self) -> str:
        if self.source is None:
            return f"{self.channel}: {self.kind}({self.target})"
        return f"{self.channel}: {self.kind}({self.source} ▷ {self.target})"
