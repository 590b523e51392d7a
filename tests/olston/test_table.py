"""Commits to Delta, each read back from the log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from olston import table
from olston.attempt import new_attempt
from olston.errors import StoreError
from olston.transaction import IN_PLACE, Said, Write
from tests.lake import at_once, bag, bag_of, jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "x int, _weight bigint, _block string"


def rows(spark: SparkSession, *given: tuple[int, int], block: str = "b") -> DataFrame:
    return spark.createDataFrame([(*row, block) for row in given], COLUMNS)


def held(spark: SparkSession, path: str) -> Any:
    return bag_of(spark.read.format("delta").load(path))


@pytest.fixture(scope="module")
def path(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of deltas with three commits: one with a deletion, one without rows, one by somebody else."""
    path = f"{tmp_path_factory.mktemp('a table')}/größe % 1"
    first = rows(spark, (1, 1), (2, -3), block="first")
    table.append(first, path, "first", {"channel": "größe"}, partition_by=["_block"])
    table.append(rows(spark), path, "second", {}, partition_by=["_block"])
    rows(spark, (3, 1)).write.format("delta").mode("append").save(path)
    return path


def test_a_commit_is_known_by_what_the_log_says_of_it(spark: SparkSession, path: str) -> None:
    first = table.read_back(spark, path, 0)
    assert (first.version, first.rows, first.weights) == (0, 2, (-3, 1))
    assert first.bytes > 0
    assert first.metadata == {"attempt": "first", "channel": "größe"}


def test_a_commit_without_rows_is_a_commit(spark: SparkSession, path: str) -> None:
    second = table.read_back(spark, path, 1)
    assert (second.rows, second.bytes, second.weights) == (0, 0, None)
    assert second.metadata == {"attempt": "second"}


def test_the_history_is_told_newest_first_and_others_may_write_too(spark: SparkSession, path: str) -> None:
    assert [(c.version, c.metadata.get("attempt")) for c in table.history(spark, path)] == [
        (2, None),
        (1, "second"),
        (0, "first"),
    ]


def test_a_repeated_attempt_is_void_and_said_to_be(spark: SparkSession, path: str) -> None:
    before = held(spark, path)
    with pytest.raises(StoreError, match="attempt first made no commit, since one of that name was made before") as e:
        table.append(rows(spark, (9, 9), block="first"), path, "first", {}, partition_by=["_block"])
    assert e.value.code == "REPEATED_ATTEMPT"
    assert held(spark, path) == before
    assert next(table.history(spark, path)).version == 2


