"""Never stuck: prunings are given up one by one until a plan is found (DESIGN 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from olston.scheduler.prune import SECTIONS, Prunings

GIVEN_UP = (("6.2.4",), ("6.3",), ("6.2.3",), ("6.1",), ("6.2.1", "6.2.2"))
"""Which prunings are given up at each further step, in this order."""


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: the prunings still on, and whether widgets may recompute against their policy."""

    number: int
    prunings: Prunings
    last_resort: bool = False

    def __str__(self) -> str:
        kept = ", ".join(self.prunings.sections) or "none"
        return f"{self.number} (prunings: {kept}{'; recomputing as a last resort' if self.last_resort else ''})"


def rungs(sections: Iterable[str], last_resort: bool) -> Iterator[Rung]:
    """The ladder from `sections` down to an unpruned search; `last_resort` adds one on which widgets of policy
    `incremental` recompute. Steps that would change nothing are left out."""
    kept = [s for s in SECTIONS if s in set(sections)]
    number = 0
    yield Rung(number, Prunings(sections))
    for given_up in GIVEN_UP:
        fewer = [s for s in kept if s not in given_up]
        if fewer != kept:
            kept, number = fewer, number + 1
            yield Rung(number, Prunings(kept))
    if last_resort:
        yield Rung(number + 1, Prunings(kept), last_resort=True)
