"""The two kinds of promises [5].

`bound_staleness(C, i, t)`: `T[i]⁻ + t ≥ now`. `bound_inconsistency(C, t)`: `T⁺ < T⁻ + t`; 0 is strict.
Consistency is a promise, what breaks it is never readable; freshness is best effort.
"""

from __future__ import annotations

from dataclasses import dataclass

from olston.duration import show_duration
from olston.errors import ConstraintError
from olston.provenance import Stamp


def _refuse_negative(what: str, bound: Stamp) -> None:
    if not bound >= 0:
        raise ConstraintError(f"{what}: bound {bound} is negative; a bound is 0 (the strictest) or more.")


@dataclass(frozen=True)
class Staleness:
    """Pathway `pathway` of `channel` may lag behind its input by `bound` at most."""

    channel: str
    pathway: int
    bound: Stamp

    def __post_init__(self) -> None:
        _refuse_negative(f"bound_staleness({self.channel}, {self.pathway})", self.bound)

    def __str__(self) -> str:
        return f"bound_staleness({self.channel}, {self.pathway}, {_amount(self.bound)})"


@dataclass(frozen=True)
class Inconsistency:
    """Snapshots reflected in `channel` may be apart by less than `bound`; 0 asks for strict consistency."""

    channel: str
    bound: Stamp

    def __post_init__(self) -> None:
        _refuse_negative(f"bound_inconsistency({self.channel})", self.bound)

    def __str__(self) -> str:
        return f"bound_inconsistency({self.channel}, {_amount(self.bound)})"


def _amount(bound: Stamp) -> str:
    # planning problems may use any unit: small or fractional numbers are no microseconds
    return str(bound) if isinstance(bound, float) or bound < 1_000 else show_duration(bound)
