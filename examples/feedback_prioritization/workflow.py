"""Figure 6 of the paper: a split and a union, so that the two branches can be promised different freshness."""

from __future__ import annotations

import olston as ol

wf = ol.Workflow("feedback_prioritization")

searches = wf.source("searches", "query string, links array<string>, clicked string, has_news boolean")
news, other = searches.split({"news": "has_news"}, rest="other")
output = news.union("output", other)

wf.output(output, feed={"B", "Δ"})
wf.bound_staleness(output, "searches>news", 0)
wf.bound_staleness(output, "searches>other", "1 day")
