"""Planning around a step that failed: which of its variants to leave out, so that there is another way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from olston.scheduler.decide import decide
from olston.scheduler.network import Network, Variant
from olston.scheduler.problem import Problem


def around(
    problem: Problem, failed: Sequence[Variant], outputs: Collection[str], excluded: Collection[str] = ()
) -> frozenset[str]:
    """The names of variants without which, and without those `excluded`, there is still a plan for `outputs`.

    `failed` are those of a step, the outermost first; which of them was at fault is not known. Deltas are left out
    before what is made anew, all that may be at fault before one alone. Empty if there is no other way.
    """
    network = problem.network.without(excluded)
    for variants in _choices(network, failed):
        names = frozenset(v.name for v in variants)
        if decide(replace(problem, network=network.without(names)), due=sorted(outputs)).feasible:
            return names
    return frozenset()


def _choices(network: Network, failed: Sequence[Variant]) -> Iterator[set[Variant]]:
    left = [v for v in network.variants if v.name in {f.name for f in failed}]
    deltas = {v for v in left if v.signature.incremental}
    anew = {twin for v in left if v not in deltas for twin in _twins(network, v)}
    order = {v.name: i for i, v in enumerate(failed)}
    one = [set(_twins(network, v)) for v in sorted(left, key=lambda v: order[v.name])]
    tried: list[set[Variant]] = []
    for variants in (deltas, anew, deltas | anew, *one):
        if variants and variants not in tried:
            tried.append(variants)
            yield variants


def _twins(network: Network, variant: Variant) -> list[Variant]:
    """It, and those that do the same work on the same: what makes anew does, whatever moments its operands reflect."""
    if variant.signature.incremental or not variant.foreign:
        return [variant]
    return [
        v
        for v in network.variants
        if v.foreign and not v.signature.incremental and (v.widget, v.outputs) == (variant.widget, variant.outputs)
    ]
