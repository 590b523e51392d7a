"""What `spark-pipelines run` is given: one materialized view, defined by the scenario's own batch function."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from tests.benchmarks.contenders.scenarios import SCENARIOS

raw, scenario = os.environ["OLSTON_BENCH_RAW"], SCENARIOS[os.environ["OLSTON_BENCH_SCENARIO"]]


@dp.materialized_view
def output() -> DataFrame:
    session = SparkSession.active()
    found = {name: session.read.format("delta").load(f"{raw}/{name}") for name in scenario.sources}
    return scenario.batch(found)  # type: ignore[no-any-return]
