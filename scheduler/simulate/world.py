"""The simulated world: what has arrived, what was made, what consumers hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import pi, sqrt
from random import Random

from olston.block import BASE, DELTA, MONOTONE, Block
from olston.provenance import Provenance, Stamp
from olston.scheduler.decide import Decision
from olston.scheduler.delivery import first_content
from olston.scheduler.network import Network, Variant
from olston.scheduler.plan import Invocation
from olston.scheduler.problem import Problem
from olston.scheduler.retire import live
from olston.scheduler.simulate.rates import Arrivals
from olston.timeline import History, Timeline
from olston.workflow import Workflow

NOISE = 0.5
"""By how much running times and sizes are off on average [7]."""


class World:
    """State of one simulated run. Running time and output size of every step are perturbed as in the paper."""

    def __init__(
        self,
        network: Network,
        workflow: Workflow,
        arrivals: dict[str, Arrivals],
        whole: bool,
        seed: int,
        noise: float = NOISE,
    ) -> None:
        self.network, self._workflow, self._arrivals = network, workflow, arrivals
        self._whole, self._seed = whole, seed
        # the absolute value of a Gaussian averages sqrt(2/π) of its standard deviation
        self._spread = noise * sqrt(pi / 2)
        self.timelines = {name: Timeline(name) for name in workflow.sources}
        self._size = {name: arrivals[name].initial for name in workflow.sources}
        zero = Provenance.at(0)
        self.blocks: dict[str, list[Block]] = {
            name: [Block(name, BASE, zero, rows=arrivals[name].initial)] for name in workflow.sources
        }
        self.holds: dict[str, Provenance | None] = {
            name: first_content(output, len(network.inputs[name])) for name, output in network.outputs.items()
        }
        self.now: Stamp = 1
        self._made: set[tuple[object, ...]] = set()

    def problem(self) -> Problem:
        return Problem(self.network, self.blocks, History(self.timelines, self.now), self.holds, self._made)

    def arrive(self, names: Iterable[str], stamp: int) -> None:
        """A wave on each of `names` under one stamp."""
        for name in names:
            rates, line = self._arrivals[name], self.timelines[name]
            old = Provenance.at(line.newest)
            line.arrive(stamp)
            self._size[name] += rates.rows * rates.growth
            if self._whole:
                block = Block(name, BASE, Provenance.at(stamp), rows=self._size[name])
            else:
                kind = {"append": MONOTONE, "delta": DELTA}.get(rates.arrives) or self._workflow.channels[name].weak[
                    0
                ].kind
                block = Block(name, kind, Provenance.at(stamp), old, rates.rows)
            self.blocks[name].append(block)
        self.now = stamp + 1

    def run(self, decision: Decision) -> dict[int, float]:
        """Carry out a plan; what each step really cost, by its bit."""
        made: dict[tuple[object, ...], Block] = {}
        costs: dict[int, float] = {}
        for step in decision.steps:
            if step.is_delivery:
                costs[step.bit] = step.cost
                self.holds[step.operands[-1].channel] = step.results[0].target
            else:
                costs[step.bit] = self._invoke(step, made)
        return costs

    def _invoke(self, step: Invocation, made: dict[tuple[object, ...], Block]) -> float:
        variant = step.operator
        assert isinstance(variant, Variant)
        cost, sizes = variant.price([made.get(b.key, b) for b in step.operands])
        noise = self._noise(step.results[0])
        slower, larger = next(noise), next(noise)
        for block, rows in zip(step.results, sizes, strict=True):
            # a base is the sum of many waves, whose perturbations cancel, and does not depend on the plan that made it;
            # a converter says the same in another form
            perturbed = variant.foreign and not block.is_base
            size = rows * larger if perturbed else rows
            real = Block(block.channel, block.kind, block.target, block.source, size, block.relaxed)
            made[block.key] = real
            self._made.add(block.key)
            self.blocks.setdefault(block.channel, []).append(real)
        return cost * slower

    def _noise(self, block: Block) -> Iterator[float]:
        # the same result at the same moment meets the same noise in every mode, so that modes can be compared
        generator = Random(f"{self._seed}/{block.channel}/{block.kind}/{block.stamp}")
        while True:
            yield max(0.05, 1 + generator.gauss(0, self._spread))

    def retire(self) -> None:
        """Let go of what no plan can use any more."""
        self.blocks = live(self.network, self.blocks, self.holds)
