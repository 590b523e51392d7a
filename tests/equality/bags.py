"""Bags of rows in plain Python: what the evaluator computes with, and how its bags are compared with Spark's.

A row is a tuple of Python values in the order of its columns. Arrays and structs are tuples too, and every
NaN is the one object `math.nan`, so that rows are equal and hash alike exactly when Spark groups them together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
Bag: TypeAlias = Counter[Row]

TOLERANCE = 1e-9
"""Relative, and near zero absolute: sums of doubles depend on the order in which they are added."""


@dataclass(frozen=True)
class Table:
    """A bag of rows with the names of its columns, and when each row arrived, where that is known.

    Of equal rows the newest arrival counts.
    """

    columns: tuple[str, ...]
    rows: Bag
    arrivals: Mapping[Row, int] | None = None

    def at(self, row: Row, columns: Iterable[str]) -> Row:
        """The values of `row` in `columns`."""
        return tuple(row[self.columns.index(c)] for c in columns)

    def named(self, row: Row) -> dict[str, Any]:
        return dict(zip(self.columns, row, strict=True))


def plain(value: Any) -> Any:
    """`value`, as Spark gives it, in the form in which rows hold it."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, bytearray):
        return bytes(value)
    return math.nan if isinstance(value, float) and math.isnan(value) else value


def rank(value: Any) -> tuple[Any, ...]:
    """A key that sorts as Spark does: null is smallest, NaN greatest; arrays and structs go by their elements."""
    if value is None:
        return (0,)
    if isinstance(value, float) and math.isnan(value):
        return (2,)
    return (1, tuple(map(rank, value)) if isinstance(value, tuple) else value)


def differences(found: Mapping[Row, int], wanted: Mapping[Row, int]) -> Bag:
    """How often each row is found more often than wanted, or less if negative; empty if the two are the same.

    Rows whose doubles are equal within `TOLERANCE` are one row, also within one of the bags.
    """
    left: Bag = Counter(found)
    left.subtract(wanted)
    clusters: dict[Row, list[tuple[Row, Bag]]] = {}
    for row, weight in left.items():
        if not weight:
            continue
        alike = clusters.setdefault(tuple(float if isinstance(v, float) else v for v in row), [])
        for first, cluster in alike:
            if _close(first, row):
                cluster[row] += weight
                break
        else:
            alike.append((row, Counter({row: weight})))
    return Counter(
        {first: total for alike in clusters.values() for first, bag in alike if (total := sum(bag.values()))}
    )


def contains(bag: Iterable[Row], row: Row) -> bool:
    """Whether `row` is in `bag`, its doubles within `TOLERANCE`."""
    return any(row == other or _close(row, other) for other in bag)


def _close(one: Row, other: Row) -> bool:
    return all(
        a == b or (isinstance(a, float) and isinstance(b, float) and _near(a, b))
        for a, b in zip(one, other, strict=True)
    )


def _near(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
