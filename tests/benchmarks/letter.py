"""The paper's algorithm to the letter, as a reference: sections 6.1 to 6.3 as printed, without the ladder.

Where it finds no plan, ours is asked instead, and that is counted: the paper's prunings can hide every plan.
"""

from __future__ import annotations

from collections.abc import Sequence

from olston.block import Block
from olston.provenance import Provenance
from olston.scheduler.decide import Decision, decide, decision
from olston.scheduler.problem import Problem
from olston.scheduler.propagate import ANY, Demand, declared
from olston.scheduler.prune import Pruner, Prunings, Scene, chained
from olston.scheduler.solve import Solver


def old_blocks(scene: Scene) -> None:
    """6.2.1: all blocks behind the maximal base strictly before the minimal frontier element."""
    for channel, blocks in scene.existing.items():
        frontier = minimal(scene, channel)
        if frontier is None:
            continue
        before = [b.target for b in blocks if b.is_base and b.target.precedes(frontier)]
        scene.existing[channel] = [b for b in blocks if not any(b.target.precedes(p) for p in before)]


def minimal(scene: Scene, channel: str) -> Provenance | None:
    elements = scene.frontiers[channel]
    if not elements:
        return None
    least = [e for e in elements if not any(o.precedes(e) for o in elements)]
    return min(least, key=lambda t: t.to_json())


def compulsory_chains(scene: Scene) -> None:
    """6.2.2: chains break at own bases and at the own frontier set only."""
    for channel, blocks in scene.existing.items():
        breaks = {b.target for b in blocks if b.is_base} | (scene.frontiers[channel] or set())
        bases = [b for b in blocks if b.is_base]
        kinds = dict.fromkeys(b.kind for b in blocks if not b.is_base)
        runs = [c for kind in kinds for c in chained([b for b in blocks if b.kind == kind], breaks)]
        scene.existing[channel] = bases + runs


def declared_bounds(scene: Scene, block: Block) -> bool:
    """6.1: hypothetical blocks that break a declared constraint are not returned by blockGen."""
    return scene.bounds.readable(block)


def demand(scene: Scene, channel: str) -> Demand:
    """6.2.3: the minimum over all consumers, staleness clamped to the inconsistency bound."""
    known: dict[str, Demand] = scene.__dict__.setdefault("letter", {})
    if channel not in known:
        network, bounds = scene.problem.network, scene.bounds
        own = declared(network, bounds, channel)
        for reader, feeds in network.feeds.items():
            for feed, offset in feeds:
                if feed == channel and reader in scene.within:
                    theirs = demand(scene, reader)
                    width = len(network.inputs[channel])
                    own = own.tightened(Demand(theirs.floors[offset : offset + width], theirs.inconsistency))
        clamp = bounds.history.now - own.inconsistency
        known[channel] = Demand(tuple(max(f, clamp) if f > ANY else f for f in own.floors), own.inconsistency)
    return known[channel]


def meets(scene: Scene, block: Block) -> bool:
    inputs = scene.problem.network.inputs[block.channel]
    return demand(scene, block.channel).met_by(scene.bounds, inputs, block.target)


def no_overkill(scene: Scene, block: Block) -> bool:
    """6.2.4: nothing newer where an actual block of the type is new enough."""
    return not any(
        b.kind == block.kind and b.target.precedes(block.target) and meets(scene, b)
        for b in scene.existing.get(block.channel, ())
    )


def not_dominated(scene: Scene, block: Block) -> bool:
    """6.3: ignored if another potential block of the type that is ahead was enumerated before."""
    targets = scene.enumerated.setdefault((block.channel, block.kind), [])
    if any(block.target.precedes(other) for other in targets):
        return False
    targets.append(block.target)
    return True


LETTER = (
    Pruner("6.2.1", on_existing=old_blocks),
    Pruner("6.2.2", on_existing=compulsory_chains),
    Pruner("6.1", on_generated=declared_bounds),
    Pruner("6.2.3", on_generated=meets),
    Pruner("6.2.4", on_generated=no_overkill),
    Pruner("6.3", on_generated=not_dominated),
)


class ToTheLetter:
    """A policy; `rescued` counts the calls in which it had no plan."""

    def __init__(self) -> None:
        self.calls = self.rescued = 0
        self._prunings = Prunings([p.section for p in LETTER], LETTER)

    def __call__(self, problem: Problem, *, due: Sequence[str] | None = None) -> Decision:
        wanted = tuple(problem.due() if due is None else due)
        self.calls += 1
        solution = Solver(problem, wanted, self._prunings).solve(False)
        if solution is not None:
            return decision(wanted, solution)
        self.rescued += 1
        return decide(problem, due=wanted)
