"""The cost model: what a variant costs for the work it does.

Per variant a start cost and a rate per row read from bases, read from deltas, shuffled, written, and looked up
because of an overlay. Measured priors come first; files of rates and what was learned from recorded runs
(`olston.scheduler.learn`) override them, most specific first: a variant of a widget, the variant in general, the
widget, the default.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from olston.operators.estimate import UNKNOWN, Statistics, Work


@dataclass(frozen=True, slots=True)
class Rates:
    """Cost of starting, and per row of each kind of work."""

    start: float
    base: float
    delta: float
    shuffled: float
    written: float
    overlay: float = 0.0

    def cost(self, work: Work) -> float:
        return (
            self.start * work.starts
            + self.base * work.base
            + self.delta * work.delta
            + self.shuffled * work.shuffled
            + self.written * sum(work.written)
            + self.overlay * work.overlay
        )


_MEASURED = tomllib.loads((Path(__file__).parent / "priors.toml").read_text(encoding="utf-8"))
STARTS: dict[str, float] = _MEASURED.pop("starts")
"""How many times as long as others each kind of operator takes to start, and each way to deliver: a look at the table
comes before a MERGE, which itself runs two jobs; a rewrite reads the table twice."""
PRIORS = Rates(**_MEASURED)
"""Seconds on a warm local session; `priors.toml` says where they come from."""


@dataclass(frozen=True)
class CostModel:
    """Rates and statistics by widget; widgets it does not know get the defaults."""

    default: Rates = PRIORS
    variants: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    """(widget or "*", variant or "*") → the rates that differ from the default."""
    statistics: Mapping[str, Statistics] = field(default_factory=dict)
    delivery: Rates = field(default_factory=lambda: Rates(0.0, 0.0, 0.0, 0.0, 0.0))
    starts: Mapping[str, float] = field(default_factory=dict)
    """By kind of operator, and way to deliver, how many times as long as others it takes to start."""
    overlays: bool = False
    """Whether applying a delta to a base is a matter of the catalog, which costs nothing."""

    def rates(self, widget: str, variant: str, *, converter: bool = False) -> Rates:
        """The rates of a variant. A converter runs no user function, so its widget's rates do not hold for it."""
        found = self.default
        general = () if converter else ((widget, "*"),)
        for key in (*general, ("*", variant), (widget, variant)):
            if key in self.variants:
                found = replace(found, **self.variants[key])
        return found

    def delivering(self, output: str, way: str) -> Rates:
        """The rates of handing a block to the consumer of `output` in a certain way."""
        return replace(self.delivery, **self.variants.get((delivery_to(output), way), {}))

    def of(self, widget: str) -> Statistics:
        return self.statistics.get(widget, UNKNOWN)

    def starting(self, kind: str) -> float:
        """How many times as long as others a kind of operator, or way to deliver, takes to start."""
        return self.starts.get(kind, 1.0)


def delivery_to(output: str) -> str:
    """What deliveries to `output` are called among widgets; their variants are the ways of `olston.scheduler.ways`."""
    return f"→ {output}"


ENGINE = CostModel(delivery=PRIORS, starts=STARTS, overlays=True)
"""What the engine begins with, before anything was learned."""
