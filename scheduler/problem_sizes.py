"""Prices as lines: what the invocations of a variant cost around the sizes that blocks have.

Problem files know prices that are linear in the sizes of operands. Those of an engine nearly are; where they bend, at
groups that are met again or at a limit, the tangent at the sizes there are takes their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from olston.block import MONOTONE, Block, Kind
from olston.provenance import Provenance
from olston.scheduler.decide import Decision
from olston.scheduler.network import Variant
from olston.scheduler.problem import Problem

Operands: TypeAlias = tuple[tuple[str, Kind], ...]

_ANY = Provenance.at(1)
_ROUNDS = 3
"""How often sizes are passed on from channel to channel: converters go to and fro between kinds."""


@dataclass(frozen=True)
class Line:
    """Cost and sizes of results: what they are at 0, and per row of each operand; cost also per row of overlay."""

    fixed: float
    per_operand: list[float]
    per_overlay: float
    sizes: list[tuple[float, list[float]]]


class Sizes:
    """The sizes that operands have: in the plan, else of blocks that exist, else as estimates make them."""

    def __init__(self, problem: Problem, decision: Decision) -> None:
        self._planned: dict[Operands, list[float]] = {}
        for step in decision.work:
            if isinstance(step.operator, Variant):  # variants that read the same are compared at the same sizes
                self._planned.setdefault(operands(step.operator), [b.rows for b in step.operands])
        self._typical: dict[tuple[str, Kind], float] = {}
        found: dict[tuple[str, Kind], list[float]] = {}
        for block in (b for blocks in problem.blocks.values() for b in blocks if b.rows):
            found.setdefault((block.channel, block.kind), []).append(block.rows)
        self._typical |= {key: max(rows) if key[1] == "B" else median(rows) for key, rows in found.items()}
        for _ in range(_ROUNDS):
            for variant in problem.network.variants:
                self._pass_on(variant)

    def of(self, variant: Variant) -> list[float]:
        """The sizes of the operands of `variant`."""
        planned = self._planned.get(operands(variant))
        return planned if planned is not None else [self._size(c, k) or 0.0 for c, k in operands(variant)]

    def _size(self, channel: str, kind: Kind) -> float | None:
        known = self._typical.get((channel, kind))
        return self._typical.get((channel, MONOTONE)) if known is None and kind == "Δ" else known

    def _pass_on(self, variant: Variant) -> None:
        read = [self._size(c, k) for c, k in operands(variant)]
        if all(rows is not None for rows in read):
            _, made = variant.price(blocks(variant, [r or 0.0 for r in read]))
            for channel, rows in zip(variant.outputs, made, strict=True):
                self._typical.setdefault((channel, variant.signature.writes), rows)


def operands(variant: Variant) -> Operands:
    """Channel and kind of each operand of `variant`, in order."""
    parts = zip(variant.inputs, variant.signature.reads, strict=True)
    return tuple((channel, kind) for channel, reads in parts for kind in reads.kinds)


def blocks(variant: Variant, rows: Sequence[float], *, monotone: bool = False, overlay: float = 0.0) -> list[Block]:
    """Operands of `variant` of such sizes; the first has the overlay."""
    made: list[Block] = []
    for (channel, kind), size in zip(operands(variant), rows, strict=True):
        chosen = MONOTONE if monotone and kind == "Δ" else kind
        made.append(Block.planned((channel, chosen, None, _ANY), size, True, 0.0 if made else overlay))
    return made


def line(variant: Variant, rows: Sequence[float], *, monotone: bool = False) -> Line:
    """The line that touches the price of `variant` at operands of `rows`."""

    def price(at: Sequence[float], overlay: float = 0.0) -> tuple[float, tuple[float, ...]]:
        return variant.price(blocks(variant, at, monotone=monotone, overlay=overlay))

    cost, sizes = price(rows)
    steeper: list[float] = []
    growing: list[list[float]] = [[] for _ in sizes]
    for i, at in enumerate(rows):
        further = at + max(1.0, at / 1000)
        dearer, larger = price([*rows[:i], further, *rows[i + 1 :]])
        steeper.append(max(0.0, (dearer - cost) / (further - at)))
        for slope, now, then in zip(growing, sizes, larger, strict=True):
            slope.append((then - now) / (further - at))
    overlaid, _ = price(rows, 1000.0)
    fixed = cost - sum(s * r for s, r in zip(steeper, rows, strict=True))
    rest = [made - sum(s * r for s, r in zip(g, rows, strict=True)) for made, g in zip(sizes, growing, strict=True)]
    return Line(
        max(0.0, _even(fixed, cost)),
        [_even(s, s) for s in steeper],
        _even((overlaid - cost) / 1000.0, cost / 1000.0),
        [(_even(m, made), [_even(s, 1.0) for s in g]) for m, made, g in zip(rest, sizes, growing, strict=True)],
    )


def _even(value: float, scale: float) -> float:
    """Without the noise of subtraction, so that what costs the same still does."""
    return 0.0 if abs(value) < 1e-9 * abs(scale) else float(f"{value:.10g}")
