"""The engine: data comes in, promises are kept, questions are answered (DESIGN 7 and 8)."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from olston import arrivals, declared, events, held, identity, polling, reading, setbacks, taken
from olston import ingest as arriving
from olston import state as states
from olston.arrive import arrive
from olston.attempt import new_attempt
from olston.block import BASE, Block
from olston.catalog.records import DeliveryRecord, WorkflowRecord
from olston.costs import CostsOf
from olston.definition import together
from olston.duration import Duration, microseconds
from olston.errors import CatalogError, IngestError, OlstonError, StepError, StoreError
from olston.faults import point
from olston.feed import Feed
from olston.ground import Ground
from olston.maintain import retire
from olston.operators.columns import View, see
from olston.planned import PlanOf
from olston.planning import Demand, Planning
from olston.provenance import Stamp
from olston.published import Published
from olston.release import release
from olston.report import HistoryOf, ProvenanceOf, Report, StatusOf
from olston.retention import forget_history
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.decide import Decision
from olston.scheduler.explain import explain
from olston.scheduler.infeasible import Infeasible
from olston.schema import resolve
from olston.standing import standing
from olston.status import history, report, status
from olston.step import Inline, Stored, operand
from olston.store import Store
from olston.subscription import Subscription

# what carries plans out is imported where it is used: questions need none of it, and are to be answered at once

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from sqlmodel import Session

    from olston.recover import Recovered
    from olston.trace import TraceOf
    from olston.vacuum import Vacuumed


class Engine(Ground):
    """Runs one workflow in `home`, a folder or any path that Spark can write.

    `catalog` is a database URL, by default a SQLite file in `home`; `spark` a session, or settings for one, which is
    started when it is first needed. With a `retention`, `vacuum` lets go of input that arrived longer ago.
    """

    def __repr__(self) -> str:
        return f"<Engine of workflow {self.workflow.name!r} in {self.home!r}>"

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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

    def poll(self, *sources: str, anew: bool = False) -> list[Block]:
        """Let arrive what is new at followed sources, all of them if none is named; returns the blocks.

        Each source gives at most one wave, and all waves have one stamp. Every file and every change arrives once,
        whoever else polls and whenever one is killed. A source that cannot be taken holds back no other: its error
        is raised when they have arrived, and `status` tells of it until it can. With `anew`, all there is now replaces
        what the source had.
        """
        self._declare_sources()
        offered_at, found, outcomes = self.now, [], dict[str, Exception | None]()
        for name in dict.fromkeys(self._followed(s) for s in sources) or self.workflow.follows:
            try:
                with self._catalog.look() as db:
                    known = taken.position(db, self.workflow.name, name)
                with self._sessions.lent() as session:
                    new = polling.look(self.store, session, name, known, self._digests[name], anew=anew)
            except Exception as error:
                outcomes[name] = error
            else:
                outcomes[name] = None
                found += [new] if new is not None else []
        if found:
            point("wave-written")
        blocks = self._arrive([], offered_at, found)
        with suppress(CatalogError):  # who asks for the status would not see it; what is wrong is raised below
            setbacks.polled(self._catalog, self.workflow.name, outcomes, offered_at)
        faults = [error for error in outcomes.values() if error is not None]
        if faults:
            for other in faults[1:]:
                faults[0].add_note(str(other))
            raise faults[0]
        return blocks

    def write_arrival(self, channel: str, rows: DataFrame, kind: str | None) -> arriving.Arrived:
        """Write a wave that has not arrived yet."""
        self._declare_sources()
        source = self.workflow.channel(channel)
        followed = self.workflow.follows.get(source.name)
        if followed is not None and followed.table is not None:
            raise IngestError(f"{channel}: follows {followed}, and is what that is; write there, then poll.")
        chosen = kind or ("append" if source.key is None else "replace")
        with self._sessions.lent() as session:
            written = arriving.write(self.store, session, source.name, rows, chosen, new_attempt())
        point("wave-written")
        return written

    def _arrive(
        self, waves: list[arriving.Arrived], offered_at: int, polled: Sequence[taken.Found] = ()
    ) -> list[Block]:
        """Stamp what was written; of what was `polled`, what nobody else took meanwhile."""
        identity.check(self._catalog, self._session, self.home, self.workflow.name)
        with self._catalog.transaction() as db:
            for found in polled:
                digest = self._digests[found.channel]
                mine = taken.take(db, self.workflow.name, found, digest)
                waves += [replace(found.wave, taken=found.told(digest))] if mine and found.wave is not None else []
            blocks = arrive(db, self._planning, waves, offered_at, self.now)
        self._scheduling.wake()
        if blocks:
            point("arrival-catalogued")
            with self._catalog.look() as db:
                (said,) = arrivals.catalogued_as(db, self.workflow.name, [int(blocks[0].stamp)])
            arrivals.keep(self.store, self._session, said)
        return blocks

    # promises

    def refresh(self, *outputs: str, full: bool = False) -> Report:
        """Plan and run until nothing is due; named outputs are brought up to date whatever their bounds say.

        With `full` everything upstream is computed anew from the sources, and the content is replaced. If another
        scheduler serves the workflow, it is asked to, and waited for.
        """
        self.refuse_paused()
        self._recognise()
        about = {
            "refresh": self._named(outputs, full), "full": full, "by": self._scheduling.lease.holder,
            "definition": together(self._digests),
        }  # fmt: skip
        command = self._scheduling.command(about)
        done = self._scheduling.fulfil(command)
        if done.error is not None:
            raise done.error
        if "error" in done.answer:
            raise StepError(done.answer["error"], code=done.answer["code"])
        with self._catalog.look() as db:
            return report(db, done.state or self._planning.load(db), done.answer.get("plans", []))

    def plan(self, *outputs: str, full: bool = False) -> PlanOf:
        """What `refresh` would do, and why; runs nothing and needs no Spark."""
        named = self._named(outputs, full)
        self._recognise()
        with self._catalog.look() as db:
            state, unusable = self._planning.load(db), declared.unusable(db, self.workflow)
        demand = Demand(tuple(named), full) if named else None
        now = state.now(self.now)
        planned = self._planning.plan(state, now, demand)
        if not planned.decision.due and (soon := self._planning.ahead(state, now).soon(now)):
            planned = self._planning.plan(state, now, soon=soon)
        if unusable is not None and (due := planned.decision.due):  # bounds are not what is in the way
            planned = replace(planned, decision=Decision(due, infeasible=Infeasible(due, (), None, unusable)))
        evidence = explain(planned.problem, planned.decision) if planned.decision.due else None
        changes = () if self._declared else self._difference.changes
        decided = planned.decision, evidence, planned.now, planned.problem
        return PlanOf(*decided, self.workflow, full, changes, self._paused, state.outdated)

    def serve(self, *, stop: threading.Event | None = None) -> None:
        """Keep the promises until told to stop, by `stop`, SIGTERM or Ctrl-C: steps that run then may finish.

        While another scheduler serves the workflow, it waits.
        """
        from olston.serve import serve

        self._recognise()
        serve(self, self._scheduling, stop or threading.Event())

    def pause(self) -> None:
        """Begin nothing until `resume`; what runs finishes. Data may go on arriving."""
        self._pause(True)

    def resume(self) -> None:
        """Go on after `pause`."""
        self._pause(False)

    def _pause(self, paused: bool) -> None:
        self._recognise()
        self._declare_sources()
        with self._catalog.transaction() as db:
            record = db.get(WorkflowRecord, self.workflow.name)
            assert record is not None
            record.paused = paused
            events.happen(db, self.workflow.name, events.COMMAND, {"pause": paused}, self.now)
        self._scheduling.wake()

    @property
    def _paused(self) -> bool:
        with self._catalog.look() as db:
            record = db.get(WorkflowRecord, self.workflow.name)
        return record is not None and record.paused

    def refuse_paused(self) -> None:
        """An error if nothing is to be begun until `resume`."""
        if self._paused:
            raise OlstonError(f"workflow {self.workflow.name!r}: is paused; resume it first.", code="PAUSED")

    def _named(self, outputs: tuple[str, ...], full: bool) -> list[str]:
        return [self._output(o) for o in outputs] or (list(self.workflow.outputs) if full else [])

    def recover(self, *, force: bool = False) -> Recovered:
        """Rebuild a catalog that was lost from what lies in the home; returns what was found, and what was not used.

        Arrivals and deliveries come back as they were, derived blocks as far as they can be proved; the rest is
        computed again. Nothing else may use the home meanwhile. A catalog that knows something is left alone, unless
        `force` says that it is to be emptied first.
        """
        from olston.recover import recover

        kept = arrivals.kept(self._session, arrivals.place(self.home, self.workflow.name))
        told = taken.columns_told((a for waves in kept for a in waves.arrivals), self._digests)
        discovered = polling.columns(self._catalog, self._session, self.workflow, self._digests, told)
        store = Store(self._session, self.home, self.workflow, resolve(self._session, self.workflow, discovered))
        network = compile_workflow(self.workflow, ENGINE, store.schemas.drifting)
        with self._sessions.lent() as session:
            found = recover(self._catalog, store, session, network, self.now, force=force)
        self._arrives = False
        self._declare()
        self._recognised = True
        with self._catalog.transaction() as db:
            planning = Planning(self.workflow, network, self._digests, self._learning)
            retire(db, planning.load(db), self._digests, self.now)
        return found

    def vacuum(
        self, older_than: Duration = "1 day", *, history: Duration = "1 week", dry_run: bool = False
    ) -> list[Vacuumed]:
        """Drop the files of blocks that no plan can use any more, and of attempts that came to nothing.

        What arrived, what consumers hold or were fed, and whatever is younger than `older_than` stays. But of what
        arrived longer ago than the engine's retention only what is needed does: a source can be read as of then no
        more. Of events, plans and steps the catalog keeps those of the time `history`, and the last of each name.
        """
        from olston.vacuum import vacuum

        with self._sessions.lent() as session:
            needed, released = held.fed(self.store, session), set[str]()
            if not dry_run:
                arrivals.rewrite(self._catalog, self.store, session)
            before = self._planning.released_before(self.now)
            if before is not None:
                known = self._planning
                spared, released = release(self._catalog, self.store, session, known, before, needed, dry_run)
                needed |= spared
            with self._catalog.look() as db:
                feeds = [n for n, o in self.workflow.outputs.items() if o.feed]
                needed |= states.attempts(db, self.workflow.name, feeds) - released
            dropped = vacuum(self.store, session, needed, older_than=microseconds(older_than) / 1e6, dry_run=dry_run)
        if not dry_run:
            self.store.memory.forget()  # what was let go is nowhere any more
            point("vacuum-dropped")
            with self._catalog.transaction() as db:
                states.forget(db, self.workflow.name, {v.attempt for v in dropped})
                forget_history(db, self.workflow.name, self.now - microseconds(history))
        return dropped

    # questions

    def read(self, channel: str, at: Stamp | datetime | str | None = None) -> DataFrame:
        """What the consumer of an output holds; of another channel, its newest readable content.

        `at` is a time, for what was there then, or the id of a block: what a base is, and what a delta led to.
        """
        found, moment = self.workflow.channel(channel), reading.moment(at)
        self._recognise()
        with self._catalog.look() as db:
            shown = self._shown(db, self._planning.load(db), found.name, moment)
        if isinstance(shown, DeliveryRecord):
            return self._held(shown)
        return operand(self.store, self._session, shown, View.PUBLIC).rows

    def _shown(
        self, db: Session, state: states.State, channel: str, at: Stamp | str | None
    ) -> DeliveryRecord | Stored | Inline:
        """What there is to read of a channel: something that was delivered, or a base."""
        known = self.workflow, self._digests, channel
        if isinstance(at, str):
            return reading.led_to(db, state, *known, at, self.now)
        if channel in self.workflow.outputs:
            return reading.delivery(db, self.workflow.name, channel, at)
        return reading.content(db, state, *known, at, self.now)

    def _held(self, delivery: DeliveryRecord) -> DataFrame:
        if not self.workflow.outputs[delivery.output].feed:
            return Published(self.store, delivery.output).read(self._session, delivery.version)
        content = Feed(self.store, delivery.output).content(self._session, delivery.number)
        return see(self.store.read(self._session, delivery.output, BASE, content), View.PUBLIC)

    def provenance(self, channel: str, at: Stamp | datetime | str | None = None) -> ProvenanceOf:
        """Which snapshots of which inputs `read` shows; needs no Spark."""
        found, moment = self.workflow.channel(channel), reading.moment(at)
        self._recognise()
        with self._catalog.look() as db:
            state = self._planning.load(db)
            shown = self._shown(db, state, found.name, moment)
            return reading.reflected(db, state, found, self._digests[found.name], shown, self.now)

    def trace(self, channel: str, where: str, at: Stamp | datetime | str | None = None) -> TraceOf:
        """Which snapshots the rows of `channel` may come from of which the condition `where`, in SQL, holds."""
        from olston import trace as tracing

        whole, found, moment = self.provenance(channel, at), self.workflow.channel(channel), reading.moment(at)
        if isinstance(moment, str) or found.name not in self.workflow.outputs:
            return tracing.trace(whole, where, self.read(channel, at), (), self._held)
        with self._catalog.look() as db:
            last = reading.delivery(db, self.workflow.name, found.name, moment)
            before = [] if whole.outdated else tracing.deliveries(db, self._planning.load(db), last)
        return tracing.trace(whole, where, self._held(last), before, self._held)

    def status(self) -> StatusOf:
        """Every output with its freshness and consistency against each bound; needs no Spark."""
        self._recognise()
        with self._catalog.look() as db:
            found = status(db, self._planning.load(db), self.workflow, self._digests, self.now)
            return replace(found, standing=standing(db, self.workflow.name))

    def history(self, limit: int = 20) -> HistoryOf:
        """The last steps that were tried, with what they were expected to cost and what they did; needs no Spark."""
        self._recognise()
        with self._catalog.look() as db:
            return history(db, self.workflow.name, limit)

    def costs(self) -> CostsOf:
        """What every variant was expected to cost and what it did, and the rates learned from that; needs no Spark."""
        self._recognise()
        with self._catalog.look() as db:
            self._planning.load(db)
        return self._learning.costs()

    def feed(self, output: str) -> Subscription:
        """The blocks handed to the consumer of an output that was declared with `feed=`."""
        name = self._output(output)
        if not self.workflow.outputs[name].feed:
            raise StoreError(
                f"{name}: is published as a table, not as a feed; read it, or declare wf.output({name!r}, feed=…)."
            )
        return Subscription(Feed(self.store, name), self._session, self._catalog, self.workflow.name, name)


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
        name = self._engine.workflow.channel(channel).name
        if any(w.channel == name for w in self.written):
            raise IngestError(f"{name}: has a wave in this arrival already; offer its rows together.")
        self.written.append(self._engine.write_arrival(channel, rows, kind))
