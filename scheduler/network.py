"""A workflow as the planner sees it: channels with their pathways, and the variants that connect them.

Converters, chaining and every widget's operators are all `Variant`s. A network says nothing about
blocks or time; it is compiled once per definition from a `Workflow` or read from a problem file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, TypeAlias

from olston.block import DELTA, MONOTONE, Block, Kind, is_weak
from olston.constraints import Inconsistency, Staleness
from olston.operators.operator import Operator
from olston.operators.signature import Signature
from olston.scheduler.declared import Declared

Price: TypeAlias = Callable[[Sequence[Block]], tuple[float, tuple[float, ...]]]
"""The operands in order → cost, and the size of each result."""

DeliveryPrice: TypeAlias = Callable[[Block], float]
"""The block delivered → cost of the delivery."""


def free_delivery(block: Block) -> float:
    return 0.0


class Recompute(Enum):
    """When a batch variant may make a channel anew; see `olston.widgets.widget.Policy`."""

    ALLOWED = "whenever it is cheapest"
    LAST_RESORT = "if nothing else will do, or nothing exists yet"
    FIRST_FILL = "only while nothing exists yet"


@dataclass(frozen=True, eq=False)
class Variant:
    """One way to carry out an operation: a signature bound to channels, with its price."""

    name: str
    widget: str
    signature: Signature
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    price: Price
    listed: bool = True
    """False for what costs nothing and leaves no trace in a plan: chaining."""
    recompute: Recompute = Recompute.ALLOWED
    lays_over: bool = False
    """Whether the result is the base it reads with the delta in its overlay."""
    operator: Operator | None = None
    """What runs on Spark; `None` in problem files, which are about deciding only."""

    @cached_property
    def foreign(self) -> bool:
        """Whether it reads another channel than it writes, so that declared bounds bind on its operands."""
        return not set(self.inputs) <= set(self.outputs)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Output:
    """What an external consumer of `channel` accepts, and the price of handing it over."""

    channel: str
    accepts: frozenset[Kind]
    price: DeliveryPrice = free_delivery

    @property
    def consumer(self) -> str:
        """The consumer's own place in the search: its content is a block on this channel."""
        return "→" + self.channel


@dataclass(frozen=True)
class Network:
    """Channels in topological order with the input channel of each of their pathways, variants, outputs, bounds."""

    inputs: Mapping[str, tuple[str, ...]]
    variants: tuple[Variant, ...]
    outputs: Mapping[str, Output]
    staleness: tuple[Staleness, ...] = ()
    inconsistency: tuple[Inconsistency, ...] = ()
    wary: bool = False
    """Whether obscure deltas stay on their channel (see `Block.obscure`): true where there is content to go wrong."""
    _upstream: dict[str, frozenset[str]] = field(default_factory=dict, init=False, repr=False)
    _narrowed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def order(self) -> dict[str, int]:
        return {channel: i for i, channel in enumerate(self.inputs)}

    def upstream(self, channel: str) -> frozenset[str]:
        """`channel` and all that feeds it."""
        if channel not in self._upstream:
            found, wanted = {channel}, [channel]
            while wanted:
                read = {i for v in self.producers.get(wanted.pop(), ()) for i in v.inputs} - found
                found |= read
                wanted += read
            self._upstream[channel] = frozenset(found)
        return self._upstream[channel]

    def sharing(self, channels: Collection[str]) -> frozenset[str]:
        """The outputs that are computed from one of `channels`, or are one."""
        return frozenset(o for o in self.outputs if not self.upstream(o).isdisjoint(channels))

    def akin(self, outputs: Collection[str]) -> frozenset[str]:
        """The outputs that have something in common with `outputs` that is computed."""
        return self.sharing({c for o in outputs for c in self.upstream(o) if self.producers.get(c)})

    @cached_property
    def readers(self) -> dict[tuple[str, Kind], list[tuple[Variant, int, int]]]:
        """Which variants take a block of a kind on a channel: (variant, input, position within it)."""
        found: dict[tuple[str, Kind], list[tuple[Variant, int, int]]] = {}
        for variant in self.variants:
            for i, (channel, reads) in enumerate(zip(variant.inputs, variant.signature.reads, strict=True)):
                for p, wanted in enumerate(reads.kinds):
                    for kind in (DELTA, MONOTONE) if wanted == DELTA else (wanted,):
                        found.setdefault((channel, kind), []).append((variant, i, p))
        return found

    def readers_within(self, channels: frozenset[str]) -> dict[tuple[str, Kind], list[tuple[Variant, int, int]]]:
        """`readers` that write one of `channels`; the last choice is remembered, since plans repeat it."""
        if self._narrowed.get("channels") != channels:
            self._narrowed["channels"] = channels
            self._narrowed["readers"] = {
                key: kept
                for key in self.readers
                if key[0] in channels
                and (kept := [r for r in self.readers[key] if not channels.isdisjoint(r[0].outputs)])
            }
        return self._narrowed["readers"]  # type: ignore[no-any-return]

    @cached_property
    def producers(self) -> dict[str, list[Variant]]:
        """The variants that write each channel, without those that merely convert on it."""
        found: dict[str, list[Variant]] = {}
        for variant in self.variants:
            if variant.foreign:
                for channel in variant.outputs:
                    found.setdefault(channel, []).append(variant)
        return found

    @cached_property
    def writers(self) -> dict[str, list[Variant]]:
        """All variants that write each channel: those that make it anew first, those that convert on it last."""
        found: dict[str, list[Variant]] = {}
        for variant in sorted(self.variants, key=lambda v: (not v.foreign, v.signature.incremental)):
            for channel in variant.outputs:
                found.setdefault(channel, []).append(variant)
        return found

    @cached_property
    def read(self) -> frozenset[str]:
        """The channels that operators of other channels read."""
        return frozenset(channel for v in self.variants if v.foreign for channel in v.inputs)

    @cached_property
    def resumed(self) -> frozenset[str]:
        """The outputs whose next delta needs their own base: it comes in a form that their consumers do not take."""
        return frozenset(
            channel
            for v in self.variants if v.foreign and is_weak(v.signature.writes)
            for channel in v.outputs
            if channel in self.outputs and v.signature.writes not in self.outputs[channel].accepts
        )  # fmt: skip

    @cached_property
    def reluctant(self) -> tuple[Variant, ...]:
        """The batch variants that a policy lets run only if nothing else will do, or nothing exists."""
        return tuple(v for v in self.variants if v.recompute is not Recompute.ALLOWED)

    @cached_property
    def declared(self) -> Declared:
        """The declared bounds, by the channel on which they bind."""
        return Declared(self.inputs, self.feeds, self.staleness, self.inconsistency)

    @cached_property
    def feeds(self) -> dict[str, tuple[tuple[str, int], ...]]:
        """Channel → the channels it is computed from, each with the offset of its pathways."""
        found: dict[str, tuple[tuple[str, int], ...]] = {}
        for channel, variants in self.producers.items():
            offset, parts = 0, []
            for source in variants[0].inputs:
                parts.append((source, offset))
                offset += len(self.inputs[source])
            found[channel] = tuple(parts)
        return found

    def without(self, excluded: Iterable[str]) -> Network:
        """The same network without the variants named, for planning around one that fails."""
        names = set(excluded)
        return replace(self, variants=tuple(v for v in self.variants if v.name not in names))
