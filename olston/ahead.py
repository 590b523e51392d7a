"""Looking ahead: when an output has to be refreshed so that no bound of it breaks (DESIGN 7). Needs no Spark."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from olston.provenance import Stamp
from olston.scheduler.ceiling import Ceiling
from olston.scheduler.decide import decide
from olston.scheduler.network import Network
from olston.state import State
from olston.timeline import History

EARLY = 1.5
"""How many times the expected duration of its plan an output is refreshed before a bound would break."""
SOON = 1_000_000
"""Microseconds before the moment at which an output might have to be refreshed, from which on it is planned for."""
MOST = 16
"""Outputs that are planned for at a time to know when they have to be refreshed; it takes milliseconds each."""


@dataclass(frozen=True)
class Ahead:
    """What has to be done although nothing happens.

    `begin` says of outputs when to begin refreshing them, and how many microseconds before a bound breaks that is.
    Of all others nothing has to be known before the moment `look`, if ever.
    """

    begin: dict[str, tuple[Stamp, float]] = field(default_factory=dict)
    look: Stamp | None = None

    def soon(self, now: Stamp, within: float = 0.0) -> dict[str, float]:
        """What has to be begun by `within` microseconds after `now`, and after how many at most the bounds break."""
        begin = self.begin.items()
        return {output: max(span, at + span - now) for output, (at, span) in begin if at <= now + within}


def look_ahead(
    state: State, now: Stamp, without: Collection[str] = (), network: Network | None = None, within: float = 0.0
) -> Ahead:
    """When to begin refreshing the outputs that are kept at `now` by what `network` has, but for those `without`.

    Those to be begun by `within` microseconds after `now` are sure to be told of.

    No output is refreshed too late for the sake of others whose bounds break sooner: how long before its bound breaks
    one has to be begun at most, is known of every one without planning, and only what may have to be begun by then is
    planned for. If that is more than `MOST`, the rest is begun as early as it may have to be.
    """
    problem = state.problem(now, network)
    bounds, ceiling = problem.bounds(), Ceiling(problem)
    coming: list[tuple[Stamp, str, Stamp, float]] = []
    for output, held in problem.holds.items():
        moment = None if held is None or output in without else bounds.breaks_at(output, held)
        if moment is not None:
            most = span_of(ceiling.of(output))
            coming.append((moment - int(most), output, moment, most))
    coming.sort()
    near = [c for c in coming if c[0] <= now + SOON + within]
    begin = {output: (earliest, most) for earliest, output, _, most in near}
    for _, output, moment, _ in near[:MOST]:
        later = replace(problem, history=History(state.timelines, max(moment, now) + 1))
        plan = decide(later, due=[output])
        span = 0.0 if plan.infeasible is not None else span_of(plan.cost)
        begin[output] = (moment - int(span), span)
    return Ahead(begin, coming[len(near)][0] if len(near) < len(coming) else None)


def span_of(cost: float) -> float:
    """Microseconds before a bound breaks at which a plan of `cost` is begun."""
    return EARLY * 1e6 * cost
