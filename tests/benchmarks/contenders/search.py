"""Search preprocessing, Figure 1 of the paper: pages with a digest, each with the click score of its site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import olston as ol
from olston.examples.search_preprocessing.workflow import digest, score
from tests.benchmarks.contenders.scenario import Frames, Scenario, Source, Wave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES, CLICKS = "page wave", "click wave"
WAVE = 0.001
"""The part of all pages, or of all clicks, that is new in a wave."""
PAGES_PER_SITE, PAGES_PER_CLICK, CLICKS_PER_USER = 250, 5, 10


def batch(frames: Frames) -> Any:
    counts = frames["clicks"].distinct().groupBy("site").count().withColumnRenamed("count", "users")
    return digest(frames["pages"]).join(score(counts), "site").select("url", "site", "digest", "score")


def workflow(strict: bool) -> ol.Workflow:
    """The example's; `strict`, with all of the output at the newest snapshots."""
    wf = ol.Workflow("search")
    pages = wf.source("pages", SOURCES["pages"].columns)
    clicks = wf.source("clicks", SOURCES["clicks"].columns)
    counts = clicks.distinct("pairs").aggregate("counts", by="site", users=ol.count())
    scores = counts.map("scores", score, key="site")
    output = pages.map("digests", digest).join("output", scores, on="site")
    wf.output(output)
    wf.bound_staleness(output, 0, 0)
    if strict:
        wf.bound_staleness(output, 1, 0)
        wf.bound_inconsistency(output, 0)
    else:
        wf.bound_staleness(scores, 0, "1 day")
        wf.bound_inconsistency(output, "1 week")
    return wf


class Search:
    """`size` pages; a fifth as many clicks, by as many users as there are ten clicks each."""

    def __init__(self, session: SparkSession, folder: Path, size: int) -> None:
        self._session, self._folder, self._size = session, folder, size
        self._pages = self._clicks = self._waves = 0

    def first(self) -> Wave:
        return {"pages": self._new_pages(self._size), "clicks": self._new_clicks(self._size // PAGES_PER_CLICK)}

    def wave(self, phase: str) -> Wave:
        if phase == PAGES:
            return {"pages": self._new_pages(max(1, int(WAVE * self._size)))}
        return {"clicks": self._new_clicks(max(1, int(WAVE * self._size // PAGES_PER_CLICK)))}

    def _new_pages(self, count: int) -> Path:
        rows = self._session.range(self._pages, self._pages + count).selectExpr(
            f"concat('http://', pmod(hash(id), {self._sites}), '.org/', id) AS url",
            f"concat(pmod(hash(id), {self._sites}), '.org') AS site",
            "sha2(cast(id AS string), 512) AS content",
        )
        self._pages += count
        return self._written(rows)

    def _new_clicks(self, count: int) -> Path:
        users = max(1, self._size // PAGES_PER_CLICK // CLICKS_PER_USER)
        rows = self._session.range(self._clicks, self._clicks + count).selectExpr(
            f"concat('user', pmod(hash(id, 1), {users})) AS user",
            f"concat(pmod(hash(id, 2), {self._sites}), '.org') AS site",
        )
        self._clicks += count
        return self._written(rows)

    @property
    def _sites(self) -> int:
        return max(20, self._size // PAGES_PER_SITE)

    def _written(self, rows: Any) -> Path:
        self._waves += 1
        path = self._folder / f"{self._waves}"
        rows.write.parquet(str(path))
        return path


SOURCES = {"pages": Source("url string, site string, content string"), "clicks": Source("user string, site string")}
SEARCH = Scenario(
    "search",
    SOURCES,
    (PAGES, CLICKS),
    batch,
    workflow,
    loose=("url", "site", "digest"),
    data=Search,
    exact=(PAGES,),
)
