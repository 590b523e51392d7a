"""The workflow that `operators.py` measures, its rows, and what is known of them."""

from __future__ import annotations

from typing import Any

import olston as ol
from olston.operators.estimate import UNKNOWN, Statistics


def workflow() -> ol.Workflow:
    """Every widget over one large source, and a smaller keyed one to join with."""
    from pyspark.sql import functions as F

    wf = ol.Workflow("bench")
    events = wf.source("events", "id bigint, k bigint, v int, x double, t timestamp, s string")
    more = wf.source("more", "id bigint, k bigint, v int, x double, t timestamp, s string")
    items = wf.source("items", "k bigint, name string", key="k")
    events.map("mapped", lambda df: df.select("id", "k", F.sha2("s", 256).alias("h"))).join("fused", items, on="k")
    events.filter("filtered", "v > 50")
    events.split({"low": "v < 10", "high": "v > 90"}, rest="between")
    events.extract("newest", lambda df: df.select("k", "s"), key="k", order_by="t")
    events.aggregate("counts", by="k", n=ol.count(), total=ol.sum("v"))
    events.aggregate("means", by="k", mean=ol.avg("v"))
    events.aggregate("least", by="k", least=ol.min("v"))
    events.aggregate("sums", by="k", total=ol.sum("x"))
    events.map("pairs", lambda df: df.select("k", "v")).distinct("distinct")
    events.join("joined", items, on="k")
    events.join("left", items, on="k", how="left")
    events.union("united", more)
    wf.batch("top", [events], lambda df: df.orderBy(F.desc("v"), "id").limit(100))
    return wf


def keys_of(base: int) -> int:
    return max(10, base // 10)


def statistics(widget: str, base: int) -> Statistics:
    """What an engine would have learned of the widget."""
    keys = float(keys_of(base))
    if widget in ("fused", "joined", "left"):
        return Statistics(keys=keys)
    groups = {"newest": keys, "counts": keys, "means": keys, "least": keys, "sums": keys, "distinct": 100 * keys}
    return Statistics(groups=groups[widget]) if widget in groups else UNKNOWN


def events(session: Any, start: int, count: int, keys: int) -> Any:
    return session.range(start, start + count).selectExpr(
        "id", f"pmod(hash(id), {keys}) AS k", "cast(pmod(hash(id, 1), 100) AS int) AS v",
        "pmod(hash(id, 2), 1000) / 7.0D AS x", "timestamp_seconds(1700000000 + id) AS t",
        "concat('row number ', id) AS s",
    ).selectExpr("id", "cast(k AS bigint) AS k", "v", "cast(x AS double) AS x", "t", "s")  # fmt: skip
