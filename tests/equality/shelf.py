"""A store whose tables Spark holds in memory.

What the equality tests is what operators and overlays do to rows. A commit to Delta and a scan of it take as long as
many of those steps, so that only some workflows go through Delta.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olston.operators.columns import WEIGHT, col
from olston.store import Store
from olston.table import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

SETTINGS = {
    # or Spark would compute on the driver what is to run as in a real job
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation",
    "spark.sql.datetime.java8API.enabled": "true",  # dates and timestamps that survive the way through Java
}


class Shelf(Store):
    """Keeps what is written as a list of rows in the JVM."""

    def __init__(self, session: SparkSession, home: str, *given: Any) -> None:
        super().__init__(session, home, *given)
        for key, value in SETTINGS.items():
            session.conf.set(key, value)
        self._tables: dict[str, tuple[Any, StructType]] = {}

    def _append(
        self, rows: DataFrame, name: str, attempt: str, metadata: Mapping[str, Any], partition_by: Sequence[str] = ()
    ) -> Commit:
        jvm: Any = rows.sparkSession._jvm
        written, _ = self._tables.setdefault(name, (jvm.java.util.ArrayList(), rows.schema))
        before = written.size()
        written.addAll(rows._jdf.collectAsList())
        count = written.size() - before
        weights = None
        if WEIGHT in rows.columns and count:
            new = self._frame(rows.sparkSession, written.subList(before, before + count), rows.schema)
            found = [row[0] for row in new.select(col(WEIGHT)).collect()]
            weights = min(found), max(found)
        return Commit(0, count, count, count, weights, {})

    def _load(self, session: SparkSession, name: str, ids: Collection[str]) -> DataFrame:
        return self._frame(session, *self._tables[name])

    def _frame(self, session: SparkSession, rows: Any, schema: StructType) -> DataFrame:
        from pyspark.sql import DataFrame

        java: Any = session._jsparkSession
        return DataFrame(java.createDataFrame(rows, java.parseDataType(schema.json())), session)
