"""What arrived on the sources, and their snapshots: the content after the arrivals up to a stamp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.equality.bags import Bag, Row, Table, rank
from tests.equality.spec import Source

APPEND, DELTA, REPLACE, BASE = "append", "delta", "replace", "base"


@dataclass(frozen=True)
class Wave:
    """What one source got: rows to add, or that stand for their keys, or all there are.

    `deleted` are the rows of negative weight of a delta, or those marked `_deleted` of a replacement, of which only
    the key and the order count.
    """

    kind: str
    rows: tuple[Row, ...] = ()
    deleted: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Arrival:
    """Waves of one or several sources under one stamp."""

    stamp: int
    waves: Mapping[str, Wave]


@dataclass(frozen=True)
class Arrivals:
    """All that arrived, in order."""

    all: tuple[Arrival, ...]

    def stamps(self, source: str) -> tuple[int, ...]:
        """The timeline of `source`, after the empty relation at 0."""
        return (0, *(a.stamp for a in self.all if source in a.waves))

    def of_case(self, case: Any) -> Arrivals:
        """Those of one case alone: what a counterexample shows."""

        def cut(wave: Wave) -> Wave:
            rows, deleted = (tuple(r for r in bag if r[0] == case) for bag in (wave.rows, wave.deleted))
            return replace(wave, rows=rows, deleted=deleted)

        return Arrivals(tuple(replace(a, waves={s: cut(w) for s, w in a.waves.items()}) for a in self.all))

    def snapshot(self, source: Source, stamp: int) -> Table:
        """The content of `source` after its arrivals up to `stamp`."""
        content = Content(source)
        for arrival in self.all:
            if arrival.stamp <= stamp and source.name in arrival.waves:
                content.take(arrival.waves[source.name], arrival.stamp)
        return content.table()


class Content:
    """What a source holds as waves come in.

    A row that is sent again arrives again. A key that was deleted by a replacement is remembered with its order where
    the source has one, until a strong change or a base brings the key back.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows: Bag = Counter()
        self.gone: dict[Row, Row] = {}
        """The rows that said that their keys are gone, by key."""
        self._columns = tuple(c.name for c in source.columns)
        self._arrivals: dict[Row, int] = {}

    def table(self) -> Table:
        return Table(self._columns, Counter(self.rows), dict(self._arrivals))

    def key(self, row: Row) -> Row:
        """The key of `row`; of a source without one, the row."""
        return row if self.source.key is None else tuple(row[self._columns.index(c)] for c in self.source.key)

    def take(self, wave: Wave, stamp: int) -> None:
        """Let `wave` arrive."""
        if wave.kind == REPLACE:
            return self._replace(wave, stamp)
        if wave.kind == BASE:
            self.rows.clear()
            self._arrivals.clear()
            self.gone.clear()
        net: Bag = Counter(wave.rows)
        net.subtract(wave.deleted)
        for row, weight in net.items():
            if self.rows[row] + weight < 0:
                raise ValueError(f"{self.source.name}: {row} is deleted more often than it is there")
            self._set(row, self.rows[row] + weight, stamp if weight > 0 else None)
            if weight > 0:
                self.gone.pop(self.key(row), None)

    def _replace(self, wave: Wave, stamp: int) -> None:
        standing = {self.key(row): row for row in self.rows}
        for row, goes in [*((r, False) for r in wave.rows), *((r, True) for r in wave.deleted)]:
            key = self.key(row)
            rival = standing.get(key, self.gone.get(key))
            if rival is not None and self._order(rival) > self._order(row):
                continue
            if key in standing:
                self._set(standing[key], 0, None)
            self.gone.pop(key, None)
            if not goes:
                self._set(row, 1, stamp)
            elif self.source.order is not None:
                self.gone[key] = row

    def _order(self, row: Row) -> tuple[Any, ...]:
        order = self.source.order
        return () if order is None else rank(row[self._columns.index(order)])

    def _set(self, row: Row, count: int, arrival: int | None) -> None:
        if count:
            self.rows[row] = count
            if arrival is not None:
                self._arrivals[row] = arrival
        else:
            self.rows.pop(row, None)
            self._arrivals.pop(row, None)
