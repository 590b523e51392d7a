"""What changes on one side of a join takes the place of all rows of its keys, in the published table itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.scheduler.cost import STARTS
from tests.lake import bag, bag_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of a table, rows are superseded rather than all joined anew."""
    for dearer in ("BatchJoin", "AsyncBatchJoin", "AsyncRightJoin", "IncrementalJoin"):
        monkeypatch.setitem(STARTS, dearer, 1e6)
    monkeypatch.setitem(STARTS, "supersede", 0.0)


def digest(pages: DataFrame) -> DataFrame:
    return pages.selectExpr("url", "site", "upper(url) AS digest")


def score(counts: DataFrame) -> DataFrame:
    return counts.selectExpr("site", "10 * clicks AS score")


class Search:
    """Pages with the scores of their sites, at the newest snapshots of both."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        wf = ol.Workflow("search")
        pages, clicks = wf.source("pages", "url string, site string"), wf.source("clicks", "user string, site string")
        scores = clicks.aggregate("counts", by="site", clicks=ol.count()).map("scores", score, key="site")
        self.output = pages.map("digests", digest).join("output", scores, on="site")
        wf.output(self.output)
        for pathway in (0, 1):
            wf.bound_staleness(self.output, pathway, 0)
        wf.bound_inconsistency(self.output, 0)
        self.clock, self.spark, self.home = ol.ManualClock(1_700_000_000_000_000), spark, home
        self.engine = ol.Engine(wf, str(home), clock=self.clock, spark=spark)

    def arrive(self, source: str, columns: str, *rows: Any, kind: str = "append") -> None:
        self.clock.advance("1 hour")
        self.engine.ingest(source, self.spark.createDataFrame(list(rows), columns), kind=kind)
        self.engine.refresh()

    def rows(self) -> Any:
        return bag_of(self.engine.read("output").select("url", "score"))

    def last(self) -> dict[str, Any]:
        """What the newest commit says was done."""
        newest = max((self.home / "published" / "output" / "_delta_log").glob("*.json"))
        actions = map(json.loads, newest.read_text().splitlines())
        return next(dict(a["commitInfo"]["operationParameters"]) for a in actions if "commitInfo" in a)


def test_a_changed_score_takes_the_place_of_all_rows_of_its_site(spark: SparkSession, tmp_path: Path) -> None:
    search = Search(spark, tmp_path)
    pages, clicks = "url string, site string", "user string, site string"
    search.arrive("pages", pages, ("a1", "a"), ("a1", "a"), ("a2", "a"), ("b1", "b"), ("n1", None), ("c1", "c"))
    search.arrive("clicks", clicks, ("x", "a"), ("x", "b"), ("x", None))
    assert search.rows() == bag(("a1", 10), ("a1", 10), ("a2", 10), ("b1", 10))
    search.arrive("clicks", clicks, ("y", "a"), ("y", "c"), ("y", "nowhere"))
    assert search.last()["predicate"] == "`site` IN (3 values)"
    assert search.rows() == bag(("a1", 20), ("a1", 20), ("a2", 20), ("b1", 10), ("c1", 10))
    weighted = "user string, site string, _weight bigint"
    search.arrive("clicks", weighted, ("x", "b", -1), ("y", "a", -1), ("z", "a", 1), kind="delta")
    assert search.last()["predicate"] == "`site` IN (1 values)", "of a, nothing has changed"
    assert search.rows() == bag(("a1", 20), ("a1", 20), ("a2", 20), ("c1", 10))
    search.arrive("pages", pages, ("b2", "b"), ("c2", "c"))
    search.arrive("clicks", clicks, ("z", "b"), ("z", "c"))
    assert search.rows() == bag(
        *[("a1", 20), ("a1", 20), ("a2", 20)], *[("b1", 10), ("b2", 10)], *[("c1", 20), ("c2", 20)]
    )
    assert search.engine.provenance("output").to_dict()["consistent"]
    search.engine.close()
