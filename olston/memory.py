"""Little bases that are read again and again stay in Spark's memory: what never changes need not be read twice.

New rows meet the same few scores, rates or names, wave after wave, and to resolve an overlay over and over costs more
than what is done with it. What is kept is what the files say: where Spark drops it, or loses it with an executor, it is
read from them again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from olston import table
from olston.content import Content
from olston.operators.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEPT = 8
"""Bases that are kept, those read last; each is little, so no more than 16 MB of files."""
NOTICED = 32
"""Bases of which it is remembered that they were read, the last ones."""

_Key: TypeAlias = tuple[str, Content]
_ROW = "row"


class Memory:
    """What of the bases of one store is kept. Used by several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: OrderedDict[_Key, None] = OrderedDict()
        self._again: set[str] = set()
        self._kept: OrderedDict[_Key, DataFrame] = OrderedDict()

    def has(self, channel: str, content: Content) -> bool:
        """Whether reading the base costs no more than its rows."""
        return (channel, content) in self._kept

    def recall(self, session: SparkSession, channel: str, content: Content) -> DataFrame | None:
        """The rows of a base that is kept, for use in `session`; each time with columns of their own."""
        with self._lock:
            kept = self._kept.get((channel, content))
            if kept is None:
                return None
            self._kept.move_to_end((channel, content))
        return _unpacked(table.within(session, kept))

    def note(self, channel: str, content: Content, rows: DataFrame) -> DataFrame:
        """A base that is about to be read as `rows`; it is to be read as what this returns.

        They are kept, once computed, if the channel is one that is read again, which is known when some base of it is
        read for the second time.
        """
        key = channel, content
        with self._lock:
            if key in self._read:
                self._again.add(channel)
            self._read[key] = None
            if len(self._read) > NOTICED:
                self._read.popitem(last=False)
            if channel not in self._again:
                return rows
        kept = _packed(rows).persist()
        with self._lock:
            self._kept[key] = kept
            gone = self._kept.popitem(last=False)[1] if len(self._kept) > KEPT else None
        if gone is not None:
            gone.unpersist()
        return _unpacked(kept)

    def forget(self) -> None:
        """Keep nothing any more."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
            self._read.clear()
            self._again.clear()
        for rows in kept:
            context = rows.sparkSession.sparkContext._jsc
            if context is not None and not context.sc().isStopped():  # otherwise it went with the session
                rows.unpersist()


def _packed(rows: DataFrame) -> DataFrame:
    """As one column: of columns of their own Spark would note the least and the greatest value, leave NaN out of that,
    and not find it again by a condition that is true of it."""
    return rows.selectExpr(f"struct({', '.join(map(quoted, rows.columns))}) AS {_ROW}")


def _unpacked(kept: DataFrame) -> DataFrame:
    return kept.select(f"{_ROW}.*")
