"""The two readings of every function in the catalogue agree: Spark's, and the one in plain Python."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.equality import rows
from tests.equality.bags import Bag, Row, Table, differences, plain
from tests.equality.catalogue import (
    Column,
    Rowwise,
    Whole,
    arrays,
    conditions,
    either,
    expressions,
    kept,
    missing,
    negated,
    top,
)
from tests.equality.evaluate import Evaluator
from tests.equality.snapshots import APPEND, Arrival, Arrivals, Wave
from tests.equality.spec import CASE, Aggregate, Measure, Source, Spec
from tests.equality.workflows import POOL

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = (CASE, *POOL)


@pytest.fixture(scope="module")
def table() -> Table:
    random = Random(0)
    drawn = [rows.row(random, COLUMNS, case, skewed=case % 2 > 0) for case in range(20) for _ in range(9)]
    return Table(tuple(c.name for c in COLUMNS), Counter(drawn))


@pytest.fixture(scope="module")
def frame(spark: SparkSession, table: Table) -> DataFrame:
    schema = ", ".join(f"{c.name} {c.type}" for c in COLUMNS)
    return spark.createDataFrame(list(table.rows.elements()), schema).cache()


def collected(frame: DataFrame) -> Bag:
    return Counter(plain(row) for row in frame.collect())


def test_rows_survive_the_way_to_spark_and_back(table: Table, frame: DataFrame) -> None:
    assert not differences(collected(frame), table.rows)


@pytest.mark.parametrize("column", POOL, ids=lambda c: c.name)
def test_expressions(column: Column, table: Table, frame: DataFrame) -> None:
    found = [*expressions(column), *conditions(column), *map(negated, conditions(column))]
    found += [either(e, conditions(POOL[0])[0]) for e in conditions(column)]
    agree(Rowwise((("c", kept(CASE)), *((f"y{i}", e) for i, e in enumerate(found)))), table, frame)


@pytest.mark.parametrize("column", POOL, ids=lambda c: c.name)
def test_arrays_and_conditions(column: Column, table: Table, frame: DataFrame) -> None:
    condition = conditions(column)[0]
    agree(Rowwise((("c", kept(CASE)),), condition), table, frame)
    for array, kind in arrays(column):
        select = (("c", kept(CASE)), ("e", kept(Column("e", kind))))
        agree(Rowwise(select, negated(condition), ("e", array)), table, frame)


@pytest.mark.parametrize("f", [top(2, c.name) for c in POOL], ids=lambda f: f.text)
def test_top(f: Whole, table: Table, frame: DataFrame) -> None:
    assert not differences(collected(f.spark(frame)), f.python(table))


def test_missing(table: Table, frame: DataFrame) -> None:
    few: Bag = Counter({row: n for row, n in table.rows.items() if row[0] % 3})
    others = Table(table.columns, few)
    for column in POOL:
        f = missing(("c", column.name))
        assert not differences(collected(f.spark(frame, frame.where("c % 3 > 0"))), f.python(table, others))


def test_measures_and_their_types(table: Table, frame: DataFrame) -> None:
    from pyspark.sql import functions as F

    spark = {"var": "var_samp", "stddev": "stddev_samp"}
    numbers = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
    wanted = [Measure(f, c.name) for c in POOL for f in ("min", "max")]
    wanted += [Measure(f, c.name) for c in POOL if c.type.startswith(numbers) for f in ("sum", "avg", "var", "stddev")]
    wanted.remove(Measure("avg", "l"))  # see `LONG_DECIMAL`
    source = Source("items", COLUMNS)
    node = Aggregate("out", "items", ("c",), tuple((f"y{i}", m) for i, m in enumerate(wanted)))
    spec = Spec((source, node))
    made = frame.groupBy("c").agg(
        *[F.expr(f"{spark.get(m.function, m.function)}({m.column})").alias(name) for name, m in node.columns]
    )
    arrivals = Arrivals((Arrival(1, {"items": Wave(APPEND, tuple(table.rows.elements()))}),))
    assert [f.dataType.simpleString() for f in made.schema] == [c.type for c in spec.columns("out")]
    assert not differences(collected(made), Evaluator(spec, arrivals)("out", (1,)))


def agree(f: Rowwise, table: Table, frame: DataFrame) -> None:
    made = f.spark(frame)
    assert [field.dataType.simpleString() for field in made.schema] == [c.type for c in f.columns]
    wanted: Counter[Row] = Counter()
    for row, n in table.rows.items():
        for result in f.python(table.named(row)):
            wanted[result] += n
    assert not differences(collected(made), wanted)
