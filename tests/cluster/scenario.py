"""Search preprocessing over nine days, on whatever master is named: `python -m tests.cluster.scenario MASTER HOME`."""

from __future__ import annotations

import json
import sys
from typing import Any

import olston as ol

START = 1_700_000_000_000_000


def search() -> ol.Workflow:
    """Figure 1 of the paper, with the bounds of DESIGN 8."""
    from pyspark.sql import functions as F

    wf = ol.Workflow("search")
    pages = wf.source("pages", "url string, site string, content string")
    clicks = wf.source("clicks", "user string, site string")
    digests = pages.map("digests", lambda df: df.select("url", "site", F.upper("content").alias("digest")))
    scores = (
        clicks.distinct("pairs").aggregate("counts", by="site", clicks=ol.count())
        .map("scores", lambda df: df.select("site", (F.col("clicks") * 10).alias("score")), key="site")
    )  # fmt: skip
    output = digests.join("output", scores, on="site")
    wf.output(output)
    wf.bound_staleness(output, 0, 0)
    wf.bound_staleness(scores, 0, "1 day")
    wf.bound_inconsistency(output, "1 week")
    return wf


def run(settings: dict[str, str], home: str, days: int = 9) -> dict[str, Any]:
    """Pages every day and clicks every second one; returns what the output holds and what it should hold."""
    clock = ol.ManualClock(START)
    with ol.Engine(search(), home=home, clock=clock, spark=settings) as engine:
        spark = engine.spark
        pages: list[tuple[str, str, str]] = []
        clicks: list[tuple[str, str]] = []
        steps: list[str] = []
        for day in range(days):
            clock.advance("1 day")
            if day % 2 == 0:
                new_clicks = [(f"u{n % (3 + day)}", f"s{n % 4}") for n in range(20)]
                clicks += new_clicks
                engine.ingest("clicks", spark.createDataFrame(new_clicks, "user string, site string"))
            new_pages = [(f"p{day}.{n}", f"s{n % 5}", f"text {n}") for n in range(10)]
            pages += new_pages
            engine.ingest("pages", spark.createDataFrame(new_pages, "url string, site string, content string"))
            steps += [name for name, _, _ in engine.refresh().steps]
        engine.refresh("output")
        held = sorted(tuple(r) for r in engine.read("output").collect())
        return {
            "master": spark.sparkContext.master,
            "executors": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1,
            "consistent": engine.provenance("output").to_dict()["consistent"],
            "equal": held == _batch(pages, clicks),
            "rows": len(held),
            "steps": steps,
        }


def _batch(pages: list[tuple[str, str, str]], clicks: list[tuple[str, str]]) -> list[tuple[str, str, str, int]]:
    scores: dict[str, int] = {}
    for _, site in set(clicks):
        scores[site] = scores.get(site, 0) + 10
    return sorted((site, url, text.upper(), scores[site]) for url, site, text in pages if site in scores)


if __name__ == "__main__":
    master, home = sys.argv[1:]
    memory = {"spark.driver.memory": "1g", "spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    print(json.dumps(run({"spark.master": master, "spark.sql.shuffle.partitions": "2", **memory}, home)))
