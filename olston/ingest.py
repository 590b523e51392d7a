"""Arrivals: data that is offered becomes a block of a source (DESIGN 8).

    append   rows to add                                            Δ⁺
    delta    rows to add and to delete, by a column `_weight`       Δ
    replace  rows that supersede those of their keys; of a key
             whose row has `_deleted`, nothing is left              δ_replace
    base     everything there is from now on                        B

What does not fit is refused with what was offered and what is declared. The data is written first and judged
then, as written: an offer may be read once only. What was refused is known to nobody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston import table
from olston.block import BASE, DELTA, MONOTONE, Block, Kind
from olston.content import Content
from olston.errors import IngestError, OlstonError, unknown
from olston.failure import reason
from olston.keys import repeated
from olston.operators import bag
from olston.operators.columns import DELETED, WEIGHT, col
from olston.operators.weak import Replace
from olston.provenance import Provenance, Stamp
from olston.step import Stored
from olston.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from olston.channel import Channel

KINDS = ("append", "replace", "delta", "base")
MOST = 2**31 - 1
"""How often a row of a delta can be added or deleted at most."""


@dataclass(frozen=True)
class Arrived:
    """What was written, still without a stamp."""

    channel: str
    kind: Kind
    content: Content
    rows: int
    attempt: str
    taken: dict[str, Any] | None = None
    """What of a followed source it is, as `olston.taken` tells it."""

    def at(self, stamp: Stamp, after: Stamp) -> Stored:
        """The block it is if it arrives at `stamp`, `after` the newest snapshot until then."""
        source = None if self.kind == BASE else Provenance.at(after)
        block = Block(self.channel, self.kind, Provenance.at(stamp), source, self.rows, True, self.attempt)
        return Stored(block, self.content.arrived(stamp))


def write(
    store: Store,
    session: SparkSession,
    channel: str,
    offered: DataFrame,
    kind: str,
    attempt: str,
) -> Arrived:
    """Write what is offered to source `channel`. `offered` is of `session` or of one it was cloned from.

    `session` must not be used by another thread meanwhile; that of `offered` may be.
    """
    from pyspark.sql import DataFrame

    source = store.workflow.channel(channel)
    if not source.is_source:
        raise IngestError(
            f"{channel}: is made by {source.widget!r}, and data arrives at sources only: "
            f"{', '.join(store.workflow.sources)}."
        )
    if kind not in KINDS:
        raise unknown("kind of arrival", kind, KINDS, f"source {channel!r}")
    if kind == "replace" and source.key is None:
        raise IngestError(
            f"{channel}: rows are replaced by key, and none is declared; say wf.source(…, key=…), or append."
        )
    if not isinstance(offered, DataFrame):
        raise IngestError(
            f"{channel}: was offered a {type(offered).__name__}, and takes a DataFrame of Spark; make one with "
            "engine.spark.createDataFrame(…)."
        )
    rows = _fitting(store.schemas.public(channel), channel, table.within(session, offered), kind)
    try:
        return _written(store, session, source, rows, kind, attempt)
    except OlstonError:
        raise
    except Exception as error:
        raise IngestError(
            f"{channel}: what was offered could not be read and written: {reason(error)} Nothing of it has arrived; "
            "correct it and offer it again."
        ) from error


def _written(
    store: Store,
    session: SparkSession,
    source: Channel,
    rows: DataFrame,
    kind: str,
    attempt: str,
) -> Arrived:
    channel = source.name
    metadata = {"channel": channel, "arrival": kind}
    label = f"the {kind} of {channel}, block {attempt}"
    if kind == "base":
        written, content = BASE, store.write_base(channel, rows, attempt, metadata)
    elif kind == "replace":
        weak = next(w for w in source.weak if isinstance(w, Replace))
        written, content = store.write_delta(channel, weak.kind, rows, attempt, metadata, label)
    else:
        changes = bag.weigh(rows) if kind == "append" else bag.net(rows)
        written, content = store.write_delta(
            channel, MONOTONE if kind == "append" else DELTA, changes, attempt, metadata, label
        )
    if source.key is not None:
        _refuse_repeated_keys(store.read(session, channel, written, content), channel, source.key)
    count = content.anchor.rows if content.anchor else content.parts[0].rows
    return Arrived(channel, written, content, count, attempt)


def _fitting(declared: StructType, channel: str, offered: DataFrame, kind: str) -> DataFrame:
    """`offered` with the declared columns in their order, and the one its kind adds."""
    from pyspark.sql import functions as F

    refuse_drift(declared, channel, offered.schema, kind)
    extra = _EXTRA.get(kind)
    columns = [col(n) for n in declared.names]
    if extra == DELETED:
        gone = F.coalesce(col(DELETED), F.lit(False)) if DELETED in offered.columns else F.lit(False)
        return offered.select(*columns, gone.alias(DELETED))
    if extra == WEIGHT:
        weight = col(WEIGHT).cast("bigint")
        missing = f"{channel}: a row of the delta has no {WEIGHT}"
        fault = F.when(weight.isNull(), missing).otherwise(
            F.concat(F.lit(f"{channel}: a row of the delta has a {WEIGHT} beyond ±{MOST:,}: "), weight.cast("string"))
        )
        checked = F.when(weight.between(-MOST, MOST), weight).otherwise(F.raise_error(fault).cast("bigint"))
        return offered.select(*columns, checked.alias(WEIGHT))
    return offered.select(*columns)


def refuse_drift(declared: StructType, place: str, offered: StructType, kind: str) -> None:
    """Raise an `IngestError` for `place` unless the columns `offered` are the declared ones and that of the kind."""
    extra = _EXTRA.get(kind)
    types = {f.name: f.dataType for f in offered.fields}
    wanted = {f.name: f.dataType for f in declared.fields}
    faults = [f"column {n!r} is missing" for n in wanted if n not in types]
    faults += [f"column {n!r} is not declared" for n in types if n not in wanted and n != extra]
    faults += [
        f"column {n!r} is {types[n].simpleString()} and not {t.simpleString()}"
        for n, t in wanted.items()
        if n in types and not _same(types[n], t)
    ]
    faults += [f"column {n!r} is there more than once" for n in types if offered.names.count(n) > 1]
    if extra == WEIGHT and extra not in types:
        faults.append(f"a delta says in {WEIGHT!r} how often each row is added, or deleted if negative")
    if extra in types and types[extra].simpleString() not in _OF[extra]:
        faults.append(f"column {extra!r} is {types[extra].simpleString()} and not {_OF[extra][0]}")
    if faults:
        raise IngestError(
            f"{place}: {'; '.join(faults)}. Offered: {offered.simpleString()}. Declared: "
            f"{declared.simpleString()}. Rename, cast or drop columns of what you offer, or declare the source anew.",
            code="SCHEMA_DRIFT",
        )


_EXTRA = {"delta": WEIGHT, "replace": DELETED}
_OF = {WEIGHT: ("bigint", "int", "smallint", "tinyint"), DELETED: ("boolean",)}


def _same(offered: object, declared: object) -> bool:
    """Whether two types are the same but for what may be null."""
    from olston.schema import nullable

    return bool(nullable(offered) == nullable(declared))


def _refuse_repeated_keys(rows: DataFrame, channel: str, key: tuple[str, ...]) -> None:
    examples = repeated(rows, key)
    if examples:
        raise IngestError(
            f"{channel}: one wave has several rows of one key ({', '.join(key)}): {'; '.join(examples)}. Keep one row "
            "of each key in what you offer.",
            code="REPEATED_KEY",
        )
