"""Two weeks of pages and clicks, the same on every machine: a crawl on some days, click logs more rarely."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
CRAWLS = (0, 1, 4, 7, 9, 10, 11)
"""Days on which pages come, at six in the morning."""
LOGS = (2,)
"""Days on which clicks come, at six in the evening."""


@dataclass(frozen=True)
class Size:
    """How many rows there are at the start, how many come with a wave, and of how many sites and users."""

    pages: int
    clicks: int
    new_pages: int
    new_clicks: int
    sites: int
    users: int


DEMO = Size(pages=120_000, clicks=1_200_000, new_pages=1_000, new_clicks=10_000, sites=1_000, users=30_000)
SMALL = Size(pages=200, clicks=400, new_pages=20, new_clicks=30, sites=8, users=60)


@dataclass(frozen=True)
class Wave:
    """What comes at one moment: rows of each source."""

    at: datetime
    rows: dict[str, int]


def waves(size: Size) -> Iterator[Wave]:
    """All waves, in order; the first has what there is at the start."""
    yield Wave(MONDAY + timedelta(hours=6), {"pages": size.pages, "clicks": size.clicks})
    later = [(timedelta(days=d, hours=6), "pages", size.new_pages) for d in CRAWLS[1:]]
    later += [(timedelta(days=d, hours=18), "clicks", size.new_clicks) for d in LOGS]
    for after, source, rows in sorted(later):
        yield Wave(MONDAY + after, {source: rows})


def rows(spark: SparkSession, wave: Wave, source: str, size: Size) -> DataFrame:
    """The rows of `source` that come with `wave`."""
    from pyspark.sql import functions as F

    seed = int(wave.at.timestamp())

    def some(prefix: str, salt: int, of: int) -> Column:
        """A name out of `of`, the lower ones more often."""
        spread = F.pmod(F.xxhash64("id", F.lit(seed + salt)), F.lit(1_000_000)) / 1_000_000
        return F.concat(F.lit(prefix), F.floor(F.pow(spread, 2) * of).cast("string"))

    numbered = spark.range(wave.rows[source], numPartitions=2)
    site = some("site", 1, size.sites)
    if source == "clicks":
        return numbered.select(some("user", 2, size.users).alias("user"), site.alias("site"))
    page = F.concat(F.lit(f"/{wave.at:%m%d}/"), F.col("id").cast("string"))
    words = F.repeat(F.sha2(F.concat(page, F.lit(seed)), 256), 32)  # 2 KB
    return numbered.select(F.concat(site, page).alias("url"), site.alias("site"), words.alias("content"))
