"""Why there is no plan: the bounds and the widget in the way.

Found by asking again with one bound less: what becomes feasible names the bound, and the step that then
breaks it names the widget.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from olston.block import BASE, Block, Kind, is_weak
from olston.constraints import Inconsistency, Staleness
from olston.errors import InfeasibleError
from olston.scheduler import solve
from olston.scheduler.bounds import Bounds
from olston.scheduler.network import Network, Recompute, Variant
from olston.scheduler.plan import Entry
from olston.scheduler.problem import Problem
from olston.scheduler.prune import Prunings
from olston.scheduler.reach import kinds_within_reach, out_of_reach
from olston.scheduler.solve import Solution, Solver


@dataclass(frozen=True)
class Infeasible:
    """No plan keeps the bounds of `outputs`. `bounds` are in the way, at `widget`; empty if it is no bound."""

    outputs: tuple[str, ...]
    bounds: tuple[Staleness | Inconsistency, ...]
    widget: str | None
    reason: str

    def error(self) -> InfeasibleError:
        return InfeasibleError(self.reason)


def diagnose(problem: Problem, due: Sequence[str]) -> Infeasible:
    """The reason why no plan brings all of `due` within their bounds."""
    stuck = [channel for channel in due if out_of_reach(problem, channel)]
    stuck = stuck or [channel for channel in due if _solve(problem, channel) is None]
    reasons = [_of_one(problem, channel) for channel in stuck or due]
    first = reasons[0]
    return Infeasible(tuple(stuck or due), first.bounds, first.widget, " ".join(r.reason for r in reasons))


def given_up(due: Sequence[str]) -> Infeasible:
    """What can be said where even the pruned searches were too large: not that there is no plan."""
    reason = (
        f"{', '.join(due)}: no plan among the first {solve.LIMIT:,} blocks searched, and more were possible; "
        "there may be one. Retire old blocks, or bound fewer snapshots apart."
    )
    return Infeasible(tuple(due), (), None, reason)


def _of_one(problem: Problem, output: str) -> Infeasible:
    if out_of_reach(problem, output):
        return _no_way_at_all(problem, output)
    upstream = problem.network.upstream(output)
    bounds: list[Staleness | Inconsistency] = [*problem.network.inconsistency, *problem.network.staleness]
    # the output's own staleness is what makes it due: blame it only if nothing else is in the way
    declared = sorted((b for b in bounds if b.channel in upstream), key=lambda b: _own_staleness(b, output))
    for bound in declared:
        relaxed = _solve(_without(problem, (bound,)), output)
        if relaxed is not None:
            return _explained(problem, output, (bound,), relaxed)
    unbounded = _solve(_without(problem, declared), output)
    if unbounded is not None:
        broken = tuple(b for b in declared if _breaking(problem, output, unbounded, (b,)) is not None)
        return _explained(problem, output, broken or tuple(declared), unbounded)
    return _no_way_at_all(problem, output)


def _own_staleness(bound: Staleness | Inconsistency, output: str) -> bool:
    return isinstance(bound, Staleness) and bound.channel == output


def _solve(problem: Problem, output: str) -> Solution | None:
    return Solver(problem, (output,), Prunings(), last_resort=True, must_deliver=True).solve(False)


def _without(problem: Problem, bounds: Sequence[Staleness | Inconsistency]) -> Problem:
    network = problem.network
    kept = replace(
        network,
        staleness=tuple(b for b in network.staleness if b not in bounds),
        inconsistency=tuple(b for b in network.inconsistency if b not in bounds),
    )
    return replace(problem, network=kept)


def _explained(
    problem: Problem, output: str, bounds: tuple[Staleness | Inconsistency, ...], relaxed: Solution
) -> Infeasible:
    block = _breaking(problem, output, relaxed, bounds)
    widget = None if block is None else _maker(problem.network, block.channel)
    listed = " and ".join(str(b) for b in bounds)
    if widget is None:
        reason = f"{output}: no plan keeps {listed}; raise {'it' if len(bounds) == 1 else 'one of them'}."
    else:
        allowed = ", ".join(sorted({v.name.rpartition(".")[2] for v in _variants(problem, widget)}))
        strict = [v for v in problem.network.reluctant if v.widget == widget and v.recompute is Recompute.FIRST_FILL]
        way_out = "use a policy that recomputes, or raise the bound" if strict else "raise the bound"
        reason = (
            f"{output}: {listed} cannot be kept: the best that widget {widget!r} (variants: {allowed}) can make of "
            f"what has arrived is {block}; {way_out}."
        )
    return Infeasible((output,), bounds, widget, reason)


def _variants(problem: Problem, widget: str) -> Iterator[Variant]:
    return (v for v in problem.network.variants if v.widget == widget and v.foreign)


def _breaking(
    problem: Problem, output: str, relaxed: Solution, bounds: Sequence[Staleness | Inconsistency]
) -> Block | None:
    """A block of the relaxed plan that is read or delivered although it breaks one of `bounds`."""
    strict = Bounds(problem.network, problem.history)
    goal = relaxed.goals[output]
    pending, seen = [goal], {id(goal)}
    content = Block(output, BASE, goal.block.target)
    if any(b in bounds for b in strict.broken(content)):
        return content
    while pending:
        entry: Entry = pending.pop()
        for operand in entry.operands:
            if id(operand) in seen:
                continue
            seen.add(id(operand))
            pending.append(operand)
            if operand.block.channel in problem.network.inputs and any(
                b in bounds for b in strict.broken(operand.block)
            ):
                return operand.block
    return None


def _maker(network: Network, channel: str) -> str | None:
    made_by = network.producers.get(channel)
    return made_by[0].widget if made_by else None


def _no_way_at_all(problem: Problem, output: str) -> Infeasible:
    network = problem.network
    accepts, widget = network.outputs[output].accepts, _maker(network, output)
    asked = ", ".join(sorted(accepts))
    for channel in sorted(network.upstream(output), key=network.order.__getitem__):
        if not problem.blocks.get(channel) and not network.producers.get(channel):
            reason = f"{output}: channel {channel!r} has no blocks and no operator makes any; ingest into it first."
            return Infeasible((output,), (), None, reason)
    if problem.holds.get(output) is None and BASE not in accepts:
        reason = (
            f"{output}: its consumer holds nothing of this definition, or is to get everything anew, and accepts "
            f"only {asked}, but a delta needs content to apply to; let it accept B too, or make it another output."
        )
    elif out_of_reach(problem, output):
        kinds = kinds_within_reach(problem, output)
        stuck = next(c for c in sorted(kinds, key=network.order.__getitem__) if not kinds[c] or c == output)
        made = ", ".join(sorted(kinds[output])) or "none"
        wanted = asked if problem.holds.get(output) is not None else "B first"
        place = "" if stuck == output else f" Nothing at all can be made on {stuck!r}."
        widget = _maker(network, stuck)
        reason = (
            f"{output}: its consumer takes {wanted}, but only these kinds can be made there: {made}.{place} Widget "
            f"{widget!r} is in the way: allow another variant of it, or supply a converter."
        )
    elif unread := [
        k for k in sorted(kinds_within_reach(problem, output)[output]) if _leads_nowhere(network, output, k)
    ]:
        reason = (
            f"{output}: {', '.join(unread)} can be made there, but no converter leads from it to what its consumer "
            f"accepts ({asked}); supply one, or let the consumer accept it."
        )
    else:
        reason = (
            f"{output}: whatever the bounds, widget {widget!r} can make no block of the kinds {asked} that its "
            "consumer accepts and that is ahead of what it holds; accept B too, or allow more variants upstream."
        )
    return Infeasible((output,), (), widget, reason)


def _leads_nowhere(network: Network, channel: str, kind: Kind) -> bool:
    """Whether a weak kind is neither accepted by the consumer of `channel` nor read by a converter to another kind."""
    if not is_weak(kind) or kind in network.outputs[channel].accepts:
        return False
    return all(v.signature.writes == kind for v, _, _ in network.readers.get((channel, kind), ()))
