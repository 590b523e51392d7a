"""What the catalog remembers, as tables (DESIGN 7).

Stamps and times are microseconds since the epoch. Provenance is kept as runs of arrivals, one list for each pathway.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Column, Index
from sqlmodel import Field, SQLModel


def _json() -> Any:
    return Field(sa_column=Column(JSON, nullable=False))


def _moment(**options: Any) -> Any:
    return Field(sa_type=BigInteger, **options)


class Record(SQLModel):
    """A row. Its validators are made only if something asks for them, and nothing does: rows are our own."""

    model_config = {"defer_build": True}


class WorkflowRecord(Record, table=True):
    """A workflow. `planned_at` is the greatest `now` that a plan has used: arrivals are stamped later.

    `identity` tells this catalog from others that know a workflow of this name; its home says it too.
    """

    __tablename__ = "workflow"

    name: str = Field(primary_key=True)
    planned_at: int = _moment(default=0)
    paused: bool = False
    identity: str | None = None


class ChannelRecord(Record, table=True):
    """A channel as it was last defined. `digest` covers all that it is computed by, also upstream; `own` does not.

    `definition` is what the latter is the digest of, as `olston.definition` has it.
    """

    __tablename__ = "channel"

    workflow: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    digest: str
    own: str
    definition: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    columns: str | None = None
    drifting: bool = False


class PathwaysRecord(Record, table=True):
    """The pathways that a channel has, or had, by the definition of that digest: what it made is told by them."""

    __tablename__ = "pathways"

    workflow: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    digest: str = Field(primary_key=True)
    pathways: list[Any] = _json()


class ArrivalRecord(Record, table=True):
    """A snapshot of a source; `offered_at` is when the data was offered, by the clock.

    `taken` says what of a followed source it is, as `olston.taken` has it; `stands_for` is the oldest arrival that was
    let go because this one has all that had arrived.
    """

    __tablename__ = "arrival"

    workflow: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    stamp: int = _moment(primary_key=True)
    offered_at: int = _moment()
    block: str
    taken: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    stands_for: int | None = _moment(default=None, nullable=True)


class RewriteRecord(Record, table=True):
    """A stamp whose file in the home is to be written anew, or dropped, as the catalog has it."""

    __tablename__ = "rewrite"

    workflow: str = Field(primary_key=True)
    stamp: int = _moment(primary_key=True)


class BlockRecord(Record, table=True):
    """A block that exists. `live`: planning may still use it; of others the files may be gone."""

    __tablename__ = "block"
    __table_args__ = (Index("block_live", "workflow", "live"),)

    id: str = Field(primary_key=True)
    workflow: str
    channel: str
    kind: str
    source: list[Any] | None = Field(default=None, sa_column=Column(JSON))
    target: list[Any] = _json()
    rows: float
    relaxed: bool
    content: dict[str, Any] = _json()
    producer: str
    digest: str
    made_at: int = _moment()
    live: bool = True


class DeliveryRecord(Record, table=True):
    """What a consumer holds since delivery `number`; `version` is that of the published table, none of a feed."""

    __tablename__ = "delivery"

    workflow: str = Field(primary_key=True)
    output: str = Field(primary_key=True)
    number: int = Field(primary_key=True)
    block: str
    content: list[Any] = _json()
    digest: str
    delivered_at: int = _moment()
    version: int | None = None
    rows: int | None = Field(default=None, sa_type=BigInteger)
    """How many the consumer holds since, where that is known."""
    allows: str | None = None
    """The first of MERGE, UPSERT and REWRITE that was found possible when a delta was last looked at."""
    supersedes: bool | None = None
    """Whether rows could supersede those of their keys when that was last tried."""


class PlanRecord(Record, table=True):
    """A plan that was carried out, with the evidence for it; `fence` is the number of the scheduler that did."""

    __tablename__ = "plan"

    id: str = Field(primary_key=True)
    workflow: str = Field(index=True)
    now: int = _moment()
    due: list[Any] = _json()
    cost: float
    evidence: dict[str, Any] = _json()
    made_at: int = _moment()
    fence: int | None = None


class StepRecord(Record, table=True):
    """One attempt at a step of a plan: what it was expected to cost, and what came of it.

    `outcomes` are those of the invocations in it, as `olston.scheduler.outcome` tells them; of maintenance, `plan` is
    empty.
    """

    __tablename__ = "step"
    __table_args__ = (Index("step_of_name", "workflow", "name", "attempt"),)

    attempt: str = Field(primary_key=True)
    plan: str = Field(index=True)
    workflow: str
    name: str
    state: str
    operands: list[Any] = _json()
    results: list[Any] = _json()
    expected_seconds: float
    expected_rows: float
    seconds: float | None = None
    rows: float | None = None
    error: str | None = None
    started_at: int = _moment()
    outcomes: list[Any] = Field(default_factory=list, sa_column=Column(JSON, nullable=False, server_default="[]"))


class SetbackRecord(Record, table=True):
    """Why an output is left as it is for a while: no way to refresh it was found, or each failed.

    Or why a followed source could not be taken, by its name, and since when.
    """

    __tablename__ = "setback"

    workflow: str = Field(primary_key=True)
    output: str = Field(primary_key=True)
    error: str
    happened_at: int = _moment()


class EventRecord(Record, table=True):
    """Something that happened, in the order in which it did; handled once. A command is answered when it is done."""

    __tablename__ = "event"
    # of those not handled only, as the migration says for each database: said here, every dialect would be imported
    __table_args__ = (Index("event_pending", "workflow"),)

    id: int | None = Field(default=None, primary_key=True)
    workflow: str
    kind: str
    about: dict[str, Any] = _json()
    happened_at: int = _moment()
    handled: bool = False
    answered: bool = False
    answer: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON))


class LeaseRecord(Record, table=True):
    """Who schedules a workflow. `fence` grows with every holder."""

    __tablename__ = "lease"

    workflow: str = Field(primary_key=True)
    holder: str
    fence: int
    expires_at: int = _moment()


class CursorRecord(Record, table=True):
    """The last block of a feed that a consumer took."""

    __tablename__ = "cursor"

    workflow: str = Field(primary_key=True)
    output: str = Field(primary_key=True)
    consumer: str = Field(primary_key=True)
    number: int


class FollowedRecord(Record, table=True):
    """How far a followed source was taken: in `rounds` waves, of a table up to `version`.

    `columns` are those found there, if none were declared.
    """

    __tablename__ = "followed"

    workflow: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    rounds: int = 0
    digest: str
    table_id: str | None = None
    version: int | None = Field(default=None, sa_type=BigInteger)
    columns: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))


class TakenRecord(Record, table=True):
    """A file that was taken, as it was then, and the block its rows came with."""

    __tablename__ = "taken"

    workflow: str = Field(primary_key=True)
    channel: str = Field(primary_key=True)
    path: str = Field(primary_key=True)
    size: int = Field(sa_type=BigInteger)
    modified: int = _moment()
    block: str
