"""What an operator variant reads and writes [2.3].

A signature is all the planner needs to know of an operator's meaning: which kinds it reads from each
input, how operands of one input fit together, whether it needs consistent inputs, and what it writes.
The provenance of the result follows: each input contributes a source and a target, and they are
concatenated in order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from olston.block import BASE, DELTA, Kind, is_delta


class Link(Enum):
    """How the two operands read from one input fit together, and the step `source ▷ target` they stand for."""

    EXACT = "B(T₁), Δ(T₁ ▷ T₂): the delta starts at the base"
    RELAXED = "B(T₁), Δ(T₂ ▷ T₃): the delta applies to the base; T₁ ▷ (T₁ \\ T₂) ∪ T₃"
    COMPLETES = "B(T₁), one-sided Δ: the base says what the delta leaves empty"
    PRECEDES = "B(T₁), B(T₂) with T₁ ≺ T₂"
    ABUTS = "Δ(T₁ ▷ T₂), Δ(T₂ ▷ T₃): a chain, T₁ ▷ T₃"


class Relaxed(Enum):
    """When the content of a delta stays right on a base that differs where the delta does not advance (DESIGN 3).

    A block on a channel with one pathway may always be applied: there is nothing else to differ in.
    """

    KEEPS = "linear in its operands: as far as every delta read may"
    IF_MONOTONE = "only if it read nothing but Δ⁺ that may, or replacements by a key of the fresh side"
    NEVER = "it read what the base holds, so it fits that base only"


@dataclass(frozen=True, slots=True)
class Reads:
    """The operands taken from one input channel: none, one, or two that fit together by `link`."""

    kinds: tuple[Kind, ...]
    link: Link = Link.EXACT


NOTHING = Reads(())
BASES = Reads((BASE,))
DELTAS = Reads((DELTA,))
BASE_AND_DELTA = Reads((BASE, DELTA))


@dataclass(frozen=True, slots=True)
class Signature:
    """Kinds read per input, consistency needed, kind written.

    `sync`: the target, and for a delta the source, must be consistent. `monotone`: a result made from
    `Δ⁺` alone is a `Δ⁺`. `relaxed`: see `Relaxed`.
    """

    reads: tuple[Reads, ...]
    writes: Kind
    sync: bool = False
    monotone: bool = False
    relaxed: Relaxed = Relaxed.NEVER
    incremental: bool = field(init=False)
    """Whether it writes a delta."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "incremental", is_delta(self.writes))

    def __str__(self) -> str:
        return f"{' ; '.join(','.join(r.kinds) or '∅' for r in self.reads)} → {self.writes}"
