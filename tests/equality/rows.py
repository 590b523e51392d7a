"""Random data: rows of every comparable type from small domains, and histories of arrivals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from random import Random
from typing import Any

from tests.equality.bags import Row
from tests.equality.catalogue import ARRAY, DECIMAL, DOUBLES, LONG_DECIMAL, STRUCT, Column
from tests.equality.snapshots import APPEND, BASE, DELTA, REPLACE, Arrival, Arrivals, Content, Wave
from tests.equality.spec import Source, Spec

CASES = 60
NULLS = 0.2
"""The share of nulls in every column but the case."""

COARSE = (0.5, 0.0, -0.0, 1.25, 2**-20 + 1, -2.5, 1024.75, math.nan, math.inf, -math.inf)
"""Floats, and doubles, whose sums are exact, in whatever order they are added."""

DOMAINS: dict[str, tuple[Any, ...]] = {
    "tinyint": (1, 0, -(2**7), 2**7 - 1),
    "smallint": (1, 2, -(2**15), 2**15 - 1),
    "int": (1, 2, 0, -3, 5),
    "bigint": (1, 0, -7, 2**53 + 1, 2**40),
    "float": COARSE,
    # 1e16 swallows what is added to it, so an increment that takes it away again leaves too little
    "double": (0.5, 0.0, -0.0, 1.25, 0.1, -2.5, 1e16, math.nan, math.inf, -math.inf),
    DECIMAL: (Decimal("1.00"), Decimal("0.01"), Decimal("-2.35"), Decimal("99999.99")),
    LONG_DECIMAL: (
        Decimal("1.0000"), Decimal("0.0001"), Decimal("-7000000000000000000000000000.1234"),
        Decimal("8000000000000000000000000000.0001"),
    ),
    "string": ("a", "", "A", "a,b", "a|b;c", " a", "tab\tnl\n", "'\"\\", "é", "日本🙂", "null"),
    "date": (date(2024, 1, 31), date(2024, 2, 29), date(1899, 12, 31)),
    "timestamp": (
        datetime(2024, 1, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29), datetime(1969, 12, 31, 1, 2, 3, 4),
    ),
    "timestamp_ntz": (
        datetime(2024, 1, 31, 23, 59, 59, 999_999), datetime(2024, 3, 31, 2, 30), datetime(1582, 10, 10),
    ),
    "binary": (b"a", b"", b"\x00", b"a\x00", b"\xff\xfe", "é".encode(), b"\x7f"),
    "boolean": (True, False),
    ARRAY: ((1, 2), (), (2, 1), (1, None), (3,)),
    DOUBLES: ((0.0,), (-0.0,), (math.nan,), (1.25, None), (), (-math.inf, -0.0)),
    STRUCT: ((1, "a"), (2, ""), (None, "a"), (2, None), (None, None)),
}  # fmt: skip


def value(random: Random, column: Column, *, skewed: bool = False) -> Any:
    """A value of a column, or null; `skewed`, mostly one and the same."""
    if random.random() < NULLS:
        return None
    domain = COARSE if column.coarse else DOMAINS[column.type]
    return domain[0] if skewed and random.random() < 0.7 else random.choice(domain)


def row(random: Random, columns: Sequence[Column], case: int, *, skewed: bool = False) -> Row:
    """A row of `case`, which is its first column."""
    return (case, *(value(random, c, skewed=skewed) for c in columns[1:]))


class Waves:
    """Draws waves that a source can take at the time: what is deleted is there, and keys stay unique."""

    def __init__(self, random: Random, source: Source, cases: int) -> None:
        self.content, self._random, self._cases = Content(source), random, cases

    def wave(self, kind: str, *, empty: bool = False) -> Wave:
        """A wave of `kind`; an `empty` one says nothing, or as a base that nothing is left."""
        if empty:
            return Wave(kind)
        there: dict[int, list[Row]] = {}
        for r in self.content.rows.elements():
            there.setdefault(r[0], []).append(r)
        rows, deleted = [], []
        for case in range(self._cases):
            added, gone = self._of_case(kind, case, there.get(case, []))
            rows += added
            deleted += gone
        return Wave(kind, tuple(rows), tuple(deleted))

    def _of_case(self, kind: str, case: int, there: list[Row]) -> tuple[list[Row], list[Row]]:
        new = self._rows(case, there)
        if kind == REPLACE:
            rows = self._unique(new, ())
            named = [*self._some(there, 0.3), *self._some(self._rows(case, ()), 0.3)]
            return rows, [self._tombstone(r) for r in self._unique(named, rows)]
        if kind == BASE:
            return self._unique([*self._some(there, 0.5), *new], ()), []
        gone = self._some(there, 0.4) if kind == DELTA else []
        left = list(there)
        for r in gone:
            left.remove(r)
        keyed_out = [r for r in self.content.gone.values() if r[0] == case]
        return self._unique(new, [*left, *keyed_out]), gone

    def _rows(self, case: int, there: Sequence[Row]) -> list[Row]:
        random, skewed = self._random, self._random.random() < 0.3
        made: list[Row] = []
        for _ in range(random.choice((0, 0, 1, 1, 2, 3, 4))):
            known = [*there, *made]
            again = bool(known) and random.random() < 0.25
            made.append(
                random.choice(known) if again else row(random, self.content.source.columns, case, skewed=skewed)
            )
        return made

    def _some(self, rows: Iterable[Row], share: float) -> list[Row]:
        return [r for r in rows if self._random.random() < share]

    def _unique(self, rows: Iterable[Row], there: Iterable[Row]) -> list[Row]:
        """Those `rows` whose key is neither repeated nor `there`; all of them where there is no key."""
        if self.content.source.key is None:
            return list(rows)
        taken, made = {self.content.key(r) for r in there}, []
        for r in rows:
            if self.content.key(r) not in taken:
                taken.add(self.content.key(r))
                made.append(r)
        return made

    def _tombstone(self, given: Row) -> Row:
        source = self.content.source
        told = {*(source.key or ()), source.order}
        return tuple(v if c.name in told else None for v, c in zip(given, source.columns, strict=True))


def history(random: Random, spec: Spec, *, cases: int = CASES, fewest: int = 1, most: int = 5) -> Arrivals:
    """Some arrivals of one source or several under one stamp, of every kind that the sources take."""
    sources = [Waves(random, s, cases) for s in spec.sources]
    made = []
    for step in range(random.randint(fewest, most)):
        stamp = 10 * (step + 1)
        waves = {}
        for drawn in random.sample(sources, random.randint(1, len(sources))):
            source = drawn.content.source
            kinds = (APPEND, DELTA, BASE) if source.key is None else (REPLACE, APPEND, DELTA, BASE)
            wave = waves[source.name] = drawn.wave(random.choice(kinds), empty=random.random() < 0.125)
            drawn.content.take(wave, stamp)
        made.append(Arrival(stamp, waves))
    return Arrivals(tuple(made))
