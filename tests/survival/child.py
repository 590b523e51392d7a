"""A process that works in a shop until a fault point kills it: `python -m tests.survival.child HOME`.

It prints what it has been told is done, so that whoever started it knows what must not be lost. If the environment
names the JVM of whoever started it, Spark runs there: to start one for each kill would take minutes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import olston as ol
from olston import maintain
from olston.engine import Engine
from tests.survival.shop import START, arrive, lose_catalog, shop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


def spark() -> SparkSession | Mapping[str, str]:
    """A session in the JVM that the environment names, or the settings for one of its own."""
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        return OWN
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    gateway: Any = launch_gateway()  # type: ignore[no-untyped-call]
    java: Any = gateway.jvm
    running = java.org.apache.spark.SparkContext.getOrCreate()
    context = java.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(running)
    conf = SparkConf(_jconf=context.getConf())
    attached = SparkContext(conf=conf, gateway=gateway, jsc=context)
    return SparkSession(attached, java.org.apache.spark.sql.classic.SparkSession.builder().getOrCreate().newSession())


def main(home: str, *, lost: bool) -> None:
    if lost:
        lose_catalog(Path(home))
    clock = ol.ManualClock(START)
    clock.advance("2 hours")
    maintain.PARTS = 0  # so that every overlay is folded
    with Engine(shop(), home, clock=clock, spark=spark(), retention=0) as engine:
        if lost:
            engine.recover()
            print("recovered", flush=True)
        arrive(engine, 2)
        print("arrived", flush=True)
        engine.refresh()
        print("refreshed", flush=True)
        clock.advance("1 hour")
        engine.vacuum(0)
        print("vacuumed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], lost=sys.argv[2:] == ["--lost"])
