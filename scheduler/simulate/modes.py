"""The four processing methods of Table 5, as networks [7.2]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from olston.block import BASE
from olston.constraints import Inconsistency
from olston.scheduler.network import Network


@dataclass(frozen=True)
class Mode:
    """A processing method: what it leaves of a network, and whether sources arrive as whole bases."""

    name: str
    limits: Callable[[Network], Network]
    bases_only: bool


def consistent_only(network: Network) -> Network:
    """Only consistent blocks are permitted: every operator is synchronous, every output strictly consistent."""
    variants = tuple(replace(v, signature=replace(v.signature, sync=True)) if v.listed else v for v in network.variants)
    bounds = tuple(b for b in network.inconsistency if b.channel not in network.outputs)
    strict = tuple(Inconsistency(channel, 0) for channel in network.outputs)
    return replace(network, variants=variants, inconsistency=bounds + strict)


def bases_only(network: Network) -> Network:
    """Only base blocks are permitted."""
    variants = tuple(
        v
        for v in network.variants
        if v.signature.writes == BASE and all(k == BASE for r in v.signature.reads for k in r.kinds)
    )
    outputs = {name: replace(o, accepts=frozenset({BASE})) for name, o in network.outputs.items()}
    return replace(network, variants=variants, outputs=outputs)


MODES = (
    Mode("Async/Incr", lambda network: network, False),
    Mode("Sync/Incr", consistent_only, False),
    Mode("Async/Batch", bases_only, True),
    Mode("Sync/Batch", lambda network: consistent_only(bases_only(network)), True),
)
