"""How long a run must be to say something of every bound."""

from __future__ import annotations

from collections.abc import Iterable

from olston.duration import UNITS
from olston.scheduler.simulate.rates import RatesFile
from olston.workflow import Workflow

LONGEST = 10 * int(UNITS["week"])
"""What the paper simulates, and the longest without being asked."""


def enough(workflow: Workflow, rates: RatesFile, tried: Iterable[int] = ()) -> int:
    """Microseconds in which every source has a wave, and every bound can break after it; `tried` are more bounds.

    That is the longest bound on top of the longest time between waves, `LONGEST` at most. A shorter run would leave
    out repairs, and make lax bounds look cheaper than they are.
    """
    bounds = [*(b.bound for b in workflow.staleness), *(b.bound for b in workflow.inconsistency), *tried]
    rarest = max(max(a.every, a.offset) for a in rates.sources.values())
    return min(LONGEST, rarest + int(max(bounds, default=0)))
