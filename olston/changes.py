"""A Delta table that is followed by its change feed: its content once, then what changed since."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston.errors import IngestError
from olston.failure import reason
from olston.operators.columns import WEIGHT, col

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FEED = "delta.enableChangeDataFeed"
_OF_FEED = ("_change_type", "_commit_version", "_commit_timestamp")


@dataclass(frozen=True)
class Followed:
    """A Delta table as it is now; `id` stays with it, and not with one made anew in its place."""

    name: str
    id: str
    version: int
    feed: bool

    @property
    def sql(self) -> str:
        """The table, as SQL names it."""
        return f"delta.`{self.name}`" if is_path(self.name) else self.name


def is_path(name: str) -> bool:
    """Whether `name` is a path, and not the name of a table in a catalog."""
    return "/" in name and "`" not in name


def look(session: SparkSession, channel: str, name: str) -> Followed:
    """The table `name`, a path or as SQL names it."""
    from delta.tables import DeltaTable

    try:
        found = DeltaTable.forPath(session, name) if is_path(name) else DeltaTable.forName(session, name)
        (detail,) = found.detail().select("id", "location", "properties").collect()
        jvm: Any = session._jvm
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(session._jsparkSession, detail["location"])
        nothing = jvm.scala.Option.empty()
        version = int(log.update(False, nothing, nothing).version())
    except Exception as error:
        raise IngestError(
            f"{channel}: follows table {name}, which cannot be read: {reason(error)} Name a Delta table as SQL does, "
            "or by a path with a slash in it."
        ) from error
    return Followed(name, detail["id"], version, detail["properties"].get(_FEED, "").lower() == "true")


def refuse_without_feed(channel: str, table: Followed) -> None:
    """Raise an error unless the table records what changes."""
    if not table.feed:
        raise IngestError(
            f"{channel}: follows table {table.name}, which does not record its changes; run ALTER TABLE {table.sql} "
            f"SET TBLPROPERTIES ({_FEED} = true).",
            code="NO_CHANGE_FEED",
        )


def content(session: SparkSession, table: Followed) -> DataFrame:
    """All rows of the table, at its version."""
    reader = session.read.format("delta").option("versionAsOf", table.version)
    return reader.load(table.name) if is_path(table.name) else reader.table(table.name)


def changes(session: SparkSession, table: Followed, since: int) -> DataFrame:
    """What changed after version `since`, with weights."""
    from pyspark.sql import functions as F

    reader = session.read.format("delta").option("readChangeFeed", "true")
    reader = reader.option("startingVersion", since + 1).option("endingVersion", table.version)
    rows = reader.load(table.name) if is_path(table.name) else reader.table(table.name)
    added = col(_OF_FEED[0]).isin("insert", "update_postimage")
    return rows.withColumn(WEIGHT, F.when(added, 1).otherwise(-1).cast("bigint")).drop(*_OF_FEED)


def columns(session: SparkSession, table: Followed) -> Any:
    """The columns of the table."""
    return content(session, table).schema
