"""Keys are unique in their channel (DESIGN 3): within a wave that is seen to at ingest, across waves at a fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston.operators.columns import WEIGHT, col, public

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def repeated(rows: DataFrame, key: Sequence[str]) -> list[str]:
    """Some of the rows, at most nine, of keys that several rows have; of a delta, among those that it adds."""
    from pyspark.sql import functions as F

    there = rows.where(f"{WEIGHT} > 0") if WEIGHT in rows.columns else rows
    times = F.sum(WEIGHT) if WEIGHT in rows.columns else F.count(F.lit(1))
    shown = F.struct(*[col(c) for c in public(rows.columns)]).cast("string")
    found = (
        there.groupBy(*map(col, key))
        .agg(times.alias("__times"), F.slice(F.collect_list(F.substring(shown, 1, 200)), 1, 3).alias("__shown"))
        .where("__times > 1")
    )
    return [text for row in found.select("__shown").limit(3).collect() for text in row[0]]
