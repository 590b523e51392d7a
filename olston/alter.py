"""Bringing a delta with deletions to a published table, in one commit: by a MERGE on its key, or by rewriting it.

A MERGE is right only where each key that changes has one row, which goes, and at most one that comes: where different
snapshots met, a key may have several. So the table is looked at first. Rows that supersede all of their keys need no
look: whatever has one of these keys is marked as deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olston import table
from olston.errors import BlockError, StoreError
from olston.operators import bag
from olston.operators.columns import PREFIX, WEIGHT, anti, col, conjunction, few, quoted, semi
from olston.operators.operand import Operand
from olston.scheduler.ways import MERGE, MOST_KEYS, REWRITE, UPSERT, Way
from olston.transaction import Values

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_NEW, _THERE = f"{PREFIX}new_", f"{PREFIX}there"
_COME, _GONE, _HAD, _MISSING = (f"{PREFIX}{what}" for what in ("come", "gone", "had", "missing"))
_NULLS = ("", "__HIVE_DEFAULT_PARTITION__")
_KEPT = {
    "timestamp": "{0} <=> CAST(CAST({0} AS string) AS timestamp)",
    "binary": "{0} IS NULL OR length({0}) > 0 AND is_valid_utf8(CAST({0} AS string))",
}
"""Which values of a type a partition keeps, where these are not all."""
_COMPARED = ("string", "tinyint", "smallint", "int", "bigint")
"""Types whose values are the same in a query as in a table."""
MOST_PARTITIONS = 500
"""Partitions that are replaced one by one; beyond, the whole table is."""


def allowed(held: DataFrame, delta: Operand, key: Sequence[str]) -> Way:
    """The first of MERGE, UPSERT and REWRITE that is right for `delta`; an error if it deletes what is not there."""
    from pyspark.sql import functions as F

    weight, zero = col(WEIGHT), F.lit(0)
    there = semi(held, delta.rows, key, delta.small)
    columns = bag.identity(delta.rows)

    def counted(rows: DataFrame, come: Column, gone: Column, had: Column) -> DataFrame:
        counts = {_COME: come, _GONE: gone, _HAD: had}
        return rows.select(*map(col, columns), *[n.cast("bigint").alias(name) for name, n in counts.items()])

    both = bag.union(
        counted(delta.rows, F.greatest(weight, zero), F.greatest(-weight, zero), zero),
        counted(there, zero, zero, F.lit(1)),
    )
    rows = both.groupBy(*map(col, columns)).agg(*[F.sum(c).alias(c) for c in (_COME, _GONE, _HAD)])
    rows = rows.withColumn(_MISSING, col(_GONE) > col(_HAD))
    keys = rows.groupBy(*map(col, key)).agg(
        *[F.sum(c).alias(c) for c in (_COME, _GONE, _HAD)], F.max(_MISSING).alias(_MISSING)
    )
    several = (col(_COME) > 1) | (col(_GONE) > 1) | (col(_GONE) != col(_HAD))
    found = keys.agg(
        F.max(_MISSING).alias("missing"), F.max(several).alias("several"), F.max(col(_HAD) == 0).alias("new")
    ).first()
    assert found is not None
    if found["missing"]:
        _refuse_missing(held, delta)
    return REWRITE if found["several"] else UPSERT if found["new"] else MERGE


def values(rows: DataFrame, key: Sequence[str], keys: DataFrame | None = None) -> Values | None:
    """The values that `rows` have in `key`; `None` if there are too many, or if they are not compared by value.

    `keys` may have the same without the rest, which need not be computed then.
    """
    from pyspark.sql import functions as F

    types = _key_types(rows, key)
    if not set(types) <= set(_COMPARED):
        return None
    rows = keys if keys is not None and _key_types(keys, key) == types else rows
    names = [quoted(c) for c in key]
    value = names[0] if len(names) == 1 else f"concat({', '.join(map(_told_apart, names))})"
    distinct = rows.selectExpr(f"{value} AS {_THERE}").distinct().limit(MOST_KEYS + 1)
    # on its way to Java and back a text that is none would become another
    odd = F.count_if(~F.is_valid_utf8(col(_THERE).cast("string")))
    found = distinct.agg(F.collect_list(_THERE), F.count("*"), odd)._jdf.first()
    listed, count = found.getList(0), found.getLong(1)
    if count > MOST_KEYS or found.getLong(2):
        return None
    return Values(value, ", ".join(names), listed, null=count > len(listed))


def _key_types(rows: DataFrame, key: Sequence[str]) -> list[str]:
    return [f.dataType.simpleString() for f in rows.select(*map(col, key)).schema.fields]


def _told_apart(column: str) -> str:
    """A value as text that says where it ends, so that of several side by side none is taken for another."""
    text = f"CAST({column} AS string)"
    return f"coalesce(concat(length({text}), ':', {text}), '-')"


def merge(session: SparkSession, path: str, delta: Operand, key: Sequence[str], *, insert: bool) -> None:
    """Change or delete rows by key, and `insert` those of new keys."""
    from delta.tables import DeltaTable
    from pyspark.sql import functions as F

    columns = bag.identity(delta.rows)
    touched = delta.rows if insert else delta.rows.where(f"{WEIGHT} < 0")
    new = delta.rows.where(f"{WEIGHT} > 0")
    names = [f"{PREFIX}k{i}" for i in range(len(key))]
    keys = touched.select(*[col(c).alias(n) for c, n in zip(key, names, strict=True)]).distinct()
    values = new.select(*[col(c).alias(_NEW + c) for c in columns], F.lit(True).alias(_THERE))
    pairs = conjunction(f"{n} <=> {quoted(_NEW + c)}" for c, n in zip(key, names, strict=True))
    changes = keys.join(values, F.expr(pairs), "left")
    same = conjunction(f"t.{quoted(c)} <=> s.{n}" for c, n in zip(key, names, strict=True))
    merging = DeltaTable.forPath(session, path).alias("t").merge(few(changes, delta.small).alias("s"), same)
    there = _of("s", _THERE)
    rows: dict[str, str | Column] = {quoted(c): _of("s", _NEW + c) for c in columns}
    merging = merging.whenMatchedDelete(there.isNull()).whenMatchedUpdate(set=rows)
    (merging.whenNotMatchedInsert(there.isNotNull(), rows) if insert else merging).execute()


def as_kept(session: SparkSession, path: str, rows: DataFrame) -> DataFrame:
    """The rows as the table has them: in columns that it is partitioned by, Delta keeps some texts as null."""
    from pyspark.sql import functions as F

    texts = _blurred(session, path, rows)
    return rows.withColumns({c: F.when(~col(c).isin(*_NULLS), col(c)) for c in texts}) if texts else rows


def refuse_unkept(session: SparkSession, path: str, rows: DataFrame) -> DataFrame:
    """The rows, which fail when they are read if the table, by columns it is partitioned by, would keep others instead.

    Delta keeps such values as text: bytes that are none are lost, and in a zone that sets its clocks back two times of
    day are one.
    """
    from pyspark.sql import functions as F

    asked = {f.name: f.dataType for f in rows.schema.fields if f.dataType.simpleString() in _KEPT}
    if not asked or not table.exists(session, path):
        return rows
    parted, checked = {c.lower() for c in table.partition_columns(session, path)}, {}
    for name, kind in asked.items():
        if name.lower() in parted:
            text = F.concat(
                F.lit(f"the table at {path} is partitioned by {name!r}, where Delta does not keep the value "),
                col(name).cast("string"),
                F.lit(" as it is; partition it by another column, or use a Spark session in UTC."),
            )
            kept = F.expr(_KEPT[kind.simpleString()].format(quoted(name)))
            checked[name] = F.when(kept, col(name)).otherwise(F.raise_error(text).cast(kind))
    return rows.withColumns(checked) if checked else rows


def refuse_blurred_keys(session: SparkSession, path: str, weak: Operand, key: Sequence[str]) -> None:
    """An error if rows supersede others by a key that the table does not tell from null."""
    from pyspark.sql import functions as F

    named = {c.lower() for c in key}
    for c in (c for c in _blurred(session, path, weak.rows) if c.lower() in named):
        if weak.rows.where(F.coalesce(col(c).isin(*_NULLS), F.lit(True))).limit(1).count():
            raise StoreError(
                f"{weak.label} replaces rows by {c!r}, by which {path} is partitioned: there Delta keeps empty texts "
                f"as null, so their rows are not told apart. Deliver a strong delta, or do not partition by {c!r}."
            )


def _blurred(session: SparkSession, path: str, rows: DataFrame) -> list[str]:
    """The columns in which a table keeps some texts as null: those of text that it is partitioned by."""
    parted = {c.lower() for c in table.partition_columns(session, path)}
    return [f.name for f in rows.schema.fields if f.name.lower() in parted and f.dataType.simpleString() == "string"]


def touched_partitions(session: SparkSession, path: str, delta: Operand) -> str | None:
    """The condition on the partitions that `delta` changes; `None` if there are none, or so many that it does not pay.

    It names values as text that is cast back to the type of their column.
    """
    partitioned = table.partition_columns(session, path)
    if not partitioned:
        return None
    values = delta.rows.select(*map(col, partitioned)).distinct()
    found = values.selectExpr(*[f"CAST({quoted(c)} AS string)" for c in partitioned]).limit(MOST_PARTITIONS + 1)
    rows = found.collect()
    if not 0 < len(rows) <= MOST_PARTITIONS:
        return None
    types = {f.name.lower(): f.dataType.simpleString() for f in delta.rows.schema.fields}
    return " OR ".join(
        "(" + " AND ".join(_is(c, types[c.lower()], value) for c, value in zip(partitioned, row, strict=True)) + ")"
        for row in rows
    )


def _is(column: str, type_: str, value: str | None) -> str:
    if value is None:
        return f"{quoted(column)} IS NULL"
    text = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{quoted(column)} = CAST('{text}' AS {type_})"


def _of(alias: str, name: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(f"{alias}.{quoted(name)}")


def _refuse_missing(held: DataFrame, delta: Operand) -> None:
    """Say a row that is deleted and not there, or not as often."""
    old = delta.rows.where(f"{WEIGHT} < 0")
    columns = bag.identity(old)
    missing = anti(old, semi(held, old, columns, delta.small), columns, delta.small)
    for row in (*missing.limit(1).collect(), *old.limit(1).collect()):
        raise BlockError(f"{delta.label} deletes a row that is not there: {row.asDict()}", code=bag.MISSING)
