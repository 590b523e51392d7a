"""The engine on real Spark and Delta: what DESIGN 8 says that callers may rely on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston import session as sessions
from olston.engine import Engine
from olston.errors import StoreError
from tests.cluster.scenario import START, search

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HOUR = 3_600_000_000


def counting() -> ol.Workflow:
    """One source, one count."""
    wf = ol.Workflow("counting")
    wf.output(wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count()))
    wf.bound_staleness("counts", 0, 0)
    return wf


class Lab:
    """An engine on a clock that stands still."""

    def __init__(self, wf: ol.Workflow, home: Path, spark: SparkSession) -> None:
        self.clock = ol.ManualClock(START)
        self.spark, self.wf, self.home = spark, wf, home
        self.engine = Engine(wf, home=str(home), clock=self.clock, spark=spark)

    def pages(self, *rows: tuple[str, str, str]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), "url string, site string, content string")

    def keys(self, *keys: str) -> DataFrame:
        return self.spark.createDataFrame([(k,) for k in keys], "k string")

    def clicks(self, *rows: tuple[str, str]) -> DataFrame:
        return self.spark.createDataFrame(list(rows), "user string, site string")

    def rows(self, channel: str, at: Any = None) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(r) for r in self.engine.read(channel, at).collect())


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> Iterator[Lab]:
    made = Lab(search(), tmp_path / "lake", spark)
    yield made
    made.engine.close()


@pytest.fixture
def small(spark: SparkSession, tmp_path: Path) -> Iterator[Lab]:
    made = Lab(counting(), tmp_path / "lake", spark)
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
    (step,) = [name for name, _, _ in report.steps]
    assert step.startswith("digests.incremental + ")
    assert step.endswith("output.async_left → output")
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


def test_an_empty_wave_advances_the_timeline_and_heals_staleness(small: Lab) -> None:
    small.engine.refresh()
    small.clock.advance("1 hour")
    block = small.engine.ingest("rows", small.keys())
    assert block.rows == 0
    assert small.engine.plan().due == ("counts",)
    small.engine.refresh()
    assert small.engine.provenance("counts").to_dict()["pathways"][0]["snapshots"] == [block.stamp]
    assert not small.engine.plan().due


def test_stamps_are_later_than_every_stamp_and_every_now_that_a_plan_used(small: Lab) -> None:
    one = small.engine.ingest("rows", small.keys("a"))
    two = small.engine.ingest("rows", small.keys("a"))
    assert two.stamp > one.stamp
    small.engine.refresh()
    three = small.engine.ingest("rows", small.keys("b"))
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


def test_time_travel_shows_what_was_held_then(small: Lab) -> None:
    first = small.engine.ingest("rows", small.keys("a"))
    small.engine.refresh()
    then = small.clock.now()
    small.clock.advance("1 hour")
    second = small.engine.ingest("rows", small.keys("a", "b"))
    small.engine.refresh()
    assert small.rows("counts", then) == {("a", 1): 1}
    assert small.rows("counts") == {("a", 2): 1, ("b", 1): 1}
    assert small.rows("rows", first.id) == {("a",): 1}
    assert small.rows("rows", second.id) == {("a",): 2, ("b",): 1}, "what it led to, not what it brought"
    assert small.engine.provenance("rows", first.id).to_dict()["pathways"][0]["snapshots"] == [first.stamp]
    assert small.rows("rows", first.stamp) == {("a",): 1}
    with pytest.raises(ol.StoreError, match="holds nothing"):
        small.engine.read("counts", START - 1)


def test_a_full_refresh_recomputes_at_equal_provenance(small: Lab) -> None:
    small.engine.ingest("rows", small.keys("a", "b", "a"))
    small.engine.refresh()
    before, rows = small.engine.provenance("counts").content, small.rows("counts")
    report = small.engine.refresh("counts", full=True)
    assert any("counts.batch" in name for name, _, _ in report.steps)
    assert (small.engine.provenance("counts").content, small.rows("counts")) == (before, rows)


def test_an_engine_opened_again_goes_on_where_the_last_one_stopped(small: Lab) -> None:
    small.engine.ingest("rows", small.keys("a", "b"))
    small.engine.refresh()
    again = Lab(counting(), small.home, small.spark)
    again.clock.advance("1 hour")
    assert not again.engine.plan().due
    again.engine.ingest("rows", small.keys("a"))
    again.engine.refresh()
    assert again.rows("counts") == {("a", 2): 1, ("b", 1): 1}
    again.engine.close()


def test_a_changed_definition_is_noticed_and_its_channel_made_anew(small: Lab) -> None:
    small.engine.ingest("rows", small.keys("a", "b"))
    small.engine.refresh()
    changed = ol.Workflow("counting")
    changed.output(changed.source("rows", "k string").aggregate("counts", by="k", n=ol.count(), least=ol.min("k")))
    again = Lab(changed, small.home, small.spark)
    assert again.engine.plan().due == ("counts",)
    assert again.rows("counts") == {("a", 1): 1, ("b", 1): 1}
    again.engine.refresh()
    assert again.rows("counts") == {("a", 1, "a"): 1, ("b", 1, "b"): 1}
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
    given = list(feed.after())
    assert [(g.number, g.block.kind) for g in given] == [(1, "B"), (2, "Δ⁺"), (3, "Δ⁺")]
    assert [sorted(r["v"] for r in g.rows.collect()) for g in given] == [[2, 4], [6], []]
    assert [g.number for g in feed.after(2)] == [3]
    feed.acknowledge("indexer", 2)
    feed.acknowledge("indexer", 1)
    assert [g.number for g in made.engine.feed("twice").after("indexer")] == [3], "it is remembered how far it came"
    assert len(list(feed.after("archive"))) == 3
    with pytest.raises(
        StoreError, match="twice: consumer 'archive' acknowledges block 4, and the last of its feed is 3"
    ):
        feed.acknowledge("archive", 4)
    assert feed.cursor("archive") == 0, "else block 4 would never be given"
    assert made.rows("twice") == {(2,): 1, (4,): 1, (6,): 1}
    for g in given:
        assert made.engine.provenance("twice", g.block.id).content == g.content
    assert made.rows("twice", given[0].block.id) == {(2,): 1, (4,): 1}
    assert made.rows("twice", given[1].block.id) == made.rows("twice"), "what was held with it"
    made.engine.close()


def test_vacuum_drops_what_no_plan_needs_and_nothing_that_can_be_read(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("kept")
    counts = wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count(), keep=True, policy="full")
    wf.output(counts)
    wf.bound_staleness(counts, 0, 0)
    made = Lab(wf, tmp_path / "lake", spark)
    for wave in ("a", "b"):
        made.engine.ingest("rows", made.keys(wave))
        made.engine.refresh()
    before = {channel: made.rows(channel) for channel in ("rows", "counts")}
    assert made.engine.vacuum("1 hour") == []  # everything is younger, by the clock of the machine
    would = made.engine.vacuum(0, dry_run=True)
    assert made.engine.vacuum(0) == would != []
    assert {channel: made.rows(channel) for channel in before} == before
    made.engine.close()


def test_status_and_history_say_what_is_kept_and_what_was_done(small: Lab) -> None:
    assert small.engine.status().to_dict()["outputs"][0]["provenance"] is None
    small.engine.ingest("rows", small.keys("a"))
    small.engine.refresh()
    (output,) = small.engine.status().outputs
    assert (output.due, output.failed) == (False, None)
    assert [b.bound for b in output.bounds] == ["bound_staleness(counts, 0, 0)"]
    assert small.engine.status().stale == ()
    small.clock.advance("1 hour")
    small.engine.ingest("rows", small.keys("b"))
    assert small.engine.status().stale == ("counts",)
    assert "due" in str(small.engine.status())
    steps = small.engine.history().steps
    assert {s.state for s in steps} == {"done"}
    assert all(s.seconds is not None for s in steps)
    assert {"expected", "took"} <= set(str(small.engine.history()).split())


def test_a_home_may_be_on_another_file_system(spark: SparkSession, tmp_path: Path) -> None:
    """Hadoop's viewfs stands for those of clusters: a scheme of its own, and paths that no folder here has."""
    own = sessions.clone(spark)
    own.conf.set("fs.viewfs.mounttable.far.link./data", (tmp_path / "mounted").as_uri())
    (tmp_path / "mounted").mkdir()
    home, catalog = "viewfs://far/data/läke", f"sqlite:///{tmp_path}/catalog.db"
    with Engine(counting(), home, clock=ol.ManualClock(START), catalog=catalog, spark=own) as engine:
        for wave in (["a", "b"], ["a"]):
            engine.ingest("rows", own.createDataFrame([(k,) for k in wave], "k string"))
            engine.refresh()
    (tmp_path / "catalog.db").unlink()
    with Engine(counting(), home, clock=ol.ManualClock(START), catalog=catalog, spark=own) as again:
        again.recover()
        again.ingest("rows", own.createDataFrame([("b",)], "k string"))
        again.refresh()
        assert {tuple(r) for r in again.read("counts").collect()} == {("a", 2), ("b", 2)}
        again.refresh("counts", full=True)
        assert again.vacuum(0) != []
    assert (tmp_path / "mounted" / "läke" / "published" / "counts" / "_delta_log").is_dir()
    with pytest.raises(ol.CatalogError, match="is no folder of this machine, so its catalog must lie elsewhere"):
        Engine(counting(), home, spark=own)


