"""What consumers hold, as the logs of their tables and feeds tell it; the catalog follows them.

A delivery is one commit, and a crash may fall between it and the catalog. So an engine looks, before it first
refreshes, whether a log is ahead of the catalog, and again whenever somebody else has delivered first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING

from sqlmodel import Session, col, select

from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, DeliveryRecord
from olston.errors import OlstonError, StoreError
from olston.failure import reason
from olston.feed import Feed
from olston.provenance import Provenance
from olston.published import Delivery, Published
from olston.state import pack
from olston.store import Store
from olston.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOREIGN = "FOREIGN_COMMIT"
"""The code of the error that a table was changed by somebody else."""


def told(store: Store, session: SparkSession, output: str, after: int = 0) -> Iterator[Delivery]:
    """The deliveries after number `after` that the log of an output tells of, the newest first.

    If the newest is not in the log any more, it comes without content: nobody knows what the consumer holds.
    """
    if store.workflow.outputs[output].feed:
        for fed in reversed(list(Feed(store, output).after(session, after))):
            yield Delivery(
                fed.number, None, fed.content, fed.stored.block.id, "", fed.digest, fed.now, fed.delivered_at
            )
        return
    published = Published(store, output)
    last = published.last(session)
    if last <= after:
        return
    found = list(takewhile(lambda d: d.number > after, published.deliveries(session)))
    if not found or found[0].number != last:
        yield Delivery(last, None, None, "", "")
    yield from found


def record_of(
    delivery: Delivery, workflow: str, output: str, timelines: Mapping[str, Timeline], inputs: Sequence[str]
) -> DeliveryRecord:
    """A delivery as the catalog keeps it; content with snapshots that are not known is not known, so it is replaced."""
    known = delivery.content is not None and fits(delivery.content, timelines, inputs)
    return DeliveryRecord(
        workflow=workflow,
        output=output,
        number=delivery.number,
        block=delivery.block,
        content=pack(timelines, inputs, delivery.content) if known and delivery.content is not None else [],
        digest=delivery.digest if known else "",
        delivered_at=delivery.delivered_at,
        version=delivery.version,
        rows=delivery.held,
    )


def fits(provenance: Provenance, timelines: Mapping[str, Timeline], inputs: Sequence[str]) -> bool:
    """Whether `provenance` has the pathways from `inputs` and names snapshots that they have."""
    return len(provenance) == len(inputs) and all(
        stamp in timelines[name] for name, entry in zip(inputs, provenance, strict=True) for stamp in entry
    )


@dataclass(frozen=True)
class Followed:
    """What came of following logs: the outputs of which something was learned, and why others could not be followed."""

    moved: tuple[str, ...] = ()
    faults: Mapping[str, OlstonError] = field(default_factory=dict)


def follow(catalog: Catalog, store: Store, session: SparkSession, inputs: Mapping[str, Sequence[str]]) -> Followed:
    """Let the catalog follow every log that is ahead of it; one that cannot be read is no fault of the others.

    `inputs` are the input channels of the pathways of each channel.
    """
    workflow, moved, faults = store.workflow.name, [], {}
    for output in store.workflow.outputs:
        with catalog.look() as db:
            known = _last(db, workflow, output)
        try:
            news = _news(store, session, output, known)
        except Exception as error:
            faults[output] = _unreadable(store, output, error)
            continue
        if not news:
            continue
        with catalog.transaction() as db:
            timelines = {name: Timeline(name, _arrivals(db, workflow, name)) for name in store.workflow.sources}
            for delivery in news:
                if db.get(DeliveryRecord, (workflow, output, delivery.number)) is None:
                    db.add(record_of(delivery, workflow, output, timelines, inputs[output]))
        moved.append(output)
    return Followed(tuple(moved), faults)


def _news(store: Store, session: SparkSession, output: str, known: int) -> list[Delivery]:
    return list(told(store, session, output, known)) if _consumer(store, output).last(session) > known else []


def _consumer(store: Store, output: str) -> Feed | Published:
    return Feed(store, output) if store.workflow.outputs[output].feed else Published(store, output)


def _unreadable(store: Store, output: str, error: Exception) -> OlstonError:
    if isinstance(error, OlstonError):
        return error
    fault = StoreError(
        f"{output}: the log of {_consumer(store, output).place} cannot be read: {reason(error)} It is left as it is, "
        "and others go on. Restore its log, or move it away: the next delivery writes it anew.",
        code="LOG_UNREADABLE",
    )
    fault.__cause__ = error
    return fault


def disown(catalog: Catalog, workflow: str, output: str) -> None:
    """Make the catalog know that a consumer does not hold what was delivered, so that it is given all of it anew."""
    with catalog.transaction() as db:
        known = db.get(DeliveryRecord, (workflow, output, _last(db, workflow, output)))
        if known is not None:
            known.digest = ""


def fed(store: Store, session: SparkSession) -> set[str]:
    """The attempts whose files are needed by what was handed to feeds."""
    feeds = (Feed(store, output) for output, publication in store.workflow.outputs.items() if publication.feed)
    return {attempt for feed in feeds for given in feed.after(session) for attempt in given.stored.content.attempts}


def is_behind(error: OlstonError) -> bool:
    """Whether a delivery failed since the catalog does not know what the consumer holds."""
    return error.code in ("NUMBER_TAKEN", FOREIGN)


def _last(db: Session, workflow: str, output: str) -> int:
    known = select(DeliveryRecord.number).where(DeliveryRecord.workflow == workflow, DeliveryRecord.output == output)
    return db.exec(known.order_by(col(DeliveryRecord.number).desc()).limit(1)).first() or 0


def _arrivals(db: Session, workflow: str, source: str) -> list[int]:
    known = select(ArrivalRecord.stamp).where(ArrivalRecord.workflow == workflow, ArrivalRecord.channel == source)
    return list(db.exec(known.order_by("stamp")))
