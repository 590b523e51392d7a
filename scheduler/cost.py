"""The cost model: what a variant costs for the work it does.

Per variant a start cost and a rate per row read from bases, read from deltas, shuffled and written.
Operators give priors; files of rates and, later, recorded runs override them, most specific first:
a variant of a widget, the variant in general, the widget, the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from olston.operators.estimate import UNKNOWN, Statistics, Work


@dataclass(frozen=True, slots=True)
class Rates:
    """Cost of starting, and per row of each kind of work."""

    start: float = 0.5
    base: float = 2e-7
    delta: float = 2e-7
    shuffled: float = 5e-7
    written: float = 5e-7

    def cost(self, work: Work) -> float:
        return (
            self.start
            + self.base * work.base
            + self.delta * work.delta
            + self.shuffled * work.shuffled
            + self.written * sum(work.written)
        )


PRIORS = Rates()
"""Seconds on a warm local session; replaced by the measurements of `tests/benchmarks/operators.py`."""


@dataclass(frozen=True)
class CostModel:
    """Rates and statistics by widget; widgets it does not know get the defaults."""

    default: Rates = PRIORS
    variants: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    """(widget or "*", variant or "*") → the rates that differ from the default."""
    statistics: Mapping[str, Statistics] = field(default_factory=dict)
    delivery: Rates = field(default_factory=lambda: Rates(0.0, 0.0, 0.0, 0.0, 0.0))
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

    def of(self, widget: str) -> Statistics:
        return self.statistics.get(widget, UNKNOWN)


ENGINE = CostModel(delivery=PRIORS, overlays=True)
"""What the engine begins with, before anything was learned."""
