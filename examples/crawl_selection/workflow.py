"""Figure 7 of the paper: three periodic jobs over the same crawl, each with its own rhythm, feed one fetch queue.

A row of the queue asks for a fetch of `url` later than `after`, the last one that the job knew of; among the rows of
one `job`, those of greater `worth` first. So it does no harm to read a row twice, or one that another job has too.

The jobs are functions of what they read: their present is the greatest fetch time there.
"""

from __future__ import annotations

from typing import Any

import olston as ol
from olston.examples.crawl_selection.links import links_of

TOP = 1_000
"""URLs that each job selects at most."""
REST = 6 * 3_600.0
"""Seconds before a URL that brought no page is tried again; twice as many after every further failure."""
PERIOD = 14 * 86_400.0
"""Seconds within which periodic recrawl comes back to a page that nobody links to; to others sooner."""
DAY = 86_400.0
LIKELY = 0.05
"""How likely a page has changed before adaptive recrawl looks at it."""
ANSWERED = "status between 200 and 499 and status <> 429"
"""A page came, or the word that there is none, such as 404; not that the site is busy, or nothing at all."""


def successful(fetches: Any) -> Any:
    """The fetches that were answered. Others leave no trace here, so their URLs are selected again."""
    return fetches.where(ANSWERED).select("url", "time", "status")


def digest(fetches: Any) -> Any:
    """A content digest of each page fetched, null where there was none; stands for the shingling of the paper."""
    from pyspark.sql import functions as F

    content = F.when(F.col("status") == 200, F.sha2("content", 256)).alias("digest")
    return fetches.where(ANSWERED).select("url", "time", content)


def links(fetches: Any) -> Any:
    """The hyperlinks of a page, which supersede the ones it had before."""
    from pyspark.sql import functions as F

    found = F.udf(lambda url, content: links_of(url, content), "array<string>")("url", "content")
    return fetches.where("content is not null").select("url", F.explode(found).alias("link"))


def standing(fetched: Any) -> Any:
    """One row per `link`: when it last brought a page, when it was last asked, and how often in vain since then."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    brought = F.max(F.when(F.col("status") == 200, F.col("time"))).over(Window.partitionBy("url"))
    vain = (F.col("status") != 200) & (F.col("brought").isNull() | (F.col("time") > F.col("brought")))
    return (
        fetched.withColumn("brought", brought)
        .groupBy(F.col("url").alias("link"))
        .agg(F.max("brought").alias("brought"), F.max("time").alias("asked"), F.count_if(vain).alias("misses"))
    )


def age(rows: Any, moment: str, times: Any) -> Any:
    """`rows` with their `age`: the seconds from the column `moment` to the greatest of `times`."""
    from pyspark.sql import functions as F

    present = F.broadcast(times.agg(F.max("time").alias("present")))
    return rows.crossJoin(present).withColumn("age", F.col("present").cast("double") - F.col(moment).cast("double"))


def select(candidates: Any, job: str, worth: Any, after: str) -> Any:
    """The `TOP` candidates of greatest worth, as rows of the queue."""
    from pyspark.sql import functions as F

    rows = candidates.select(
        F.col("link").alias("url"), F.lit(job).alias("job"), worth.cast("double").alias("worth"),
        F.col(after).alias("after"),
    )  # fmt: skip
    return rows.orderBy(F.desc("worth"), "url").limit(TOP)


def top_unfetched(fetched: Any, indegrees: Any) -> Any:
    """The best linked URLs that never brought a page; those that failed rest, the longer the more often they did."""
    from pyspark.sql import functions as F

    known = age(indegrees.join(standing(fetched), "link", "left"), "asked", fetched)
    rested = F.col("asked").isNull() | (F.col("age") >= REST * F.pow(F.lit(2.0), F.col("misses") - 1))
    return select(known.where(F.col("brought").isNull() & rested), "top_unfetched", F.col("indegree"), "asked")


def periodic_recrawl(fetched: Any, indegrees: Any) -> Any:
    """The pages not fetched for longer than they may be, the longest overdue first.

    That is `PERIOD / log2(2 + indegree)`, and twice as long after every failure since the last page.
    """
    from pyspark.sql import functions as F

    known = age(standing(fetched).where("brought is not null").join(indegrees, "link", "left"), "asked", fetched)
    often = F.log2(2 + F.coalesce("indegree", F.lit(0)))
    overdue = F.col("age") * often / (PERIOD * F.pow(F.lit(2.0), F.col("misses")))
    return select(known.where(overdue >= 1), "periodic_recrawl", overdue, "asked")


def adaptive_recrawl(digests: Any, indegrees: Any) -> Any:
    """The pages that likely have changed since, by how often they were found changed before, and by their links.

    Of `n` visits after the first, `x` found a change. By the estimator of Cho and García-Molina, with one visit more
    after a day for a start, the page changes at a rate λ of -log((n - x + 1/2) / (n + 1)) per mean interval. A fetch at
    age t is worth (1 - (1 + λt) exp(-λt)) / λ, weighted by the logarithm of the indegree: to fetch by greatest worth
    keeps most pages fresh, and gives up those that change faster than they could be fetched, as in [11].
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    before = F.lag("digest").over(Window.partitionBy("url").orderBy("time"))
    changed = F.col("before").isNotNull() & ~F.col("digest").eqNullSafe(F.col("before"))
    history = (
        digests.withColumn("before", before)
        .groupBy(F.col("url").alias("link"))
        .agg(
            (F.count("*") - 1).alias("n"), F.count_if(changed).alias("x"), F.max_by("digest", "time").alias("digest"),
            F.max("time").alias("asked"), (F.max("time").cast("double") - F.min("time").cast("double")).alias("span"),
        )
    )  # fmt: skip
    known = age(history.where("digest is not null").join(indegrees, "link", "left"), "asked", digests)
    rate = -F.log((F.col("n") - F.col("x") + 0.5) / (F.col("n") + 1)) * (F.col("n") + 1) / (F.col("span") + DAY)
    unchanged = F.exp(-F.col("rate") * F.col("age"))
    gain = (1 - (1 + F.col("rate") * F.col("age")) * unchanged) / F.col("rate")
    worth = gain * F.log2(2 + F.coalesce("indegree", F.lit(0)))
    return select(known.withColumn("rate", rate).where(1 - unchanged >= LIKELY), "adaptive_recrawl", worth, "asked")


def declare() -> ol.Workflow:
    """Figure 7 with the six bounds of section 5.1."""
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
    return wf


wf = declare()
output = wf.channel("output")
