"""What an engine stands on: its catalog, Spark, the blocks in its home, and that these belong together.

All of it is made when it is first needed, so that questions start no Spark.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from olston import arrivals, identity, polling, setbacks, shipped
from olston.catalog import Catalog, beside
from olston.catalog.records import ChannelRecord
from olston.clock import Clock, SystemClock
from olston.declared import agrees, compare, declare, declare_sources
from olston.definition import digests
from olston.duration import Duration, span_of
from olston.errors import SchemaError, unknown
from olston.learning import Learning
from olston.lease import Lease
from olston.once import once
from olston.planning import Planning
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.network import Network
from olston.schema import resolve
from olston.store import Store

# what carries plans out is imported where it is used: questions need none of it, and are to be answered at once

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from olston.scheduling import Scheduling
    from olston.session import Sessions
    from olston.worker import Worker
    from olston.workflow import Workflow


class Ground:
    """One workflow, as it is defined here, and all by which it is kept and computed.

    The catalog knows the definition that was last acted by; asking changes nothing of that, and neither does bringing
    data, but for the sources.
    """

    def __init__(
        self,
        workflow: Workflow,
        home: str = "lake",
        *,
        clock: Clock | None = None,
        catalog: str | None = None,
        spark: SparkSession | Mapping[str, str] | None = None,
        retention: Duration | None = None,
    ) -> None:
        self.workflow, self.home = workflow, _placed(str(home).rstrip("/"))
        self._clock, self._spark = clock or SystemClock(), spark
        self._retention = None if retention is None else span_of("retention", retention)
        self._catalog = Catalog(catalog or beside(self.home))
        self._digests, self._learning = digests(workflow), Learning(workflow.name)
        self._owns_session = False
        self._declared = self._arrives = self._recognised = False
        workflow.check()
        with self._catalog.look() as db:
            self._difference = compare(db, workflow)
        self._drifting, self._typed = self._difference.drifting, self._difference.typed

    def close(self) -> None:
        """Let go of the catalog, and of the Spark session if the engine started it."""
        try:
            if "store" in self.__dict__:
                self.store.memory.forget()
            if self._owns_session:
                self._session.stop()
        finally:
            self._catalog.close()

    @property
    def now(self) -> int:
        """The time by the engine's clock."""
        return self._clock.now()

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started if it was not."""
        return self._session

    @once
    def _session(self) -> SparkSession:
        from olston import session as sessions

        shipped.register()
        if self._spark is None or isinstance(self._spark, Mapping):
            from pyspark import SparkContext

            mine = SparkContext._active_spark_context is None
            started = sessions.start(self._spark)
            self._owns_session = mine  # now, not before: closing would start what did not start once more
            return started
        sessions.check(self._spark)
        return self._spark

    @once
    def _sessions(self) -> Sessions:
        from olston.session import Sessions

        return Sessions(self._session)

    @once
    def store(self) -> Store:
        """The blocks on Delta."""
        discovered = polling.columns(self._catalog, self._session, self.workflow, self._digests)
        schemas = resolve(self._session, self.workflow, discovered)
        made = Store(self._session, self.home, self.workflow, schemas)
        if made.schemas.drifting != self._drifting:
            self._drifting = made.schemas.drifting
            self.__dict__.pop("_network", None)
        self._typed = True
        identity.refuse_strange(self._catalog, self._session, self.home, self.workflow.name)
        arrivals.check(self._catalog, made, self._session)
        if self._arrives:
            self._settle_in(made)
        else:
            identity.check(self._catalog, self._session, self.home, self.workflow.name)
        return made

    @property
    def _planning(self) -> Planning:
        return Planning(self.workflow, self._network, self._digests, self._learning, self._retention)

    @once
    def _network(self) -> Network:
        return compile_workflow(self.workflow, ENGINE, self._drifting)

    @once
    def _worker(self) -> Worker:
        from olston.worker import Worker

        return Worker(self.store, self._sessions, self._catalog, self._network.inputs)

    @once
    def _scheduling(self) -> Scheduling:
        from olston.scheduling import Scheduling

        return Scheduling(
            self._catalog, self.workflow.name, self._declare, self._sure_planning, lambda: self._worker, self._clock.now
        )

    def _sure_planning(self) -> Planning:
        """For plans that are carried out: types of columns decide which variants are right, and Spark knows them."""
        if not self._typed:
            try:
                _ = self.store
            except SchemaError as error:  # nothing can be planned, and whoever asks for the status is to see why
                with self._catalog.transaction() as db:
                    setbacks.record(db, self.workflow.name, self.workflow.outputs, error, self._clock.now())
                raise
        return self._planning

    def _declare(self, lease: Lease | None = None) -> None:
        """Make the catalog know this definition, before anything is done by it. Questions leave it as it is."""
        with self._catalog.look() as db:
            known = agrees(db, self.workflow.name, self._digests)
        if not known:
            with self._catalog.transaction() as db:
                if lease is not None:
                    lease.check(db)
                declare(db, self.workflow)
        if "store" in self.__dict__ and not (known and self._arrives):
            self._settle_in(self.store)
        self._declared = self._arrives = True

    def _declare_sources(self) -> None:
        """Make the catalog know the sources, before anything arrives there."""
        if not self._arrives:
            with self._catalog.transaction() as db:
                declare_sources(db, self.workflow)
            self._arrives = True
            if "store" in self.__dict__:
                self._settle_in(self.store)

    def _settle_in(self, store: Store) -> None:
        """Let the home be known as that of the catalog, and the catalog know the columns of every channel."""
        identity.claim(self._catalog, self._session, self.home, self.workflow.name)
        with self._catalog.transaction() as db:
            for name in store.schemas.stored:
                record = db.get(ChannelRecord, (self.workflow.name, name))
                if record is None or record.digest != self._digests[name]:
                    continue  # another definition rules, and this one only brings data
                record.columns = store.schemas.public(name).simpleString()
                record.drifting = self.workflow.channels[name].widget in store.schemas.drifting

    def _recognise(self) -> None:
        """See that the catalog is that of the home, and not an older one, before anything is said by it."""
        identity.check_here(self._catalog, self.home, self.workflow.name, marks_only=self._recognised)
        self._recognised = True

    def _followed(self, name: str) -> str:
        found = self.workflow.channel(name).name
        if found not in self.workflow.follows:
            raise unknown("followed source", found, self.workflow.follows, f"workflow {self.workflow.name!r}")
        return found

    def _output(self, name: str) -> str:
        found = self.workflow.channel(name).name
        if found not in self.workflow.outputs:
            raise unknown("output", found, self.workflow.outputs, f"workflow {self.workflow.name!r}")
        return found


def _placed(home: str) -> str:
    """A relative path as it is now: Java would take it from the folder in which it was started."""
    return home if urlsplit(home).scheme else os.path.abspath(home)
