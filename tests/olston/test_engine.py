"""The engine on real Spark and Delta: what DESIGN 8 says that callers may rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.engine import Engine

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = 1_700_000_000_000_000
HOUR = 3_600_000_000


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


class Lab:
    """An engine on a clock that stands still."""

    def __init__(self, wf: ol.Workflow, home: Path, spark: SparkSession) -> None:
        self.clock = ol.ManualClock(START)
        self.spark, self.wf, self.home = spark, wf, home
        self.engine = Engine(wf, home=str(home), clock=self.clock, spark=spark)

    def pages(self, *rows: tuple[str, str, str]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), "url string, site string, content string")

    def clicks(self, *rows: tuple[str, str]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), "user string, site string")

    def rows(self, channel: str, at: Any = None) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(r) for r in self.engine.read(channel, at).collect())


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> Iterator[Lab]:
    made = Lab(search(), tmp_path / "lake", spark)
    yield made
    made.engine.close()


def test_a_week_of_search_preprocessing_ends_at_the_batch_result(lab: Lab) -> None:
    engine, clock = lab.engine, lab.clock
    first = engine.ingest("clicks", lab.clicks(("ann", "a"), ("bob", "a"), ("ann", "a")))
    assert (first.channel, first.kind, first.stamp, first.rows) == ("clicks", "Δ⁺", START, 3)
    clock.advance("1 hour")
    engine.ingest("pages", lab.pages(("u1", "a", "x")))
    engine.refresh()
    held = engine.provenance("output").to_dict()
    assert [p["name"] for p in held["pathways"]] == ["pages>digests", "clicks>pairs>counts>scores"]
    assert held["pathways"][0]["snapshots"] == [START + HOUR]

    clock.advance("1 hour")
    engine.ingest("clicks", lab.clicks(("cyd", "a"), ("cyd", "b")))
    clock.advance("1 hour")
    engine.ingest("pages", lab.pages(("u2", "a", "y"), ("u3", "b", "z")))
    report = engine.refresh()
    assert "output.async_left" in [name for name, _, _ in report.steps]
    assert not engine.plan().due

    clock.advance("8 days")
    engine.ingest("pages", lab.pages(("u4", "c", "w")))
    engine.refresh()
    last = engine.provenance("output").to_dict()
    assert last["consistent"]
    assert lab.rows("output") == {("a", "u1", "X", 30): 1, ("a", "u2", "Y", 30): 1, ("b", "u3", "Z", 10): 1}
    assert lab.rows("scores") == {("a", 30): 1, ("b", 10): 1}


def test_an_output_over_sources_without_arrivals_is_delivered_empty(lab: Lab) -> None:
    lab.engine.refresh()
    assert not lab.rows("output")
    assert [p["snapshots"] for p in lab.engine.provenance("output").to_dict()["pathways"]] == [[0], [0]]


def test_an_empty_wave_advances_the_timeline_and_heals_staleness(lab: Lab) -> None:
    lab.engine.refresh()
    lab.clock.advance("1 hour")
    block = lab.engine.ingest("pages", lab.pages())
    assert block.rows == 0
    assert lab.engine.plan().due == ("output",)
    lab.engine.refresh()
    assert lab.engine.provenance("output").to_dict()["pathways"][0]["snapshots"] == [block.stamp]
    assert not lab.engine.plan().due


def test_stamps_are_later_than_every_stamp_and_every_now_that_a_plan_used(lab: Lab) -> None:
    one = lab.engine.ingest("pages", lab.pages(("u1", "a", "x")))
    two = lab.engine.ingest("pages", lab.pages(("u2", "a", "x")))
    assert two.stamp > one.stamp
    lab.engine.refresh()
    three = lab.engine.ingest("clicks", lab.clicks(("ann", "a")))
    assert three.stamp > two.stamp + 1  # the plan's now was one past the newest stamp


def test_several_sources_arrive_under_one_stamp_or_not_at_all(lab: Lab) -> None:
    with lab.engine.arrival() as together:
        together.ingest("pages", lab.pages(("u1", "a", "x")))
        together.ingest("clicks", lab.clicks(("ann", "a")))
    assert len({b.stamp for b in together.blocks}) == 1

    def half() -> None:
        with lab.engine.arrival() as arrival:
            arrival.ingest("pages", lab.pages(("u2", "a", "x")))
            arrival.ingest("clicks", lab.clicks(("ann", "a")).selectExpr("*", "1 AS more"))

    with pytest.raises(ol.IngestError, match="not declared"):
        half()
    assert lab.engine.read("pages").count() == 1


def test_time_travel_shows_what_was_held_then(lab: Lab) -> None:
    lab.engine.ingest("clicks", lab.clicks(("ann", "a")))
    first = lab.engine.ingest("pages", lab.pages(("u1", "a", "x")))
    lab.engine.refresh("output")
    then = lab.clock.now()
    lab.clock.advance("1 hour")
    lab.engine.ingest("pages", lab.pages(("u2", "a", "y")))
    lab.engine.refresh("output")
    assert lab.rows("output", then) == {("a", "u1", "X", 10): 1}
    assert len(lab.rows("output")) == 2
    assert lab.rows("pages", first.id) == {(1, "u1", "a", "x"): 1}
    assert lab.rows("pages", first.stamp) == {("u1", "a", "x"): 1}
    with pytest.raises(ol.StoreError, match="holds nothing"):
        lab.engine.read("output", START - 1)


def test_a_full_refresh_recomputes_at_equal_provenance(lab: Lab) -> None:
    lab.engine.ingest("clicks", lab.clicks(("ann", "a")))
    lab.engine.ingest("pages", lab.pages(("u1", "a", "x")))
    lab.engine.refresh("output")
    before, rows = lab.engine.provenance("output").content, lab.rows("output")
    report = lab.engine.refresh("output", full=True)
    assert {name.rpartition(".")[2] for name, _, _ in report.steps if "." in name} <= {"batch", "c.ΔB", "ΔB"}
    assert report.steps
    assert (lab.engine.provenance("output").content, lab.rows("output")) == (before, rows)


def test_an_engine_opened_again_goes_on_where_the_last_one_stopped(lab: Lab) -> None:
    lab.engine.ingest("clicks", lab.clicks(("ann", "a")))
    lab.engine.ingest("pages", lab.pages(("u1", "a", "x")))
    lab.engine.refresh()
    again = Lab(search(), lab.home, lab.spark)
    again.clock.advance("1 hour")
    assert not again.engine.plan().due
    again.engine.ingest("pages", lab.pages(("u2", "a", "y")))
    assert "digests.batch" not in again.engine.plan().steps
    again.engine.refresh()
    assert len(again.rows("output")) == 2
    again.engine.close()


def test_a_changed_function_is_noticed_and_its_channel_made_anew(lab: Lab) -> None:
    lab.engine.ingest("clicks", lab.clicks(("ann", "a")))
    lab.engine.ingest("pages", lab.pages(("u1", "a", "x")))
    lab.engine.refresh("output")
    from pyspark.sql import functions as F

    changed = ol.Workflow("search")
    pages = changed.source("pages", "url string, site string, content string")
    clicks = changed.source("clicks", "user string, site string")
    digests = pages.map("digests", lambda df: df.select("url", "site", F.lower("content").alias("digest")))
    scores = (
        clicks.distinct("pairs").aggregate("counts", by="site", clicks=ol.count())
        .map("scores", lambda df: df.select("site", (F.col("clicks") * 10).alias("score")), key="site")
    )  # fmt: skip
    changed.output(digests.join("output", scores, on="site"))
    again = Lab(changed, lab.home, lab.spark)
    assert again.engine.plan().due == ("output",)
    assert again.rows("output") == {("a", "u1", "X", 10): 1}
    again.engine.refresh()
    assert again.rows("output") == {("a", "u1", "x", 10): 1}
    again.engine.close()


def test_keyed_sources_take_upserts_and_deletions_and_late_rows_lose(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("keyed")
    items = wf.source("items", "k int, t int, v string", key="k", order="t")
    wf.output(items.filter("kept", "v <> 'hidden'"))
    wf.bound_staleness("kept", 0, 0)
    made = Lab(wf, tmp_path / "lake", spark)

    def wave(*rows: tuple[Any, ...], kind: str | None = None) -> None:
        made.engine.ingest("items", spark.createDataFrame(list(rows), "k int, t int, v string, _deleted boolean"), kind)
        made.engine.refresh()

    wave((1, 5, "a", False), (2, 5, "b", False), (None, 1, "n", None))
    wave((1, 4, "late", False), (2, 6, None, True))
    assert made.rows("kept") == {(1, 5, "a"): 1, (None, 1, "n"): 1}
    wave((2, 5, "too late", False), (1, 7, "hidden", False))
    assert made.rows("kept") == {(None, 1, "n"): 1}
    wave((1, 6, "late", False), (2, 7, "back", False))
    assert made.rows("kept") == {(2, 7, "back"): 1, (None, 1, "n"): 1}
    assert made.rows("items") == {(1, 7, "hidden"): 1, (2, 7, "back"): 1, (None, 1, "n"): 1}
    made.engine.close()


def test_a_feed_hands_over_blocks_in_order(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("fed")
    rows = wf.source("rows", "v int")
    wf.output(rows.map("twice", lambda df: df.selectExpr("v * 2 AS v")), feed={"B", "Δ"})
    wf.bound_staleness("twice", 0, 0)
    made = Lab(wf, tmp_path / "lake", spark)
    for wave in ([1, 2], [3], []):
        made.engine.ingest("rows", spark.createDataFrame([(v,) for v in wave], "v int"))
        made.engine.refresh()
    feed = made.engine.feed("twice")
    given = list(feed.after(spark))
    assert [f.number for f in given] == [1, 2, 3]
    assert given[0].stored.block.kind == "B"
    assert [sorted(r["v"] for r in feed.rows(spark, f).collect()) for f in given] == [[2, 4], [6], []]
    assert [f.number for f in feed.after(spark, cursor=2)] == [3]
    assert made.rows("twice") == {(2,): 1, (4,): 1, (6,): 1}
    made.engine.close()
