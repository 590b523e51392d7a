"""What a consumer of deltas alone begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.schema import resolve
from tests.lake import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def workflow(job: Callable[[Any], Any], feed: set[str], after: str = "true") -> ol.Workflow:
    wf = ol.Workflow("w")
    counts = wf.source("visits", "site string").aggregate("counts", by="site", n=ol.count())
    made = wf.batch("job", [counts], job)
    wf.output(made.filter("out", after), feed=feed)
    return wf


def total(counts: Any) -> Any:
    """A row whatever there is."""
    from pyspark.sql import functions as F

    return counts.agg(F.lit("all").alias("site"), F.count("*").alias("n"))


def with_a_constant(counts: Any) -> Any:
    """A row that stays as it is, so that no delta would ever have it."""
    return counts.union(counts.sparkSession.range(1).selectExpr("'none' AS site", "0L AS n"))


@pytest.mark.parametrize("job", [total, with_a_constant])
def test_what_has_rows_before_anything_has_arrived_does_not_go_to_a_consumer_of_deltas_alone(
    spark: SparkSession, job: Callable[[Any], Any]
) -> None:
    with pytest.raises(ol.WorkflowError, match=r"out: .*deltas alone.* job makes rows .*'n': 0.*accept B too"):
        resolve(spark, workflow(job, {"Δ"}))
    resolve(spark, workflow(job, {"B", "Δ"}))
    resolve(spark, workflow(job, {"Δ"}, after="n > 0"))


def test_what_makes_nothing_of_nothing_does(spark: SparkSession) -> None:
    resolve(spark, workflow(lambda counts: counts.where("n > 3"), {"Δ"}))


def test_it_is_not_looked_for_where_a_base_is_accepted(spark: SparkSession) -> None:
    before = jobs(spark)
    resolve(spark, workflow(with_a_constant, {"B", "Δ"}))
    assert jobs(spark) == before


def test_a_job_that_cannot_be_run_on_nothing_is_told_apart(spark: SparkSession) -> None:
    def failing(counts: Any) -> Any:
        from pyspark.sql import functions as F

        return counts.agg(F.lit("all").alias("site"), F.raise_error(F.lit("no visits")).cast("bigint").alias("n"))

    with pytest.raises(ol.WorkflowError, match=r"out: what job makes of nothing.*no visits.*accept B too"):
        resolve(spark, workflow(failing, {"Δ"}))
