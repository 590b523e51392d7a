"""About the most that a plan for an output can cost, found without planning."""

from __future__ import annotations

from olston.block import BASE, Block
from olston.provenance import Provenance
from olston.scheduler.network import Variant
from olston.scheduler.problem import Problem

_ANYWHERE = Provenance.at(1)  # prices depend on kinds and sizes alone


class Ceiling:
    """The cost of doing everything upstream of an output once, by every variant, on all there is.

    A plan is cheaper by far, as a rule: it takes one variant of several, and deltas where it can. What is found of a
    channel is remembered, so that outputs with something in common cost little more to ask about than one.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem, self._network = problem, problem.network
        self._rows: dict[str, float] = {}
        self._costs: dict[str, float] = {}

    def of(self, output: str) -> float:
        """What a plan for `output` costs at most, about."""
        upstream = sorted(self._network.upstream(output), key=self._network.order.__getitem__)
        return sum(self._cost(channel) for channel in upstream) + self._delivery(output)

    def _cost(self, channel: str) -> float:
        """What all variants cost that write `channel`, once it was asked for all that is upstream of it."""
        if channel not in self._costs:
            self._rows[channel] = sum(b.rows for b in self._problem.blocks.get(channel, ()))
            cost = 0.0
            for variant in self._network.writers.get(channel, ()):
                took, written = variant.price(self._operands(variant))
                cost += took
                if not variant.signature.incremental and variant.foreign:
                    self._rows[channel] = max(self._rows[channel], written[variant.outputs.index(channel)])
            self._costs[channel] = cost
        return self._costs[channel]

    def _operands(self, variant: Variant) -> list[Block]:
        read = zip(variant.inputs, variant.signature.reads, strict=True)
        return [self._all(channel, kind) for channel, reads in read for kind in reads.kinds]

    def _all(self, channel: str, kind: str) -> Block:
        """As much as there is of `channel`, as a block of `kind`."""
        overlay = max((b.overlay for b in self._problem.blocks.get(channel, ())), default=0)
        source = None if kind == BASE else _ANYWHERE
        return Block.planned((channel, kind, source, _ANYWHERE), self._rows[channel], True, overlay)

    def _delivery(self, output: str) -> float:
        consumer = self._network.outputs[output]
        return max((consumer.price(self._all(output, kind)) for kind in consumer.accepts), default=0.0)
