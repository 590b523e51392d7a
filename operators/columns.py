"""The columns that olston adds to a user's rows, and what each reader sees of them.

A *stored* row may carry hidden columns: what an aggregate needs to be incremented, the order by which a
late row loses, the tombstone of a key that is gone. They travel with the rows of their channel and are
never shown: operators of other channels and consumers read the *public* rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WEIGHT = "_weight"
"""How often a row of a strong delta was added, or deleted if negative."""
DELETED = "_deleted"
"""In a replacement: this row only says that its key is gone. Bases keep such rows where a late row may lose to them."""
BLOCK = "_block"
"""Which attempt wrote a row of a table of deltas."""
PREFIX = "__"
PART = f"{PREFIX}part"
"""The position of a block within a chain."""
ARRIVAL = "__arrival"
"""The stamp of the block that brought a row, where `extract` needs it to tell the newest."""
ORDER = "__order"
"""By which `extract` tells late rows."""
ROWS = "__rows"
"""Rows in a group, by which it retires."""

ALL = ("*",)
"""The key of a channel in which every row is unique: all of its columns."""


class View(Enum):
    """What a reader sees of stored rows."""

    PUBLIC = "the user's columns"
    ARRIVAL = "the user's columns, and when each row arrived"
    STORED = "everything"


def is_reserved(name: str) -> bool:
    """Whether users may not name a column so; Spark tells names apart without regard to case."""
    return name.lower() in (WEIGHT, DELETED, BLOCK, *ALL) or name.startswith(PREFIX)


def is_hidden(name: str) -> bool:
    return name == DELETED or name.startswith(PREFIX)


def public(columns: Iterable[str]) -> list[str]:
    """The user's columns among `columns`."""
    return [c for c in columns if not is_reserved(c)]


def key_columns(key: Sequence[str], columns: Iterable[str]) -> list[str]:
    """The columns of `key`, which may be all of the user's."""
    return public(columns) if tuple(key) == ALL else list(key)


def see(rows: DataFrame, view: View, *, tombstones: bool = False) -> DataFrame:
    """`rows` as `view` shows them; with `tombstones`, rows that say that a key is gone are shown, and marked."""
    if view is View.STORED:
        return rows
    shown = [c for c in rows.columns if not is_hidden(c)]
    if view is View.ARRIVAL and ARRIVAL in rows.columns:
        shown.append(ARRIVAL)
    if DELETED in rows.columns:
        if tombstones:
            shown.append(DELETED)
        else:
            rows = rows.where(f"NOT {DELETED}")
    if WEIGHT in rows.columns and ARRIVAL in rows.columns and view is View.PUBLIC:
        rows = rows.where(f"{WEIGHT} <> 0")  # says only that such a row arrived again
    return rows if shown == rows.columns else rows.selectExpr(*map(quoted, shown))


def quoted(name: str) -> str:
    """A name as SQL text has it, dots and all."""
    return "`" + name.replace("`", "``") + "`"


def col(name: str) -> Column:
    """The column of exactly that name."""
    from pyspark.sql import functions as F

    return F.col(quoted(name))


def conjunction(conditions: Iterable[str]) -> str:
    """All of `conditions`."""
    return _balanced(list(conditions) or ["true"], "AND")


def _balanced(terms: Sequence[str], operation: str) -> str:
    """The terms put together as a balanced tree: Spark runs out of stack on a chain of a few hundred columns."""
    level = list(terms)
    while len(level) > 1:
        level = [f"({f' {operation} '.join(level[i : i + 2])})" for i in range(0, len(level), 2)]
    return level[0]


def few(rows: DataFrame, small: bool) -> DataFrame:
    """`rows`, sent to every task if they are known to be few, so that what they are joined with is not shuffled."""
    return rows.hint("broadcast") if small else rows


def semi(rows: DataFrame, keys: DataFrame, on: Sequence[str], small: bool, *, sql: bool = False) -> DataFrame:
    """The `rows` whose columns `on` occur in `keys`; nulls are equal unless `sql`."""
    return _by(rows, keys, on, small, sql, "left_semi")


def anti(rows: DataFrame, keys: DataFrame, on: Sequence[str], small: bool) -> DataFrame:
    """The `rows` whose columns `on` do not occur in `keys`; nulls are equal."""
    return _by(rows, keys, on, small, False, "left_anti")


def _by(rows: DataFrame, keys: DataFrame, on: Sequence[str], small: bool, sql: bool, how: str) -> DataFrame:
    from pyspark.sql import functions as F

    # under other names, since both sides may come from one table; as text, since a call for each column takes its time
    names, mine = [f"{PREFIX}k{i}" for i in range(len(on))], [quoted(c) for c in on]
    renamed = [f"{c} AS {n}" for c, n in zip(mine, names, strict=True)]
    same = [f"{c} {'=' if sql else '<=>'} {n}" for c, n in zip(mine, names, strict=True)]
    if sql or not small or not on or _types(rows, on) != _types(keys, on):
        other = keys.selectExpr(*renamed or ["true"])
        return rows.join(few(other, small), F.expr(conjunction(same)), how)
    # One number to look up is twice as fast as all columns with their nulls. As a sum, or Spark would take what is
    # compared after that for keys to look up as well.
    digest, equal = f"{PREFIX}hash", _balanced([f"CAST({s} AS INT)" for s in same], "+")
    numbered = keys.selectExpr(*renamed, f"xxhash64({', '.join(mine)}) AS {digest}")
    condition = f"xxhash64({', '.join(mine)}) = {digest} AND {equal} = {len(on)}"
    return rows.join(few(numbered, small), F.expr(condition), how)


def _types(rows: DataFrame, columns: Iterable[str]) -> list[object]:
    """The types of `columns`, whose names may be spelt otherwise."""
    types = {f.name.lower(): f.dataType for f in rows.schema.fields}
    return [types[c.lower()] for c in columns]
