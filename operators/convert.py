"""Converters between block kinds, on every channel [2.4].

`c^{ΔB}` and `c^{BΔ}` are built in; those of a weak representation come with it. They act just like any
other operator, but read and write the same channel, so declared bounds do not bind on what they read.
"""

from __future__ import annotations

from olston.block import BASE, DELTA, Kind
from olston.operators.signature import Link, Reads, Relaxed, Signature

APPLY = Signature((Reads((BASE, DELTA), Link.RELAXED),), BASE)
"""`c^{ΔB}`: B(T₁), Δ(T₂ ▷ T₃) → B((T₁ \\ T₂) ∪ T₃)."""

DIFFERENCE = Signature((Reads((BASE, BASE), Link.PRECEDES),), DELTA)
"""`c^{BΔ}`: B(T₁), B(T₂) → Δ(T₁ ▷ T₂)."""

COMPLETE = Signature((Reads((BASE, DELTA), Link.COMPLETES),), DELTA, monotone=True, relaxed=Relaxed.KEEPS)
"""B(T), one-sided Δ → Δ(T ▷ T′): free, so that readers of `B,Δ` pairs can follow a one-sided union."""


def apply_weak(kind: Kind) -> Signature:
    """`c^{δB}`: B(T₁), δ(T₂ ▷ T₃) → B((T₁ \\ T₂) ∪ T₃)."""
    return Signature((Reads((BASE, kind), Link.RELAXED),), BASE)


def strengthen(kind: Kind) -> Signature:
    """`c^{δΔ}`: B(T₁), δ(T₁ ▷ T₂) → Δ(T₁ ▷ T₂). It reads what the base holds, so the result fits that base only."""
    return Signature((Reads((BASE, kind)),), DELTA)


def weaken(kind: Kind) -> Signature:
    """`c^{Δδ}`: Δ(T₁ ▷ T₂) → δ(T₁ ▷ T₂), without reference to the old base."""
    return Signature((Reads((DELTA,)),), kind, relaxed=Relaxed.KEEPS)


def weak_difference(kind: Kind) -> Signature:
    """`c^{Bδ}`: B(T₁), B(T₂) → δ(T₁ ▷ T₂)."""
    return Signature((Reads((BASE, BASE), Link.PRECEDES),), kind)
