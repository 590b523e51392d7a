"""Figure 1 of the paper: new pages go out at once, with click scores that may be a little old."""

from __future__ import annotations

from typing import Any

import olston as ol


def digest(pages: Any) -> Any:
    """A content digest of each page; stands for the shingling of the paper."""
    from pyspark.sql import functions as F

    return pages.select("url", "site", F.sha2("content", 256).alias("digest"))


def score(counts: Any) -> Any:
    """The click score of a site: the logarithm of how many users clicked on it."""
    from pyspark.sql import functions as F

    return counts.select("site", F.log1p("users").alias("score"))


wf = ol.Workflow("search_preprocessing")

pages = wf.source("pages", "url string, site string, content string")
clicks = wf.source("clicks", "user string, site string")

digests = pages.map("digests", digest)
scores = clicks.distinct("pairs").aggregate("counts", by="site", users=ol.count()).map("scores", score, key="site")
output = digests.join("output", scores, on="site")

wf.output(output)
wf.bound_staleness(output, "pages>digests", 0)
wf.bound_staleness(scores, 0, "1 day")
wf.bound_inconsistency(output, "1 week")
