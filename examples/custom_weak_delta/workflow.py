"""The three best pages of every site, which travel to a cache as one list for each site that changed."""

from __future__ import annotations

from typing import Any

import olston as ol

BEST = 3
"""Pages in a list."""


def best(counts: Any) -> Any:
    """The most visited pages of each site, with their rank."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    ranked = counts.withColumn("rank", F.row_number().over(Window.partitionBy("site").orderBy(F.desc("visits"), "url")))
    return ranked.where(f"rank <= {BEST}").select("site", "rank", "url")


def as_lists(rows: Any) -> Any:
    """Rows of `best` as one list a site."""
    from pyspark.sql import functions as F

    ordered = F.array_sort(F.collect_list(F.struct("rank", "url")))
    return rows.groupBy("site").agg(ordered["url"].alias("urls"))


def to_lists(old: Any, new: Any) -> Any:
    """`c^{Bδ}`: the lists of the sites where something changed; an empty one where a site is gone."""
    from pyspark.sql import functions as F

    before, after = as_lists(old), as_lists(new).withColumnRenamed("urls", "now")
    changed = before.join(after, "site", "full").where(~F.col("urls").eqNullSafe(F.col("now")))
    return changed.select("site", F.coalesce("now", F.array().cast("array<string>")).alias("urls"))


def from_lists(old: Any, lists: Any) -> Any:
    """`c^{δB}`: a list supersedes the rows that its site had."""
    from pyspark.sql import functions as F

    kept = old.join(lists, "site", "left_anti")
    given = lists.select("site", F.posexplode("urls").alias("place", "url"))
    return kept.unionByName(given.select("site", (F.col("place") + 1).alias("rank"), "url"))


toplist = ol.WeakDelta("toplist", from_bases=to_lists, to_base=from_lists)

wf = ol.Workflow("top_pages")

visits = wf.source("visits", "site string, url string")
counts = visits.aggregate("counts", by=["site", "url"], visits=ol.count())
top = wf.batch("top", [counts], best)

wf.weak_delta(top, toplist)
wf.output(top, feed={toplist.kind})
wf.bound_staleness(top, 0, 0)
