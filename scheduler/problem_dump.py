"""Writing planning problems as JSON, so that `olston plan --problem` solves them again.

All that a decision depends on is written: what the plain format cannot say stands in fields that only olston reads
(`docs/reference/problem-files.md`). Prices become linear, see `olston.scheduler.problem_sizes`.
"""

from __future__ import annotations

from typing import Any

from olston.block import BASE, DELTA, MONOTONE, Kind, is_weak
from olston.operators.signature import Link
from olston.scheduler.decide import Decision
from olston.scheduler.network import Output, Variant
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import show_block, show_kind
from olston.scheduler.problem_sizes import Sizes, blocks, line
from olston.scheduler.prune import SECTIONS
from olston.scheduler.ways import DeliveryPriced


def dump(problem: Problem, decision: Decision, name: str) -> dict[str, Any]:
    """`problem`, which `decision` answers, as a case of a problem file."""
    network, sizes = problem.network, Sizes(problem, decision)
    return {
        "id": name,
        "now": problem.history.now,
        "arrivals": {channel: list(t.arrivals) for channel, t in problem.history.timelines.items()},
        "channels": [_channel(problem, channel, sizes) for channel in network.inputs],
        "operators": [_operator(v, sizes) for v in network.variants if v.foreign],
        "outputs": [_output(problem, output) for output in network.outputs.values()],
        "constraints": [
            *(
                {"type": "staleness", "channel": s.channel, "path": s.pathway, "bound": s.bound}
                for s in network.staleness
            ),
            *({"type": "inconsistency", "channel": i.channel, "bound": i.bound} for i in network.inconsistency),
        ],
        "blocks": [
            {
                **show_block(b),
                "size": b.rows,
                "relaxed": b.relaxed,
                "overlay": b.overlay,
                "over": show_kind(b.over) if b.over else "",
            }
            for on_channel in problem.blocks.values()
            for b in on_channel
        ],
        "wary": network.wary,
        "solve": {"prunings": list(SECTIONS), "replan": None, "due": list(decision.due)},
    }


def _channel(problem: Problem, channel: str, sizes: Sizes) -> dict[str, Any]:
    network = problem.network
    own = [v for v in network.variants if not v.foreign and v.inputs == (channel,)]
    touching = [v for v in network.variants if channel in (*v.inputs, *v.outputs)]
    kinds: set[Kind] = {b.kind for b in problem.blocks.get(channel, ())} | {v.signature.writes for v in own}
    for variant in touching:
        if channel in variant.outputs:
            kinds.add(variant.signature.writes)
        for read, reads in zip(variant.inputs, variant.signature.reads, strict=True):
            kinds |= set(reads.kinds) if read == channel else set()
    if channel in network.outputs:
        kinds |= network.outputs[channel].accepts
    weak = sorted(k for k in kinds if is_weak(k))
    return {
        "name": channel,
        "paths": list(network.inputs[channel]),
        "weak": {show_kind(k): {"expand": 1.0, "converters": []} for k in weak},
        "converter_cost": {"fixed": 0.0, "per_unit_read": 0.0},
        "converters": [_converter(v, sizes) for v in own],
    }


def _converter(variant: Variant, sizes: Sizes) -> dict[str, Any]:
    signature, reads, rows = variant.signature, variant.signature.reads[0], sizes.of(variant)
    plain = line(variant, rows)
    fixed, size = _difference(variant) if reads.link is Link.PRECEDES else plain.sizes[0]
    part = {
        "name": variant.name,
        "widget": variant.widget,
        "kinds": [show_kind(k) for k in reads.kinds],
        "link": reads.link.name.lower(),
        "writes": show_kind(signature.writes),
        "monotone": signature.monotone,
        "relaxed": signature.relaxed.name.lower(),
        "listed": variant.listed,
        "lays_over": variant.lays_over,
        "cost": _cost(variant, sizes),
        "size": size,
        "fixed": fixed,
    }
    if DELTA in reads.kinds:
        added = line(variant, rows, monotone=True).sizes[0]
        if added != plain.sizes[0]:
            part["monotone_size"] = added[1]
    return part


def _difference(variant: Variant) -> tuple[float, list[float]]:
    """How large the difference of two bases is, whichever is larger."""
    _, (one,) = variant.price(blocks(variant, [0.0, 1.0]))
    return 0.0, [-one, one]


def _operator(variant: Variant, sizes: Sizes) -> dict[str, Any]:
    signature, found = variant.signature, line(variant, sizes.of(variant))
    outputs = zip(variant.outputs, found.sizes, strict=True)
    return {
        "name": variant.name,
        "widget": variant.widget,
        "inputs": [
            {"channel": channel, "kinds": [show_kind(k) for k in reads.kinds]}
            for channel, reads in zip(variant.inputs, signature.reads, strict=True)
        ],
        "sync": signature.sync,
        "monotone": signature.monotone,
        "relaxed": signature.relaxed.name.lower(),
        "recompute": variant.recompute.name.lower(),
        "outputs": [
            {
                "channel": channel,
                "kind": show_kind(signature.writes),
                "size": [max(0.0, s) for s in size],
                "fixed": max(0.0, fixed),
            }
            for channel, (fixed, size) in outputs
        ],
        "cost": _cost(variant, sizes),
    }


def _cost(variant: Variant, sizes: Sizes) -> dict[str, Any]:
    rows = sizes.of(variant)
    found, added = line(variant, rows), line(variant, rows, monotone=True)
    part = {"fixed": found.fixed, "per_operand": found.per_operand, "per_overlay": found.per_overlay}
    return part if added.per_operand == found.per_operand else part | {"per_monotone": added.per_operand}


def _output(problem: Problem, output: Output) -> dict[str, Any]:
    held = problem.holds.get(output.channel)
    part: dict[str, Any] = {
        "channel": output.channel,
        "accepts": sorted(show_kind(k) for k in output.accepts),
        "holds": None if held is None else held.to_json(),
    }
    if isinstance(output.price, DeliveryPriced):
        kinds = sorted({BASE, DELTA, MONOTONE, *output.accepts})
        part["delivery"] = {show_kind(k): _deliveries(output.price, output.channel, k) for k in kinds}
    return part


def _deliveries(price: DeliveryPriced, channel: str, kind: Kind) -> list[dict[str, float]]:
    return [
        {"fixed": fixed, "per_row": per_row, "per_overlay": per_overlay}
        for fixed, per_row, per_overlay in price.lines(channel, kind)
    ]
