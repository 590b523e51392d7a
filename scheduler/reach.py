"""Which kinds of blocks can be made at all, whatever their provenance: seen without a search.

Where not even a kind that a consumer takes is within reach, there is no plan, and a search for one would
have to exhaust everything else first.
"""

from __future__ import annotations

from olston.block import BASE, MONOTONE, Kind, fits
from olston.scheduler.problem import Problem


def kinds_within_reach(problem: Problem, output: str) -> dict[str, set[Kind]]:
    """For each channel that feeds `output`, the kinds that exist there or that operators could make."""
    network = problem.network
    within = network.upstream(output)
    found = {channel: {b.kind for b in problem.blocks.get(channel, ())} for channel in within}
    variants = [v for v in network.variants if not within.isdisjoint(v.outputs)]
    growing = True
    while growing:
        growing = False
        for variant in variants:
            signature = variant.signature
            if all(
                any(fits(kind, wanted) for kind in found.get(channel, ()))
                for channel, reads in zip(variant.inputs, signature.reads, strict=True)
                for wanted in reads.kinds
            ):
                made = {signature.writes, *((MONOTONE,) if signature.monotone else ())}
                for channel in variant.outputs:
                    if channel in within and not made <= found[channel]:
                        found[channel] |= made
                        growing = True
    return found


def out_of_reach(problem: Problem, output: str) -> bool:
    """Whether no block that the consumer of `output` would take can be made: of no accepted kind, or of none that can
    be its first."""
    accepts = problem.network.outputs[output].accepts
    if problem.holds.get(output) is None:
        accepts &= {BASE}
    kinds = kinds_within_reach(problem, output)[output]
    return not any(fits(kind, wanted) for kind in kinds for wanted in accepts)
