"""Little bases that are read again and again stay in Spark's memory: what never changes need not be read twice.

New rows meet the same few scores, rates or names, wave after wave, and to resolve an overlay over and over costs more
than what is done with it. What is kept is what the files say: where Spark drops it, or loses it with an executor, it is
read from them again.
"""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from olston import table
from olston.content import Content
from olston.operators.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEPT = 8
"""Bases that are kept, those read last."""
BYTES = 64 * 2**20
"""Bytes of Spark's memory that all of them may take; files, of at most 16 MB each, may pack far more."""
NOTICED = 32
"""Bases of which it is remembered that they were read, the last ones."""

_Key: TypeAlias = tuple[str, Content]
_ROW = "row"


class Memory:
    """What of the bases of one store is kept. Used by several threads at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: OrderedDict[_Key, None] = OrderedDict()
        self._kept: OrderedDict[_Key, _Kept] = OrderedDict()
        self._last: dict[str, _Kept] = {}
        self._in_vain: set[str] = set()
        weakref.finalize(self, _let_go_apart, self._kept).atexit = False

    def has(self, channel: str, content: Content) -> bool:
        """Whether reading the base costs no more than its rows."""
        kept = self._kept.get((channel, content))
        return kept is not None and kept.is_loaded()

    def recall(self, session: SparkSession, channel: str, content: Content) -> DataFrame | None:
        """The rows of a base that is kept, for use in `session`; each time with columns of their own."""
        key = channel, content
        with self._lock:
            self._trim()
            kept = self._kept.get(key)
            if kept is None:
                return None
            if kept.is_cleared():
                _let_go([self._kept.pop(key)])
                return None
            kept.recalled = True
            self._kept.move_to_end(key)
        return _unpacked(table.within(session, kept.rows))

    def note(self, channel: str, content: Content, rows: DataFrame) -> DataFrame:
        """A base that is about to be read as `rows`; it is to be read as what this returns.

        It is kept, once computed, if it is read for the second time, or if what was kept of its channel before was read
        from memory: then what follows it will be, too. Of a channel of which something had to make room before it was
        read again nothing is kept any more, or too many would take turns in vain.
        """
        key = channel, content
        with self._lock:
            again = key in self._read
            self._read[key] = None
            if len(self._read) > NOTICED:
                self._read.popitem(last=False)
            before = self._last.get(channel)
            if channel in self._in_vain or not (again or (before is not None and before.recalled)):
                return rows
            if key not in self._kept:  # otherwise another step was as quick
                self._kept[key] = self._last[channel] = _Kept(rows)
            kept = self._kept[key]
            self._trim()
        return _unpacked(table.within(rows.sparkSession, kept.rows))

    def forget(self) -> None:
        """Keep nothing any more."""
        with self._lock:
            kept = list(self._kept.values())
            self._kept.clear()
            self._last.clear()
            self._read.clear()
            self._in_vain.clear()
        _let_go(kept)

    def _trim(self) -> None:
        """Make room, of what was not read for longest."""
        while len(self._kept) > KEPT or sum(kept.size() for kept in self._kept.values()) > BYTES:
            (channel, _), kept = self._kept.popitem(last=False)
            if not kept.recalled or kept.size() > BYTES:
                self._in_vain.add(channel)
            _let_go([kept])


class _Kept:
    """Rows that Spark keeps once they are computed, and whether they were recalled."""

    def __init__(self, rows: DataFrame) -> None:
        self.rows, self.recalled, self._was_loaded, self._size = _packed(rows).persist(), False, False, 0
        session: Any = rows.sparkSession._jsparkSession
        found = session.sharedState().cacheManager().lookupCachedData(self.rows._jdf)
        self._buffers: Any = None if found.isEmpty() else found.get().cachedRepresentation().cacheBuilder()

    def is_loaded(self) -> bool:
        """Whether all of it was computed."""
        loaded = self._buffers is not None and bool(self._buffers.isCachedColumnBuffersLoaded())
        if loaded and not self._was_loaded:
            self._was_loaded, self._size = True, int(self._buffers.sizeInBytesStats().value())
        return loaded

    def is_cleared(self) -> bool:
        """Whether somebody told Spark to keep nothing."""
        return not self.is_loaded() and (self._was_loaded or not self.rows.storageLevel.useMemory)

    def size(self) -> int:
        """Bytes in memory, as far as it was computed."""
        if not self._was_loaded:
            self.is_loaded()
        return self._size


def _let_go(kept: Iterable[_Kept]) -> None:
    for one in kept:
        with suppress(Exception):  # gone with Spark, which says so in many ways
            one.rows.unpersist()


def _let_go_apart(kept: OrderedDict[_Key, _Kept]) -> None:
    """In a thread: whatever collects garbage may be in the middle of a call to Java."""
    if kept:
        threading.Thread(target=_let_go, args=(list(kept.values()),), daemon=True).start()


def _packed(rows: DataFrame) -> DataFrame:
    """As one column: of columns of their own Spark would note the least and the greatest value, leave NaN out of that,
    and not find it again by a condition that is true of it."""
    return rows.selectExpr(f"struct({', '.join(map(quoted, rows.columns))}) AS {_ROW}")


def _unpacked(kept: DataFrame) -> DataFrame:
    return kept.select(f"{_ROW}.*")
