"""Chaining: abutting deltas act as one, at no cost [2.3, footnote 6]."""

from __future__ import annotations

from olston.block import DELTA, Kind
from olston.operators.signature import Link, Reads, Relaxed, Signature


def chain(kind: Kind) -> Signature:
    """Δ(T₁ ▷ T₂), Δ(T₂ ▷ T₃) → Δ(T₁ ▷ T₃); of two `Δ⁺` a `Δ⁺`, of two δ_k a δ_k."""
    return Signature(
        (Reads((kind, kind), Link.ABUTS),), kind, monotone=kind == DELTA, relaxed=Relaxed.KEEPS
    )
