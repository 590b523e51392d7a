"""What can be said of a workflow before anything arrives: promises no plan could keep, and promises not made.

The planner itself is asked, on a small imagined history: the first fill, then a wave on every source at
once, then a wave on each in turn.
"""

from __future__ import annotations

from collections.abc import Iterator

from olston.duration import UNITS
from olston.scheduler.compile import compile_workflow
from olston.scheduler.decide import decide
from olston.scheduler.simulate.rates import Arrivals
from olston.scheduler.simulate.world import World
from olston.workflow import Workflow

_LATER = 100 * 52 * UNITS["week"]
"""So long after a wave that every staleness bound on what it made stale is broken."""


def check(workflow: Workflow) -> list[str]:
    """What is odd about `workflow`, in sentences; raises `InfeasibleError` where no plan could keep its bounds."""
    refuse_infeasible(workflow)
    return list(_remarks(workflow))


def refuse_infeasible(workflow: Workflow) -> None:
    """Raise `InfeasibleError`, with the bound and the widget named, if the bounds cannot be kept even at the start."""
    sources = workflow.sources
    wave = Arrivals(rows=10, every=UNITS["hour"], offset=1, initial=1_000)
    keyed = Arrivals(rows=10, every=UNITS["hour"], offset=1, initial=1_000, arrives="replace", growth=0.5)
    arrivals = {name: keyed if workflow.channels[name].key else wave for name in sources}
    world = World(compile_workflow(workflow), workflow, arrivals, whole=False, seed=0)
    _settle(world)
    stamp = 0
    for names in ([sources] if sources else []) + [[name] for name in sources]:
        stamp += _LATER
        world.arrive(names, stamp)
        world.now = stamp + _LATER - 1
        _settle(world)


def _settle(world: World) -> None:
    decision = decide(world.problem(), replan=False)  # whether there is a plan is asked, not which is cheapest
    if decision.infeasible is not None:
        raise decision.infeasible.error()
    world.run(decision)


def _remarks(workflow: Workflow) -> Iterator[str]:
    network = compile_workflow(workflow)
    if not workflow.outputs:
        yield f"workflow {workflow.name!r} has no output, so nothing will ever run; declare one with wf.output(…)."
    bounded = {b.channel for b in workflow.staleness}
    for output, publication in workflow.outputs.items():
        if output not in bounded and publication.refresh is None:
            yield (
                f"output {output!r} has no staleness bound: it is filled once, then refreshed on demand only; "
                f"promise one with wf.bound_staleness({output!r}, pathway, t), or give wf.output(…, refresh='6 hours')."
            )
    used = {channel for output in workflow.outputs for channel in network.upstream(output)}
    for channel in workflow.public:
        if workflow.outputs and channel not in used:
            source = workflow.channels[channel].is_source
            yield f"channel {channel!r} feeds no output, so it will never be {'read' if source else 'made'}."
