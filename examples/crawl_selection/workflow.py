"""Figure 7 of the paper: three periodic jobs over the same crawl, each with its own rhythm, feed one fetch queue."""

from __future__ import annotations

from typing import Any

import olston as ol

TOP = 1_000
"""URLs that each job selects at most."""


def successful(fetches: Any) -> Any:
    """The fetches that brought a page."""
    return fetches.where("status = 200").select("url", "time")


def digest(fetches: Any) -> Any:
    """A content digest of each page fetched; stands for the shingling of the paper."""
    from pyspark.sql import functions as F

    return fetches.where("status = 200").select("url", "time", F.sha2("content", 256).alias("digest"))


def links(fetches: Any) -> Any:
    """The hyperlinks of a page, which supersede the ones it had before."""
    from pyspark.sql import functions as F

    found = F.regexp_extract_all("content", F.lit('href="([^"#]+)"'), F.lit(1))
    return fetches.select("url", F.explode(F.array_distinct(found)).alias("link"))


def top_unfetched(fetched: Any, indegrees: Any) -> Any:
    """The best linked pages that were never fetched."""
    from pyspark.sql import functions as F

    new = indegrees.join(fetched.select(F.col("url").alias("link")).distinct(), "link", "left_anti")
    return new.orderBy(F.desc("indegree"), "link").limit(TOP).select(F.col("link").alias("url"))


def periodic_recrawl(fetched: Any, indegrees: Any) -> Any:
    """The pages fetched longest ago, the better linked the sooner."""
    from pyspark.sql import functions as F

    last = fetched.groupBy(F.col("url").alias("link")).agg(F.max("time").alias("last"))
    sooner = 86_400 * F.log1p("indegree")  # seconds: links count as days of age, by their order of magnitude
    due = last.join(indegrees, "link").orderBy(F.unix_timestamp("last") - sooner, "link")
    return due.limit(TOP).select(F.col("link").alias("url"))


def adaptive_recrawl(digests: Any, indegrees: Any) -> Any:
    """The pages that changed most often, weighted by their links."""
    from pyspark.sql import functions as F

    changes = digests.groupBy(F.col("url").alias("link")).agg(F.count_distinct("digest").alias("versions"))
    worth = changes.where("versions > 1").join(indegrees, "link")
    best = worth.orderBy(F.desc(F.col("versions") * F.col("indegree")), "link")
    return best.limit(TOP).select(F.col("link").alias("url"))


wf = ol.Workflow("crawl_selection")

fetches = wf.source("fetches", "url string, time timestamp, status int, content string")
fetched = fetches.map("successful_fetches", successful)
digests = fetches.map("content_digests", digest)
indegrees = fetches.extract("links", links, key="url", order_by="time").aggregate(
    "indegrees", by="link", indegree=ol.count()
)
output = wf.batch("top_unfetched", [fetched, indegrees], top_unfetched).union(
    "output",
    wf.batch("periodic_recrawl", [fetched, indegrees], periodic_recrawl),
    wf.batch("adaptive_recrawl", [digests, indegrees], adaptive_recrawl),
)

wf.output(output, feed={"B", "Δ"})
wf.bound_staleness(fetched, 0, 0)
wf.bound_staleness(digests, 0, 0)
wf.bound_staleness(output, "fetches>successful_fetches>top_unfetched", "1 hour")
wf.bound_staleness(output, "fetches>successful_fetches>periodic_recrawl", "1 day")
wf.bound_staleness(output, "fetches>content_digests>adaptive_recrawl", "4 hours")
wf.bound_inconsistency(output, "1 week")
