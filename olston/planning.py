"""What to do now: what is due or demanded, decided on what the catalog says (DESIGN 2 and 7). Needs no Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlmodel import func, select

from olston import state as states
from olston.ahead import Ahead, look_ahead, span_of
from olston.catalog.records import ArrivalRecord, WorkflowRecord
from olston.constraints import Staleness
from olston.learning import Learning
from olston.provenance import Stamp
from olston.scheduler.decide import Decision, decide
from olston.scheduler.network import Network
from olston.scheduler.problem import Problem
from olston.scheduler.ways import DeliveryPriced
from olston.state import State
from olston.timeline import History

if TYPE_CHECKING:
    from sqlmodel import Session

    from olston.workflow import Workflow


@dataclass(frozen=True)
class Demand:
    """Outputs to bring to the newest snapshots whatever their bounds say; `full`: from the sources alone."""

    outputs: tuple[str, ...]
    full: bool = False


@dataclass(frozen=True)
class Planned:
    """A decision, the problem it answers, and the moment at which it was made.

    `anew` are the channels of which nothing that was made before counts any more.
    """

    problem: Problem
    decision: Decision
    now: Stamp
    anew: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Planning:
    """Planning for one definition of a workflow."""

    workflow: Workflow
    network: Network
    digests: Mapping[str, str]
    learning: Learning
    retention: int | None = None

    def released_before(self, clock: Stamp) -> Stamp | None:
        """The moment before which input may be let go, if ever."""
        return None if self.retention is None else clock - self.retention

    def load(self, db: Session) -> State:
        """What the catalog says at this moment, priced by all that was learned until then."""
        self.learning.priced(db, self.network)
        state = states.load(db, self.workflow.name, self.network, self.digests, self.workflow.sources)
        for output, delivery in state.deliveries.items():
            price = self.network.outputs[output].price
            if isinstance(price, DeliveryPriced):
                price.stand(delivery.rows or 0, delivery.allows, delivery.supersedes)
        return state

    def claim(self, db: Session, state: State, now: Stamp) -> bool:
        """Let no later arrival be stamped with the `now` of a plan; false if one was since `state` was loaded, or if
        the workflow is paused: the plan may not be carried out then.
        """
        record = db.get(WorkflowRecord, self.workflow.name)
        assert record is not None
        arrived = select(func.max(ArrivalRecord.stamp)).where(
            ArrivalRecord.workflow == self.workflow.name, ArrivalRecord.stamp <= now
        )
        if record.paused or (db.exec(arrived).one() or 0) != state.newest:
            return False
        record.planned_at = max(record.planned_at, int(now))
        return True

    def plan(
        self,
        state: State,
        now: Stamp,
        demand: Demand | None = None,
        *,
        only: Collection[str] | None = None,
        without: Collection[str] = (),
        excluded: Collection[str] = (),
        soon: Mapping[str, float] | None = None,
    ) -> Planned:
        """The plan for what is demanded, else for what is due but for the outputs `without`; of either among `only`.

        `excluded` are variants that must not be used; `soon` are outputs that count as due although their bounds break
        only after so many microseconds, while their plan would run.
        An output that holds nothing is filled with the newest there is: a bound says how old content may become, and
        nobody wants it to begin old. If that cannot be done, within the bounds.
        """
        network = self.network.without(excluded) if excluded else self.network
        problem = state.problem(now, network)
        if demand is not None:
            demand = replace(demand, outputs=tuple(o for o in demand.outputs if only is None or o in only))
            sought = self._demanded(problem, demand.outputs, demand.full)
            upstream = {c for o in demand.outputs for c in network.upstream(o)} if demand.full else set()
            anew = frozenset(c for c in upstream if not self.workflow.channels[c].is_source)
            return Planned(sought, decide(sought, due=demand.outputs), now, anew)
        due = problem.due()
        spans = {output: span for output, span in (soon or {}).items() if output not in due}
        if spans:
            problem = state.problem(now + int(max(spans.values())) + 1, network)
            due = tuple(o for o in problem.due() if o in due or o in spans)
        due = tuple(o for o in due if o not in without and (only is None or o in only))
        empty = [o for o in due if problem.holds[o] is None]
        if empty:
            sought = self._demanded(problem, empty, full=False)
            filled = decide(sought, due=due)
            if filled.infeasible is None:
                return Planned(sought, filled, now)
        return Planned(problem, decide(problem, due=due), now)

    def ahead(self, state: State, now: Stamp, without: Collection[str] = (), excluded: Collection[str] = ()) -> Ahead:
        """When to refresh the outputs that are kept now so that they stay so, but for those `without`.

        `excluded` are variants that must not be used.
        """
        return look_ahead(state, now, without, self.network.without(excluded) if excluded else self.network)

    def joined(self, state: State, planned: Planned, without: Collection[str] = ()) -> Planned:
        """`planned`, or a plan for outputs too that have to wait for it and would be begun too late after it.

        The outputs `without` are left alone. If there is no plan for all of them, some bound breaks, and is repaired.
        """
        problem, due = planned.problem, planned.decision.due
        waiting = self.network.akin(due) - {*due, *without}
        if not waiting:
            return planned
        within, others = span_of(planned.decision.cost), self.network.outputs.keys() - waiting
        late = look_ahead(state, planned.now, others, problem.network, within).soon(planned.now, within)
        if not late:
            return planned
        moment = max(problem.history.now, planned.now + int(max(late.values())) + 1)
        problem = replace(problem, history=History(state.timelines, moment))
        joint = decide(problem, due=(*due, *late))
        return planned if joint.infeasible is not None else replace(planned, problem=problem, decision=joint)

    def _demanded(self, problem: Problem, outputs: Sequence[str], full: bool) -> Problem:
        """The problem of bringing `outputs` to the newest snapshots, if `full` from the sources alone."""
        network = problem.network
        fresh = [Staleness(o, i, 0) for o in outputs for i in range(len(network.inputs[o]))]
        others = [s for s in network.staleness if s.channel not in outputs]
        variants = tuple(v for v in network.variants if not (full and v.foreign and v.signature.incremental))
        demanded = replace(network, variants=variants, staleness=(*others, *fresh))
        if not full:
            return replace(problem, network=demanded)
        blocks = {c: b for c, b in problem.blocks.items() if self.workflow.channels[c].is_source}
        return replace(problem, network=demanded, blocks=blocks, holds={**problem.holds, **dict.fromkeys(outputs)})