def test_reading_by_a_changed_definition_leaves_the_catalog_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    def counting(least: int) -> ol.Workflow:
        wf = ol.Workflow("counting")
        kept = wf.source("rows", "n int").filter("kept", f"n > {least}")
        wf.output(kept)
        wf.bound_staleness(kept, 0, 0)
        return wf

    with ol.Engine(counting(0), home=str(tmp_path), spark=spark) as engine:
        engine.ingest("rows", spark.createDataFrame([(1,), (2,)], "n int"))
        engine.refresh()
    with ol.Engine(counting(1), home=str(tmp_path), spark=spark) as engine:
        assert engine.read("kept").count() == 2
        assert "kept is changed" in str(engine.plan())
        engine.refresh()
        assert engine.read("kept").count() == 1


def test_what_a_split_did_not_write_is_made_when_it_is_due(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("split")
    news, other = wf.source("searches", "query string, has_news boolean").split({"news": "has_news"}, rest="other")
    output = news.union("output", other)
    wf.output(output)
    wf.output(other)
    wf.bound_staleness(output, 0, 0)
    wf.bound_staleness(output, 1, "1 day")
    wf.bound_staleness(other, 0, "2 days")
    lab = Lab(wf, tmp_path / "lake", spark)
    given = [("q0", True), ("q1", False), ("q2", None)]
    schema = "query string, has_news boolean"
    lab.engine.ingest("searches", spark.createDataFrame(given, schema))
    lab.engine.refresh()
    for wave in range(3):
        lab.clock.advance("1 hour")
        more = [(f"n{wave}", True), (f"o{wave}", False)]
        lab.engine.ingest("searches", spark.createDataFrame(more, schema))
        steps = lab.engine.refresh().steps
        assert [name for name, _, _ in steps] == ["split(news,other).incremental + output.async_left → output"]
        given += more
        held = {row[0] for row in lab.engine.read("output").collect()}
        assert held == {"q1", "q2"} | {q for q, news in given if news}
    for output_name, kept in (("output", None), ("other", False)):
        lab.clock.advance("2 days")
        lab.engine.refresh()
        expected = Counter(row for row in given if kept is None or not row[1])
        assert lab.rows(output_name) == expected
    lab.engine.close()


def test_history_shows_rows_that_were_counted_and_no_others(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("one")
    rows = wf.source("rows", "v int").map("mapped", lambda df: df)
    wf.output(rows.aggregate("total", by=[], n=ol.count(), policy="incremental", keep=True))
    wf.bound_staleness("total", 0, 0)
    made = Lab(wf, tmp_path / "lake", spark)
    for wave in range(3):
        made.engine.ingest("rows", spark.createDataFrame([(v,) for v in range(20 + wave)], "v int"))
        made.engine.refresh()
    assert made.rows("total") == {(63,): 1}
    steps = made.engine.history().steps
    assert {s.rows for s in steps if s.step.endswith("→ total")} == {1}
    laid_over = [s for s in steps if s.step == "total.c.δ_increment()B"]
    assert laid_over
    assert all(s.rows is None for s in laid_over), "nothing was written, and what was expected is told as such"
    made.engine.close()
