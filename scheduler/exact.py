"""The cheapest plan of all, where the case is small enough to prove it: the reference in tests.

A plan is a *set* of invocations from which, starting at the blocks that exist, content within all bounds
follows for every due output; its cost is the sum over the set. The least cost is found in two steps that
share nothing with Algorithm 1 but `blockGen`: all alternatives, then the cheapest set of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from olston.errors import OlstonError
from olston.scheduler.alternatives import Alternatives
from olston.scheduler.candidates import Candidates
from olston.scheduler.cheapest import Cheapest
from olston.scheduler.delivery import Deliveries
from olston.scheduler.plan import Entry, Invocation, Ledger
from olston.scheduler.planner import search
from olston.scheduler.problem import Problem
from olston.scheduler.settled import Settled


class SearchLimitError(OlstonError, RuntimeError):
    """A case too large for the exact planner."""

    code = "TOO_LARGE"


@dataclass(frozen=True)
class ExactAnswer:
    """Whether there is a plan, the least cost of one (`inf` if none), and the invocations of one that has it."""

    feasible: bool
    cost: float
    invocations: tuple[Invocation, ...] = ()


def exact(problem: Problem, due: Sequence[str] | None = None, limit: int = 20_000) -> ExactAnswer:
    """The minimum over all sets of invocations that bring `due` (by default all that is due) within bounds.

    Exact up to rounding, and for blocks whose size does not depend on how they were made; a block that can
    be made in several sizes counts with that of the way met first. Policies of widgets are not looked at.
    Raises `SearchLimitError` rather than look at more than `limit` invocations or nodes.
    """
    due = problem.due() if due is None else due
    if not due:
        return ExactAnswer(True, 0.0)
    network, bounds, ledger = problem.network, problem.bounds(), Ledger()
    within = frozenset[str]().union(*(network.upstream(channel) for channel in due))
    outputs = [network.outputs[channel] for channel in due]
    candidates = Candidates(network, bounds, ledger, within)
    deliveries = Deliveries(outputs, problem.holds, bounds, ledger)

    def block_gen(entry: Entry, settled: Settled) -> Iterator[Entry]:
        yield from candidates(entry, settled)
        yield from deliveries(entry, settled)

    existing = [b for c in network.inputs if c in within for b in problem.blocks.get(c, ())] + [*deliveries.held()]
    search(existing, block_gen, lambda _: True, deliveries.finished)
    upper = inf
    if len(deliveries.goals) == len(due):
        upper = ledger.join([*deliveries.goals.values()])[1]
    alternatives = Alternatives(existing, block_gen, outputs, bounds)
    # Algorithm 1 only saves work here: were its plan wrong, the enumeration would go on without it
    graph = alternatives.below(upper, limit) or alternatives.below(inf, limit)
    if alternatives.cut_short:
        raise _too_large(limit, "invocations to choose from", due)
    if graph is None:
        return ExactAnswer(False, inf)
    cheapest = Cheapest(graph, limit)
    if cheapest.cut_short:
        raise _too_large(limit, "nodes to search", due)
    made = [i for i in graph.invocations(cheapest.steps) if not i.is_delivery]
    return ExactAnswer(True, cheapest.cost, tuple(made))


def _too_large(limit: int, what: str, due: Sequence[str]) -> SearchLimitError:
    return SearchLimitError(
        f"{', '.join(due)}: more than {limit} {what}; exact planning is for small cases: raise `limit` or use `Solver`."
    )
