"""The engine: data comes in, promises are kept, questions are answered (DESIGN 7 and 8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from olston import arrivals, held, lost, reading
from olston import ingest as arriving
from olston import session as sessions
from olston import state as states
from olston.attempt import new_attempt
from olston.block import BASE, Block
from olston.carry_out import Execution, Overtaken, StepFailed
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, ChannelRecord, DeliveryRecord, WorkflowRecord
from olston.clock import Clock, SystemClock
from olston.constraints import Staleness
from olston.definition import digests
from olston.duration import Duration, microseconds
from olston.errors import IngestError, StoreError, unknown
from olston.faults import point
from olston.feed import Feed
from olston.maintain import fold, retire
from olston.operators.columns import View, see
from olston.provenance import Stamp
from olston.published import Published
from olston.recover import Recovered, recover
from olston.report import HistoryOf, PlanOf, ProvenanceOf, Report, StatusOf
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.decide import Decision, decide
from olston.scheduler.explain import explain
from olston.scheduler.network import Network
from olston.scheduler.problem import Problem
from olston.state import State
from olston.status import history, status
from olston.step import Inline, Stored, operand
from olston.store import Store
from olston.timeline import History
from olston.vacuum import Vacuumed, vacuum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from olston.workflow import Workflow


class Engine:
    """Runs one workflow in `home`, a folder or any path that Spark can write.

    `catalog` is a database URL, by default a SQLite file in `home`; `spark` a session, or settings for one, which is
    started when it is first needed.
    """

    def __init__(
        self,
        workflow: Workflow,
        home: str = "lake",
        *,
        clock: Clock | None = None,
        catalog: str | None = None,
        spark: SparkSession | Mapping[str, str] | None = None,
    ) -> None:
        self.workflow, self.home = workflow, str(home).rstrip("/")
        self._clock, self._spark = clock or SystemClock(), spark
        self._catalog = Catalog(catalog or f"sqlite:///{self.home}/catalog.db")
        self._digests = digests(workflow)
        self._owns_session = False
        self._drifting = self._define()
        workflow.check()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the catalog, and of the Spark session if the engine started it."""
        if self._owns_session:
            self._session.stop()
        self._catalog.close()

    # data in

    def ingest(self, channel: str, rows: DataFrame, kind: str | None = None) -> Block:
        """Let `rows` arrive at source `channel`, as one wave; returns the block they are.

        `kind` is "append", "replace", "delta" (with a column `_weight`) or "base"; a keyed source replaces by default,
        another appends.
        """
        with self.arrival() as arrival:
            arrival.ingest(channel, rows, kind)
        return arrival.blocks[0]

    @contextmanager
    def arrival(self) -> Iterator[Arrival]:
        """Several sources under one stamp: all of it arrives at the end, or nothing if that is not reached."""
        together = Arrival(self)
        yield together
        together.blocks = self._arrive(together.written, together.offered_at)

    def write_arrival(self, channel: str, rows: DataFrame, kind: str | None) -> arriving.Arrived:
        """Write a wave that has not arrived yet."""
        source = self.workflow.channel(channel)
        chosen = kind or ("append" if source.key is None else "replace")
        with self._sessions.lent() as session:
            written = arriving.write(self.store, session, source.name, rows, chosen, new_attempt())
        point("wave-written")
        return written

    def _arrive(self, waves: list[arriving.Arrived], offered_at: int) -> list[Block]:
        blocks: list[Block] = []
        if not waves:
            return blocks
        with self._catalog.transaction() as db:
            state = self._load(db)
            stamp = state.next_stamp(self._now)
            for wave in waves:
                stored = wave.at(stamp, state.timelines[wave.channel].newest)
                state.timelines[wave.channel].arrive(stamp)
                blocks.append(stored.block)
                db.add(
                    ArrivalRecord(
                        workflow=self.workflow.name, channel=wave.channel, stamp=int(stamp), offered_at=offered_at,
                        block=stored.block.id,
                    )
                )  # fmt: skip
                db.add(states.record(state, stored, "", self._digests, self._now))
        point("arrival-catalogued")
        with self._catalog.look() as db:
            (said,) = arrivals.catalogued_as(db, self.workflow.name, [int(stamp)])
        arrivals.keep(self.store, self._session, said)
        return blocks

    # promises

    def refresh(self, *outputs: str, full: bool = False) -> Report:
        """Plan and run until nothing is due; named outputs are brought up to date whatever their bounds say.

        With `full` everything upstream is computed anew from the sources, and the content is replaced.
        """
        named = self._named(outputs, full)
        _ = self._followed
        report, excluded = Report(), frozenset[str]()
        demanded = bool(named)
        while True:
            state, now = self._begin_plan()
            problem, decision = self._decide(state, now, named, demanded, full, excluded)
            if decision.infeasible is not None:
                raise lost.missing_input(self._catalog, self.store, self._session) or decision.infeasible.error()
            if not any(s.is_delivery for s in decision.steps):
                return report
            execution = Execution(self._catalog, self.store, self._sessions, state, self._digests, self._clock.now)
            try:
                execution.run(decision, explain(problem, decision).to_json(), now)
            except Overtaken:
                report = report.with_plan(execution.done, {})
                continue
            except StepFailed as failure:
                report = report.with_plan(execution.done, {})
                if lost.leave_planning(self._catalog, self.store, self._session, failure.error):
                    continue
                if failure.avoidable <= excluded:
                    raise failure.error from failure.error.__cause__
                excluded |= failure.avoidable
                continue
            report = report.with_plan(execution.done, decision.holds_after)
            demanded = False
            retire(self._catalog, state, self._digests, self._clock.now)
            fold(self._catalog, self.store, self._sessions, state)

    def plan(self, *outputs: str, full: bool = False) -> PlanOf:
        """What `refresh` would do, and why; runs nothing and needs no Spark."""
        named = self._named(outputs, full)
        with self._catalog.look() as db:
            state = self._load(db)
        now = state.now(self._now)
        problem, decision = self._decide(state, now, named, bool(named), full, frozenset())
        return PlanOf(decision, explain(problem, decision) if decision.due else None, now)

    def _decide(
        self, state: State, now: Stamp, named: list[str], demanded: bool, full: bool, excluded: frozenset[str]
    ) -> tuple[Problem, Decision]:
        """The plan for what is due, or for what is demanded.

        An output that holds nothing is filled with the newest there is: a bound says how old content may become, and
        nobody wants it to begin old. If that cannot be done, within the bounds.
        """
        problem = state.problem(now, self._network.without(excluded) if excluded else self._network)
        if demanded:
            sought = self._demanded(problem, named, full)
            return sought, decide(sought, due=named)
        due = [o for o in problem.due() if not named or o in named]
        empty = [o for o in due if problem.holds[o] is None]
        if empty:
            sought = self._demanded(problem, empty, False)
            filled = decide(sought, due=due)
            if filled.infeasible is None:
                return sought, filled
        return problem, decide(problem, due=due)

    def _named(self, outputs: tuple[str, ...], full: bool) -> list[str]:
        return [self._output(o) for o in outputs] or (list(self.workflow.outputs) if full else [])

    def _begin_plan(self) -> tuple[State, Stamp]:
        """The state to plan on, and its `now`, which no later arrival will be stamped with."""
        with self._catalog.transaction() as db:
            state = self._load(db)
            now = state.now(self._now)
            record = db.get(WorkflowRecord, self.workflow.name)
            assert record is not None
            record.planned_at = max(record.planned_at, int(now))
            return state, now

    def _demanded(self, problem: Problem, outputs: list[str], full: bool) -> Problem:
        """The problem of bringing `outputs` to the newest snapshots, if `full` from the sources alone."""
        network = problem.network
        fresh = [Staleness(o, i, 0) for o in outputs for i in range(len(network.inputs[o]))]
        others = [s for s in network.staleness if s.channel not in outputs]
        variants = tuple(v for v in network.variants if not (full and v.foreign and v.signature.incremental))
        demanded = Network(network.inputs, variants, network.outputs, (*others, *fresh), network.inconsistency)
        if not full:
            return replace(problem, network=demanded)
        blocks = {c: b for c, b in problem.blocks.items() if self.workflow.channels[c].is_source}
        return replace(problem, network=demanded, blocks=blocks, holds={**problem.holds, **dict.fromkeys(outputs)})

    @cached_property
    def _followed(self) -> list[str]:
        """The outputs of which the catalog knew less than their logs when this engine first refreshed."""
        with self._sessions.lent() as session:
            return held.follow(self._catalog, self.store, session, self._network.inputs)

    def recover(self, *, force: bool = False) -> Recovered:
        """Rebuild a catalog that was lost from what lies in the home; returns what was found, and what was not used.

        Arrivals and deliveries come back as they were, derived blocks as far as they can be proved; the rest is
        computed again. Nothing else may use the home meanwhile. A catalog that knows something is left alone, unless
        `force` says that it is to be emptied first.
        """
        store = Store(self._session, self.home, self.workflow)
        network = compile_workflow(self.workflow, ENGINE, store.schemas.drifting)
        with self._sessions.lent() as session:
            found = recover(self._catalog, store, session, network, self._now, force=force)
        with self._catalog.look() as db:
            state = states.load(db, self.workflow.name, network, self._digests, self.workflow.sources)
        retire(self._catalog, state, self._digests, self._clock.now)
        return found

    def vacuum(self, older_than: Duration = "1 day", *, dry_run: bool = False) -> list[Vacuumed]:
        """Drop the files of blocks that no plan can use any more, and of attempts that came to nothing.

        What arrived, what consumers hold or were fed, and whatever is younger than `older_than` stays.
        """
        with self._catalog.look() as db:
            needed = states.attempts(db, self.workflow.name, [n for n, o in self.workflow.outputs.items() if o.feed])
        with self._sessions.lent() as session:
            needed |= held.fed(self.store, session)
            dropped = vacuum(self.store, session, needed, older_than=microseconds(older_than) / 1e6, dry_run=dry_run)
        if not dry_run:
            point("vacuum-dropped")
            with self._catalog.transaction() as db:
                states.forget(db, self.workflow.name, {v.attempt for v in dropped})
        return dropped

    # questions

    def read(self, channel: str, at: Stamp | datetime | str | None = None) -> DataFrame:
        """What the consumer of an output holds; of another channel, its newest readable content.

        `at` is a time, for what was there then, or the id of a block.
        """
        found, moment = self.workflow.channel(channel), reading.moment(at)
        with self._catalog.look() as db:
            if isinstance(moment, str):
                source: Stored | Inline = reading.block(db, self._load(db), found.name, moment)
            elif found.name in self.workflow.outputs:
                return self._held(reading.delivery(db, self.workflow.name, found.name, moment))
            else:
                source = reading.content(
                    db, self._load(db), self.workflow, self._digests, found.name, moment, self._now
                )
        return operand(self.store, self._session, source, View.PUBLIC).rows

    def _held(self, delivery: DeliveryRecord) -> DataFrame:
        if not self.workflow.outputs[delivery.output].feed:
            return Published(self.store, delivery.output).read(self._session, delivery.version)
        content = Feed(self.store, delivery.output).content(self._session, delivery.number)
        return see(self.store.read(self._session, delivery.output, BASE, content), View.PUBLIC)

    def provenance(self, channel: str, at: Stamp | datetime | None = None) -> ProvenanceOf:
        """Which snapshots of which inputs `read` shows; needs no Spark."""
        found, moment = self.workflow.channel(channel), reading.moment(at)
        assert not isinstance(moment, str)
        with self._catalog.look() as db:
            state = self._load(db)
            if found.name in self.workflow.outputs:
                delivery = reading.delivery(db, self.workflow.name, found.name, moment)
                content = reading.reflected(state, delivery)
            else:
                shown = reading.content(db, state, self.workflow, self._digests, found.name, moment, self._now)
                content = shown.block.target
        return ProvenanceOf(found.name, content, found.pathways, History(state.timelines, state.now(self._now)))

    def status(self) -> StatusOf:
        """Every output with its freshness and consistency against each bound; needs no Spark."""
        with self._catalog.look() as db:
            return status(db, self._load(db), self.workflow, self._now)

    def history(self, limit: int = 20) -> HistoryOf:
        """The last steps that were tried, with what they were expected to cost and what they did; needs no Spark."""
        with self._catalog.look() as db:
            return history(db, self.workflow.name, limit)

    def feed(self, output: str) -> Feed:
        """The feed of an output that was declared with `feed=`."""
        name = self._output(output)
        if not self.workflow.outputs[name].feed:
            raise StoreError(
                f"{name}: is published as a table, not as a feed; read it, or declare wf.output({name!r}, feed=…)."
            )
        return Feed(self.store, name)

    @property
    def _now(self) -> int:
        return self._clock.now()

    # what it stands on

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started if it was not."""
        return self._session

    @cached_property
    def _session(self) -> SparkSession:
        if self._spark is None or isinstance(self._spark, Mapping):
            from pyspark import SparkContext

            self._owns_session = SparkContext._active_spark_context is None
            return sessions.start(self._spark)
        sessions.check(self._spark)
        return self._spark

    @cached_property
    def _sessions(self) -> sessions.Sessions:
        return sessions.Sessions(self._session)

    @cached_property
    def store(self) -> Store:
        """The blocks on Delta."""
        made = Store(self._session, self.home, self.workflow)
        if made.schemas.drifting != self._drifting:
            self._drifting = made.schemas.drifting
            self.__dict__.pop("_network", None)
        with self._catalog.transaction() as db:
            for name in made.schemas.stored:
                record = db.get(ChannelRecord, (self.workflow.name, name))
                assert record is not None
                record.columns = made.schemas.public(name).simpleString()
                record.drifting = self.workflow.channels[name].widget in made.schemas.drifting
        arrivals.check(self._catalog, made, self._session)
        return made

    @cached_property
    def _network(self) -> Network:
        return compile_workflow(self.workflow, ENGINE, self._drifting)

    def _load(self, db: Any) -> State:
        return states.load(db, self.workflow.name, self._network, self._digests, self.workflow.sources)

    def _define(self) -> frozenset[str]:
        """Make the catalog know this definition; returns the aggregates that are known to drift."""
        drifting = set()
        with self._catalog.transaction() as db:
            if db.get(WorkflowRecord, self.workflow.name) is None:
                db.add(WorkflowRecord(name=self.workflow.name))
            for name, digest in self._digests.items():
                known = db.get(ChannelRecord, (self.workflow.name, name))
                if known is None:
                    db.add(ChannelRecord(workflow=self.workflow.name, name=name, digest=digest))
                elif known.digest != digest:
                    known.digest, known.columns, known.drifting = digest, None, False
                elif known.drifting and (widget := self.workflow.channels[name].widget):
                    drifting.add(widget)
        return frozenset(drifting)

    def _output(self, name: str) -> str:
        found = self.workflow.channel(name).name
        if found not in self.workflow.outputs:
            raise unknown("output", found, self.workflow.outputs, f"workflow {self.workflow.name!r}")
        return found


class Arrival:
    """Waves on several sources that arrive together."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.offered_at = engine._clock.now()
        self.written: list[arriving.Arrived] = []
        self.blocks: list[Block] = []
        """The blocks that arrived, once they have."""

    def ingest(self, channel: str, rows: DataFrame, kind: str | None = None) -> None:
        """Add a wave; see `Engine.ingest`."""
        if any(w.channel == channel for w in self.written):
            raise IngestError(f"{channel}: has a wave in this arrival already; offer its rows together.")
        self.written.append(self._engine.write_arrival(channel, rows, kind))
