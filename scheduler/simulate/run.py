"""One simulated run: arrivals and deadlines in order, each followed by a decision [7].

Computing is elastic: resources are unlimited but cost linearly, so a plan is done before the next wave
and time is measured in the unit of cost. The lag of an output is the cost of the work between the
moment at which it broke a bound and its repair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from statistics import median
from time import thread_time

from olston.scheduler.compile import compile_workflow
from olston.scheduler.decide import Decision, decide
from olston.scheduler.simulate.modes import MODES, Mode
from olston.scheduler.simulate.rates import RatesFile
from olston.scheduler.simulate.world import NOISE, World
from olston.workflow import Workflow

PATIENCE = 100
"""Single steps that a baseline may take at one moment before the next wave is let in."""


@dataclass
class Outcome:
    """What a run cost, how long outputs were stale, and how long planning took."""

    mode: str
    lags: list[float] = field(default_factory=list)
    cost: float = 0.0
    first_fill: float = 0.0
    scheduler_seconds: float = 0.0
    calls: list[tuple[int, float]] = field(default_factory=list)
    """Moment and seconds of every decision that had something due."""
    rungs: dict[int, int] = field(default_factory=dict)
    unrepaired: int = 0
    variants: dict[str, tuple[int, float]] = field(default_factory=dict)

    @property
    def lag(self) -> float:
        """The median lag."""
        return median(self.lags) if self.lags else 0.0


def simulate(
    workflow: Workflow,
    rates: RatesFile,
    span: int,
    *,
    mode: Mode = MODES[0],
    seed: int = 0,
    noise: float = NOISE,
    policy: Callable[..., Decision] = decide,
    progress: Callable[[int], None] = lambda now: None,
) -> Outcome:
    """Run `workflow` for `span` microseconds of simulated time and return what came of it."""
    network = mode.limits(compile_workflow(workflow, rates.costs))
    world = World(network, workflow, dict(rates.sources), mode.bases_only, seed, noise)
    outcome = Outcome(mode.name)
    owed: dict[str, float] = {}
    _repair(world, outcome, decide, owed)  # the first fill is not part of the comparison
    outcome.first_fill, outcome.cost, outcome.lags, outcome.calls = outcome.cost, 0.0, [], []
    outcome.scheduler_seconds, outcome.variants, outcome.rungs = 0.0, {}, {}
    waves = [(a.offset, name) for name, a in rates.sources.items()]
    heapify(waves)
    while waves and waves[0][0] <= span:
        wave = waves[0][0]
        deadline = _next_deadline(world)
        if deadline is not None and deadline < wave:
            world.now = deadline + 1
        else:
            names = []
            while waves and waves[0][0] == wave:
                _, name = heappop(waves)
                names.append(name)
                heappush(waves, (wave + rates.sources[name].every, name))
            world.arrive(sorted(names), wave)
        _repair(world, outcome, policy, owed)
        progress(int(world.now))
    outcome.unrepaired = len(owed)
    outcome.lags += owed.values()
    return outcome


def _next_deadline(world: World) -> int | None:
    """The next moment at which a bound breaks by the passing of time alone, if it has not broken yet."""
    bounds = world.problem().bounds()
    moments = [
        moment
        for channel, held in world.holds.items()
        if held is not None and (moment := bounds.breaks_at(channel, held)) is not None and moment >= world.now
    ]
    return int(min(moments)) if moments else None


def _repair(world: World, outcome: Outcome, policy: Callable[..., Decision], owed: dict[str, float]) -> None:
    """Plan and run until nothing is due; single-step policies are asked again until they have no more to offer."""
    for _ in range(PATIENCE):
        started = thread_time()
        problem = world.problem()
        due = problem.due()
        if not due:
            outcome.scheduler_seconds += thread_time() - started
            return
        decision = policy(problem, due=due)
        seconds = thread_time() - started
        if decision.infeasible is not None:
            raise decision.infeasible.error()
        costs = world.run(decision)
        started = thread_time()
        world.retire()
        seconds += thread_time() - started
        outcome.scheduler_seconds += seconds
        outcome.calls.append((int(world.now), seconds))
        _account(outcome, decision, costs, due, owed, world)
        if not decision.steps:
            return


def _account(
    outcome: Outcome,
    decision: Decision,
    costs: Mapping[int, float],
    due: tuple[str, ...],
    owed: dict[str, float],
    world: World,
) -> None:
    outcome.cost += sum(costs.values())
    if decision.rung is not None:
        outcome.rungs[decision.rung.number] = outcome.rungs.get(decision.rung.number, 0) + 1
    for step in decision.work:
        count, total = outcome.variants.get(str(step.operator), (0, 0.0))
        outcome.variants[str(step.operator)] = (count + 1, total + costs[step.bit])
    still_due = set(world.problem().due())
    for channel in due:
        goal = decision.solution.goals[channel] if decision.solution is not None else None
        spent = sum(c for bit, c in costs.items() if goal is None or goal.plan & bit)
        owed[channel] = owed.get(channel, 0.0) + spent
        if channel not in still_due:
            outcome.lags.append(owed.pop(channel))