def test_appending_to_a_table_that_is_there_is_one_job_and_the_log_names_the_attempt(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Delta's writer would compute the state of the table to look the attempt up."""
    path = str(tmp_path / "t")
    for attempt in ("one", "two"):
        before = jobs(spark)
        table.append(rows(spark, (1, 1), block=attempt), path, attempt, {}, partition_by=["_block"])
    assert jobs(spark) == before + 1
    assert [c.series for c in table.history(spark, path)] == [("two", 1), ("one", 1)]


def test_a_delivery_that_follows_the_last_is_one_job(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for number in (1, 2):
        before = jobs(spark)
        deliver(spark, path, number, new_attempt())
    assert jobs(spark) == before + 1


def test_what_takes_the_place_of_all_is_one_job_where_the_checksum_lists_the_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Also of files of which some rows were deleted in place; who follows the changes sees all of them."""
    path = str(tmp_path / "t")
    writer = spark.range(4).selectExpr("string(id) AS x").coalesce(1).write.format("delta")
    writer.option(IN_PLACE, "true").option("delta.enableChangeDataFeed", "true").save(path)
    deliver(spark, path, 1, "one")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE x = '2'")
    before = jobs(spark)
    deliver(spark, path, 2, "two", "overwrite")
    assert jobs(spark) == before + 1
    assert held(spark, path) == bag(("two",))
    last = next(table.history(spark, path))
    assert (last.series, last.changes) == ((SERIES, 2), True)
    changes = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", last.version)
    assert bag_of(changes.load(path).select("x", "_change_type")) == bag(
        *((x, "delete") for x in ("0", "1", "3", "one")), ("two", "insert")
    )


def test_what_another_commits_meanwhile_is_not_overwritten_unseen(spark: SparkSession, tmp_path: Path) -> None:
    path, foreign = str(tmp_path / "t"), spark.createDataFrame([("foreign",)], "x string")
    deliver(spark, path, 1, "one")
    begun = Write(spark, path)
    foreign.write.format("delta").mode("append").save(path)
    with pytest.raises(Exception, match=r"ConcurrentAppend|DELTA_CONCURRENT_APPEND"):
        begun.overwrite(spark.createDataFrame([("two",)], "x string"), begun.listed() or [], Said(SERIES, 2, "{}"))
    assert held(spark, path) == bag(("one",), ("foreign",))
    assert table.last_number(spark, path, SERIES) == 1


def test_weights_are_not_made_up_where_delta_kept_no_statistics(spark: SparkSession, tmp_path: Path) -> None:
    off = "spark.databricks.delta.stats.collect"
    spark.conf.set(off, "false")
    try:
        commit = table.append(rows(spark, (1, -1)), str(tmp_path), "a", {})
    finally:
        spark.conf.unset(off)
    assert commit.weights is None
    assert commit.bytes > 0


def test_an_attempt_finds_its_commit_behind_one_with_which_delta_tidied_up(spark: SparkSession, tmp_path: Path) -> None:
    settings = {"autoCompact.enabled": "true", "autoCompact.minNumFiles": "2"}
    for key, value in settings.items():
        spark.conf.set(f"spark.databricks.delta.{key}", value)
    try:
        commit = table.append(spark.range(8).repartition(2), str(tmp_path), "a", {})
        assert [c.metadata for c in table.history(spark, str(tmp_path))] == [{}, {"attempt": "a"}]
    finally:
        for key in settings:
            spark.conf.unset(f"spark.databricks.delta.{key}")
    assert (commit.version, commit.rows) == (0, 8)


def test_a_commit_of_somebody_else_is_not_taken_for_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    table.append(rows(spark, (1, 1)), str(tmp_path), "mine", {})
    with pytest.raises(StoreError, match="version 0 is not of attempt yours, which wrote it, but of mine"):
        table.committed(spark, str(tmp_path), "yours")


def test_writers_that_make_one_table_at_once_all_succeed(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "new")

    def writing(x: int) -> Any:
        return lambda own: table.append(rows(own, (x, 1), block=f"a{x}"), path, f"a{x}", {}, partition_by=["_block"])

    commits = at_once(spark, *[writing(x) for x in range(3)])
    assert sorted(c.version for c in commits) == [0, 1, 2]
    assert held(spark, path) == bag((0, "a0"), (1, "a1"), (2, "a2"))


SERIES = "olston:test:out"


def deliver(own: SparkSession, path: str, number: int, attempt: str, mode: str = "append") -> None:
    with table.numbered(own, path, SERIES, number, attempt, {"output": "out"}) as made:
        rows = own.createDataFrame([(attempt,)], "x string")
        if mode == "append":
            made.append(rows)
        elif mode == "in the place of all" or not made.overwrite(rows):
            rows.write.format("delta").mode("overwrite").save(path)


def test_of_two_that_commit_the_same_number_at_once_one_does(spark: SparkSession, tmp_path: Path) -> None:
    """On a table that is not there, by appending, and by writing it anew."""
    path = str(tmp_path / "numbered")
    expected: list[str] = []
    for number, mode in enumerate(["append", "append", "overwrite", "overwrite", "in the place of all"], 1):
        attempts = [new_attempt() for _ in range(2)]
        tries = [lambda own, a=a, n=number, m=mode: deliver(own, path, n, a, m) for a in attempts]
        ends = at_once(spark, *tries)
        assert [type(e) for e in ends if e is not None] == [StoreError], ends
        lost = next(i for i, e in enumerate(ends) if e is not None)
        winner, loser = attempts[1 - lost], attempts[lost]
        assert ends[lost].code == "NUMBER_TAKEN"
        assert f"number {number} of {SERIES} was committed by {winner}, so attempt {loser} is void" in str(ends[lost])
        assert table.last_number(spark, path, SERIES) == number
        expected = [*expected, winner] if mode == "append" else [winner]
        assert held(spark, path) == bag(*((a,) for a in expected))
    with pytest.raises(StoreError, match=r"\[NUMBER_TAKEN\]"):
        deliver(spark, path, 2, new_attempt())
    with pytest.raises(StoreError, match=f"attempt {expected[0]} has committed number 5 of {SERIES} already"):
        deliver(spark, path, 5, expected[0])
    assert held(spark, path) == bag(*((a,) for a in expected))


def test_a_failure_within_a_number_leaves_it_free_and_the_session_as_it_was(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    deliver(spark, path, 1, "one")
    with pytest.raises(ZeroDivisionError), table.numbered(spark, path, SERIES, 2, "two", {}):
        print(1 / 0)
    assert table.last_number(spark, path, SERIES) == 1
    assert spark.conf.get("spark.databricks.delta.write.txnAppId", None) is None
    deliver(spark, path, 2, "three")
    assert held(spark, path) == bag(("one",), ("three",))


def test_tidying_up_is_no_change_and_everything_else_is(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    for name in ("one", "two"):
        table.append(spark.createDataFrame([(name,)], "v string"), path, new_attempt(), {})
    assert table.changed_since(spark, path, 0)
    assert not table.changed_since(spark, path, 1)
    spark.sql(f"OPTIMIZE delta.`{path}`").collect()
    assert not table.changed_since(spark, path, 1)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE v = 'one'").collect()
    assert table.changed_since(spark, path, 2)
    assert not table.changed_since(spark, path, 3)
