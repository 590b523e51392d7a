"""Prices and converters in planning problems: linear in the sizes of operands, `docs/reference/problem-files.md`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from olston.block import BASE, DELTA, MONOTONE, Block, Kind, weak
from olston.errors import ProblemError, unknown
from olston.operators.signature import Link, Reads, Relaxed, Signature
from olston.scheduler.network import DeliveryPrice, Price, Variant
from olston.scheduler.problem_format import ChannelPart, ConverterPart, DeliveryCost, OperatorCost

KINDS = {"B": BASE, "D": DELTA, "D+": MONOTONE}
"""The names of kinds in problem files; weak ones have their own."""
_NOTHING = OperatorCost(fixed=0.0, per_operand=[0.0, 0.0])


def linear(cost: OperatorCost, sizes: Sequence[Sequence[float]], more: Sequence[float] = ()) -> Price:
    """A price by weights over the sizes of the operands; `more` are rows that each result has whatever they are."""
    fixed, weights, per_overlay = cost.fixed, cost.per_operand, cost.per_overlay
    plain = cost.of_monotone
    added = list(more) or [0.0] * len(sizes)

    def price(operands: Sequence[Block]) -> tuple[float, tuple[float, ...]]:
        rows = [b.rows for b in operands]
        total = fixed + sum(
            b.rows * (p if b.kind == MONOTONE else w) for b, w, p in zip(operands, weights, plain, strict=False)
        )
        if per_overlay:
            total += per_overlay * sum(b.overlay for b in operands)
        made = (m + sum(w * r for w, r in zip(size, rows, strict=False)) for m, size in zip(added, sizes, strict=True))
        return total, tuple(abs(m) for m in made)

    return price


def converter(channel: str, part: ConverterPart, kinds: tuple[Kind, ...], writes: Kind) -> Variant:
    """A converter that a problem describes itself."""
    price = linear(part.cost, [part.size], [part.fixed])
    if part.monotone_size is not None:
        price = _by_kind(linear(part.cost, [part.monotone_size]), price)
    reads = (Reads(kinds, Link[part.link.upper()]),)
    return Variant(
        part.name,
        part.widget or channel,
        Signature(reads, writes, monotone=part.monotone, relaxed=Relaxed[part.relaxed.upper()]),
        (channel,),
        (channel,),
        price,
        listed=part.listed,
        lays_over=part.lays_over,
    )


def _by_kind(monotone: Price, otherwise: Price) -> Price:
    """A price that differs where the last operand has no deletions."""

    def price(operands: Sequence[Block]) -> tuple[float, tuple[float, ...]]:
        return (monotone if operands[-1].kind == MONOTONE else otherwise)(operands)

    return price


def handing_over(costs: Mapping[Kind, Sequence[DeliveryCost]]) -> DeliveryPrice:
    """The price of deliveries: of each kind of block, that of the cheapest way; kinds without one cost nothing."""

    def price(block: Block) -> float:
        ways = costs.get(block.kind, ())
        return min((w.fixed + w.per_row * block.rows + w.per_overlay * block.overlay for w in ways), default=0.0)

    return price


def conversions(channel: ChannelPart) -> Iterator[Variant]:
    """The converters of a channel; in a problem every delta may be applied relaxed."""
    name, cost = channel.name, channel.converter_cost

    def variant(
        label: str, reads: tuple[Kind, ...], link: Link, writes: Kind, size: Callable[[list[float]], float]
    ) -> Variant:
        def price(operands: Sequence[Block]) -> tuple[float, tuple[float, ...]]:
            rows = [b.rows for b in operands]
            return cost.fixed + cost.per_unit_read * sum(rows), (size(rows),)

        signature = Signature((Reads(reads, link),), writes, relaxed=Relaxed.KEEPS)
        return Variant(label, name, signature, (name,), (name,), price)

    def chain(kind: Kind) -> Variant:
        signature = Signature((Reads((kind, kind), Link.ABUTS),), kind, monotone=kind == DELTA, relaxed=Relaxed.KEEPS)
        return Variant("chain", name, signature, (name,), (name,), linear(_NOTHING, [(1, 1)]), listed=False)

    yield variant("c.DB", (BASE, DELTA), Link.RELAXED, BASE, sum)
    yield variant("c.BD", (BASE, BASE), Link.PRECEDES, DELTA, lambda r: abs(r[1] - r[0]))
    yield chain(DELTA)
    for label, part in channel.weak.items():
        if not label or label in KINDS:
            raise ProblemError(f"channel {name!r}: a weak kind cannot be named {label!r}; that is another kind.")
        kind, expand = weak(label), part.expand
        made = {
            "wB": variant(f"c.{label}B", (BASE, kind), Link.RELAXED, BASE, lambda r, e=expand: r[0] + e * r[1]),  # type: ignore[misc]
            "wD": variant(f"c.{label}D", (BASE, kind), Link.EXACT, DELTA, lambda r, e=expand: e * r[1]),  # type: ignore[misc]
            "Dw": variant(f"c.D{label}", (DELTA,), Link.EXACT, kind, lambda r, e=expand: r[0] / e),  # type: ignore[misc]
            "Bw": variant(f"c.B{label}", (BASE, BASE), Link.PRECEDES, kind, lambda r, e=expand: abs(r[1] - r[0]) / e),  # type: ignore[misc]
        }
        for converter in part.converters:
            if converter not in made:
                raise unknown("converter", converter, made, f"weak kind {label!r} of channel {name!r}")
            yield made[converter]
        yield chain(kind)
