"""Recovery: a catalog that was lost is rebuilt from what lies in the home (DESIGN 4).

    arrivals     from their files, exactly: what was acknowledged has one, what was not has none; with them, how far
                 followed sources were taken
    deliveries   from the logs of the published tables and of the feeds
    blocks       from the commits that describe them, as far as they can be proved; the rest is computed again

Nothing is changed but the catalog, in one transaction: a recovery that is interrupted is begun again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlmodel import Session, col, delete, select

from olston import arrivals, held, identity, taken
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, BlockRecord, DeliveryRecord, RewriteRecord, WorkflowRecord
from olston.content import Content
from olston.errors import CatalogError
from olston.faults import point
from olston.lost import gone, places
from olston.report import Shown, moment
from olston.scheduler.network import Network
from olston.store import Store
from olston.survey import Survey
from olston.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.console import RenderableType


_SHOWN = 3


@dataclass(frozen=True, repr=False)
class Recovered(Shown):
    """What was found in a home: how many arrivals, blocks and deliveries by channel; and what was not used, and why."""

    workflow: str
    home: str
    arrivals: Mapping[str, int]
    blocks: Mapping[str, int]
    deliveries: Mapping[str, int]
    ignored: tuple[tuple[str, str], ...]

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table

        counts = Table(box=None)
        counts.add_column("channel")
        for heading in ("arrivals", "blocks", "deliveries"):
            counts.add_column(heading, justify="right")
        found = (self.arrivals, self.blocks, self.deliveries)
        for channel in dict.fromkeys(c for counted in found for c in counted):
            counts.add_row(channel, *(str(counted.get(channel, "")) for counted in found))
        reasons: dict[str, list[str]] = {}
        for what, why in self.ignored:
            reasons.setdefault(why, []).append(what)
        return Group(
            f"{self.workflow}: recovered from {self.home}",
            counts,
            *(_shown(why, what) for why, what in reasons.items()),
        )


def _shown(why: str, what: list[str]) -> str:
    more = f" and {len(what) - _SHOWN} more" if len(what) > _SHOWN else ""
    return f"not used, since {why}: {'; '.join(what[:_SHOWN])}{more}"


def recover(
    catalog: Catalog, store: Store, session: SparkSession, network: Network, clock: int, *, force: bool = False
) -> Recovered:
    """Fill the catalog from the home of `store`; one that knows something is emptied first, if told to by `force`."""
    workflow = store.workflow.name
    if force:
        arrivals.complete(catalog, store, session)
    with catalog.look() as db:
        _refuse(db, catalog, workflow, force)
    waves = list(arrivals.kept(session, arrivals.place(store.home, workflow)))
    arrived = [record for w in waves for record in w.blocks]
    timelines = {
        name: Timeline(name, (a.stamp for w in waves for a in w.arrivals if a.channel == name))
        for name in store.workflow.sources
    }
    survey = Survey(store, network, timelines, max((w.stamp for w in waves), default=0))
    attempts = {name for b in arrived for name in (b.id, *Content.from_dict(b.content).attempts)}
    blocks = survey.blocks(session, attempts, clock)
    deliveries = [d for output in store.workflow.outputs for d in _deliveries(survey, session, output)]
    _leave_out_lost(survey, session, arrived)
    point("recovery-read")
    mine = identity.new()
    with catalog.transaction() as db:
        _refuse(db, catalog, workflow, force)
        for table in (ArrivalRecord, BlockRecord, DeliveryRecord, RewriteRecord):
            db.exec(delete(table).where(col(table.workflow) == workflow))
        for record in (*(a for w in waves for a in w.arrivals), *arrived, *blocks, *deliveries):
            db.add(record)
        taken.restore(db, workflow, (a for w in waves for a in w.arrivals))
        known = db.get(WorkflowRecord, workflow) or WorkflowRecord(name=workflow)
        known.planned_at = max(known.planned_at, survey.newest)
        known.identity = mine
        db.add(known)
    # after: if the catalog cannot be written, it is still that of the home; who dies here has to begin again
    identity.mark(session, store.home, workflow, mine)
    point("recovery-catalogued")
    return Recovered(
        workflow,
        store.home,
        Counter(a.channel for w in waves for a in w.arrivals),
        Counter(b.channel for b in blocks),
        Counter(d.output for d in deliveries),
        tuple(survey.ignored),
    )


def _refuse(db: Session, catalog: Catalog, workflow: str, force: bool) -> None:
    """An error if the catalog knows something of the workflow, and was not to be emptied."""
    for table in (ArrivalRecord, BlockRecord, DeliveryRecord):
        if not force and db.exec(select(table).where(col(table.workflow) == workflow).limit(1)).first() is not None:
            raise CatalogError(
                f"{workflow}: the catalog {catalog.url} is not lost: it has arrivals, blocks or deliveries. To rebuild "
                "it all the same, stop whatever uses it and call recover(force=True), or olston recover --force.",
                code="NOTHING_LOST",
            )


def _deliveries(survey: Survey, session: SparkSession, output: str) -> list[DeliveryRecord]:
    store, found = survey.store, []
    for i, delivery in enumerate(held.told(store, session, output)):
        stamps = (s for entry in delivery.content or () for s in entry)
        survey.newest = max(survey.newest, delivery.now, *map(int, stamps), 0)
        inputs = survey.network.inputs[output]
        record = held.record_of(delivery, store.workflow.name, output, survey.timelines, inputs)
        if not record.content:
            why = "what it left cannot be proved; the next refresh replaces it" if not i else "it cannot be proved"
            survey.ignored.append((f"delivery {delivery.number} to {output}", why))
        if record.content or not i:
            found.append(record)
    return found


def _leave_out_lost(survey: Survey, session: SparkSession, arrived: list[BlockRecord]) -> None:
    """Say what had arrived and is not there any more, and keep it out of planning."""
    contents = [Content.from_dict(record.content) for record in arrived]
    missing = gone(survey.store, session, {p for content in contents for p in places(content)})
    for record, content in zip(arrived, contents, strict=True):
        for place in missing.intersection(places(content)):
            record.live = False
            where, at = f"{survey.store.path(place.table)}, {place.attempt}", moment(record.target[0][0][0])
            survey.ignored.append((f"{record.channel} at {at} ({where})", "its files are gone"))
