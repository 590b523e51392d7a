"""What olston saves: the same output by a plain PySpark job that computes everything anew from all there is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def evaluated(spark: SparkSession, pages: Sequence[str], clicks: Sequence[str]) -> DataFrame:
    """The output on these files of pages and clicks."""
    from pyspark.sql import functions as F

    digests = spark.read.parquet(*pages).select("url", "site", F.sha2("content", 256).alias("digest"))
    users = spark.read.parquet(*clicks).distinct().groupBy("site").agg(F.count("*").alias("users"))
    return digests.join(users.select("site", F.log1p("users").alias("score")), "site")


def recompute(spark: SparkSession, pages: Sequence[str], clicks: Sequence[str], target: str) -> None:
    """Write the output on these files over the Delta table `target`."""
    evaluated(spark, pages, clicks).write.format("delta").mode("overwrite").save(target)


def differing(left: DataFrame, right: DataFrame) -> int:
    """How many rows one has that the other has not, or not as often."""
    columns = sorted(left.columns)
    a, b = left.select(columns), right.select(columns)
    return a.exceptAll(b).unionAll(b.exceptAll(a)).count()
