"""Rows that supersede all of their keys take the place of these in the published table itself, by marks beside its
files: single deliveries, and what comes of them for whoever changes one side of a join, or upserts."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.block import BASE, DELTA, weak
from olston.scheduler.cost import STARTS
from olston.scheduler.ways import Way
from tests.lake import Lake, at_once, bag, bag_of
from tests.olston.test_published import Consumer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    spark.sql("CREATE DATABASE IF NOT EXISTS shop")
    return Lake(spark, f"{tmp_path_factory.mktemp('home')}/ü w", ol.Workflow("w"))


@pytest.fixture(autouse=True)
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the size of a table, rows are superseded rather than all joined anew."""
    for dearer in ("BatchJoin", "AsyncBatchJoin", "AsyncRightJoin", "IncrementalJoin", "BatchMap"):
        monkeypatch.setitem(STARTS, dearer, 1e6)
    monkeypatch.setitem(STARTS, "supersede", 0.0)


def by_site(lake: Lake, name: str, columns: str = "site string, n int") -> Consumer:
    """A table of which rows supersede all of their site, as a join makes them."""
    wf = ol.Workflow("w")
    sites = wf.source("sites", columns, key=columns.split()[0])
    wf.output(wf.source("pages", f"{columns.split(',')[0]}, url string").join(name, sites, on=columns.split()[0]))
    return Consumer(Lake(lake.session, f"{lake.store.home}/{name}", wf), name)


SITE = weak("replace(site)")
SUPERSEDING: tuple[Way, ...] = ("supersede", "rewrite")


def test_rows_that_supersede_all_of_their_key_take_their_place_without_a_look(lake: Lake) -> None:
    consumer = by_site(lake, "superseded")
    consumer.deliver(BASE, [("a", "1", 1), ("a", "2", 1), ("b", "3", 1), (None, "4", 1), ("it's", "5", 1)], 1)
    (kept,) = consumer.table.read(lake.session).where("site = 'b'").inputFiles()
    new = [("a", "6", 2, False), ("a", "6", 2, False), (None, None, None, True), ("c", "7", 2, False)]
    made = consumer.deliver(SITE, new, 2, ways=SUPERSEDING)
    assert (made.way, made.supersedes, made.held, made.rows) == ("supersede", True, 5, 3)
    assert consumer.rows() == bag(("a", "6", 2), ("a", "6", 2), ("b", "3", 1), ("it's", "5", 1), ("c", "7", 2))
    assert kept in consumer.table.read(lake.session).inputFiles(), "what is left was not written anew"
    made = consumer.deliver(SITE, [("it's", None, None, True), ("a", None, None, True), ("zz", None, None, True)], 3,
                            ways=SUPERSEDING)  # fmt: skip
    assert (made.way, made.held, made.rows) == ("supersede", 2, 0)
    assert consumer.rows() == bag(("b", "3", 1), ("c", "7", 2))
    made = consumer.deliver(SITE, [], 4, ways=SUPERSEDING)
    assert (made.way, made.held, consumer.number()) == ("supersede", 2, 4), "also if nothing is superseded"
    made = consumer.deliver("Δ⁺", {("b", "8", 1): 1}, 5)
    assert (made.way, made.held) == ("append", 3)
    made = consumer.deliver(DELTA, {("b", "3", 1): -1}, 6)
    assert (made.way, made.held) == ("rewrite", 2)
    assert consumer.deliver(BASE, [("a", "1", 1)], 7).held == 1
    assert consumer.rows() == bag(("a", "1", 1))


@pytest.mark.parametrize(
    "settings",
    ["'delta.enableDeletionVectors' = 'false'", "'delta.enableChangeDataFeed' = 'true'"],
    ids=["no deletion vectors", "a change feed"],
)
def test_a_table_that_its_owner_set_otherwise_is_rewritten(lake: Lake, settings: str) -> None:
    consumer = by_site(lake, f"set-{len(settings)}")
    consumer.deliver(BASE, [("a", "1", 1), ("b", "3", 1)], 1)
    lake.session.sql(f"ALTER TABLE delta.`{consumer.table.path(lake.session)}` SET TBLPROPERTIES ({settings})")
    made = consumer.deliver(SITE, [("a", "6", 2, False)], 2, ways=SUPERSEDING)
    assert (made.way, made.supersedes) == ("rewrite", False)
    assert consumer.rows() == bag(("a", "6", 2), ("b", "3", 1))


def test_of_a_table_whose_files_the_log_does_not_list_delta_finds_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olston.transaction.Write.listed", lambda _: None)
    consumer = by_site(lake, "unlisted")
    consumer.deliver(BASE, [("a", "1", 1), ("a", "2", 1), ("b", "3", 1), (None, "4", 1)], 1)
    new = [("a", "5", 2, False), (None, None, None, True)]
    made = consumer.deliver(SITE, new, 2, ways=SUPERSEDING)
    assert (made.way, made.held) == ("supersede", 2)
    assert consumer.rows() == bag(("a", "5", 2), ("b", "3", 1))


@pytest.mark.parametrize("kind", ["double", "string"])
def test_keys_that_are_too_many_or_not_compared_by_value_are_looked_up(
    lake: Lake, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olston.alter.MOST_KEYS", 2)
    a, b, c, d = [1.0, 2.5, -0.0, 4.0] if kind == "double" else ["a", "b", "c", "d"]
    consumer = by_site(lake, f"by-{kind}", f"site {kind}, n int")
    consumer.deliver(BASE, [(a, "1", 1), (b, "2", 1), (c, "3", 1), (d, "4", 1)], 1)
    made = consumer.deliver(SITE, [(x, "6", 2, False) for x in (a, b, c)], 2, ways=SUPERSEDING)
    assert (made.way, made.supersedes) == ("rewrite", False)
    assert consumer.rows() == bag((a, "6", 2), (b, "6", 2), (c, "6", 2), (d, "4", 1))


def test_keys_of_several_columns_are_told_apart(lake: Lake) -> None:
    wf = ol.Workflow("w")
    columns = "a string, b string, n bigint"
    wf.output(wf.source("s", columns, key=["a", "b", "n"]).map("several", lambda df: df, key=["a", "b", "n"]))
    consumer = Consumer(Lake(lake.session, f"{lake.store.home}/several", wf), "several")
    rows = [("1", "23", 4), ("12", "3", 4), ("1", "2", 34), (None, "-", 4), ("-", None, 4), (":", "1:", 4)]
    consumer.deliver(BASE, [*rows, ("", None, 4), (None, "", 4)], 1)
    gone = [("12", "3", 4, True), ("-", None, 4, True), (None, "", 4, True), ("1:", ":", 4, True)]
    made = consumer.deliver(weak("replace(a,b,n)"), gone, 2, ways=SUPERSEDING)
    assert (made.way, made.held) == ("supersede", 5)
    assert consumer.rows() == bag(("1", "23", 4), ("1", "2", 34), (None, "-", 4), (":", "1:", 4), ("", None, 4))


def test_a_table_of_which_most_rows_are_dead_is_written_anew(lake: Lake) -> None:
    """Every reader passes over what was deleted in place; Delta leaves it there until somebody tidies up."""
    consumer = by_site(lake, "dead")
    consumer.deliver(BASE, [("a", "1", 1), ("a", "2", 1), ("a", "3", 1), ("b", "4", 1), ("c", "5", 1)], 1)
    lake.session.sql(f"OPTIMIZE delta.`{consumer.table.path(lake.session)}`")
    ways = [consumer.deliver(SITE, [("a", "6", n, False)], n, ways=SUPERSEDING).way for n in (2, 3)]
    assert ways == ["supersede", "supersede"], "three of six are dead"
    made = consumer.deliver(SITE, [("b", None, None, True)], 4, ways=SUPERSEDING)
    assert (made.way, made.supersedes, made.held) == ("supersede", True, 2)
    made = consumer.deliver(SITE, [("c", "7", 4, False)], 5, ways=SUPERSEDING)
    assert (made.way, made.supersedes, made.held) == ("rewrite", None, 2)
    assert consumer.rows() == bag(("a", "6", 3), ("c", "7", 4))
    made = consumer.deliver(SITE, [("c", "8", 5, False)], 6, ways=SUPERSEDING)
    assert (made.way, made.held) == ("supersede", 2), "and then all begins again"


def test_a_partitioned_table_is_not_written_anew_for_its_dead_rows_as_they_would_stay(lake: Lake) -> None:
    wf = ol.Workflow("w")
    sites = wf.source("sites", "site string, n int", key="site")
    wf.output(wf.source("pages", "site string, url string").join("o", sites, on="site"), table="shop.dead")
    consumer = Consumer(Lake(lake.session, f"{lake.store.home}/dead parted", wf), "o")
    lake.session.sql("CREATE TABLE shop.dead (site string, url string, n int) USING delta PARTITIONED BY (n)")
    consumer.deliver(BASE, [(site, "1", 1) for site in "aaaab"], 1)
    lake.session.sql("ALTER TABLE shop.dead SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.session.sql("OPTIMIZE shop.dead")
    ways = [
        consumer.deliver(SITE, [(site, None, None, True), ("c", "2", 2, False)], n, ways=SUPERSEDING).way
        for n, site in enumerate("ac", 2)
    ]
    made = consumer.deliver(SITE, [("c", "3", 2, False)], 4, ways=SUPERSEDING)
    assert [*ways, made.way] == ["supersede"] * 3
    assert consumer.rows() == bag(("b", "1", 1), ("c", "3", 2))
    lake.session.sql("DROP TABLE shop.dead")


def test_of_two_that_supersede_at_once_one_does(lake: Lake) -> None:
    consumer = by_site(lake, "superseded-at-once")
    consumer.deliver(BASE, [("a", "1", 1), ("b", "2", 1)], 1)
    given = [[("a", "3", 3, False)], [("b", "4", 4, False)]]
    ends = at_once(
        lake.session, *[lambda own, g=g: consumer.deliver(SITE, g, 2, own=own, ways=SUPERSEDING) for g in given]
    )
    lost = next(i for i, end in enumerate(ends) if isinstance(end, Exception))
    assert ends[lost].code == "NUMBER_TAKEN", ends
    expected = [bag(("a", "3", 3), ("b", "2", 1)), bag(("a", "1", 1), ("b", "4", 4))]
    assert consumer.rows() == expected[1 - lost]


def digest(pages: DataFrame) -> DataFrame:
    return pages.selectExpr("url", "site", "upper(url) AS digest")


def score(counts: DataFrame) -> DataFrame:
    return counts.selectExpr("site", "10 * clicks AS score")


def double(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("k", "`n.o`", "2 * v AS v")


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
        return newest(self.home / "published" / "output")


def newest(table: Path) -> dict[str, Any]:
    """What the newest commit says was done."""
    log = max((table / "_delta_log").glob("*.json"))
    actions = map(json.loads, log.read_text().splitlines())
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


def test_of_a_table_that_does_not_let_rows_be_superseded_that_is_not_planned_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    search = Search(spark, tmp_path)
    clicks = "user string, site string"
    search.arrive("pages", "url string, site string", ("a1", "a"), ("b1", "b"))
    search.arrive("clicks", clicks, ("x", "a"), ("x", "b"))
    place = f"delta.`{tmp_path}/published/output`"
    spark.sql(f"ALTER TABLE {place} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    price: Any = search.engine._network.outputs["output"].price
    for n, before in ((2, True), (3, False)):
        search.engine.plan()
        assert price.supersedes is before
        search.arrive("clicks", clicks, (f"{n}", "a"))
        assert search.rows() == bag(("a1", 10 * n), ("b1", 10))
    search.engine.close()


def test_keys_that_another_type_or_no_text_spells_otherwise_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """The right side's keys were looked for as it spells them: 1 where the table has 1.00, and � for bytes that are no
    text. Their old rows stayed (found by a review)."""
    wf, clock = ol.Workflow("odd"), ol.ManualClock(1_700_000_000_000_000)
    pages = wf.source("pages", "site decimal(10,2), day string, url string")
    clicks = wf.source("clicks", "site int, day string")
    for name, key in (("both", ["site", "day"]), ("bytes", ["day"])):
        counts = clicks.aggregate(f"counts-{name}", by=key, n=ol.count())
        left = pages if len(key) > 1 else pages.map("days", lambda df: df.select("day", "url"))
        output = left.join(name, counts, on=key)
        wf.output(output)
        for pathway in (0, 1):
            wf.bound_staleness(output, pathway, 0)
    with ol.Engine(wf, str(tmp_path), clock=clock, spark=spark) as engine:
        for source, rows in (
            ("pages", "VALUES (1.00BD, 'a', 'u1'), (2.00BD, CAST(X'61FF' AS STRING), 'u2') AS t(site, day, url)"),
            ("clicks", "VALUES (1, 'a'), (2, CAST(X'61FF' AS STRING)) AS t(site, day)"),
            ("clicks", "VALUES (1, 'a'), (2, CAST(X'61FF' AS STRING)), (2, CAST(X'61FE' AS STRING)) AS t(site, day)"),
        ):
            clock.advance("1 hour")
            typed = "CAST(site AS decimal(10,2)) AS site, day, url" if source == "pages" else "site, day"
            engine.ingest(source, spark.sql(f"SELECT {typed} FROM {rows}"))
            engine.refresh()
        for name in ("both", "bytes"):
            assert bag_of(engine.read(name).select("url", "n")) == bag(("u1", 2), ("u2", 2)), name


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_whatever_comes_and_goes_the_table_is_what_a_join_of_all_would_be(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    random, search = Random(seed), Search(spark, tmp_path)
    sites = ["a", "b", "it's", "", "1:a", None]
    held: dict[str, Counter[tuple[Any, ...]]] = {"pages": Counter(), "clicks": Counter()}
    given = {"pages": "url string, site string, _weight bigint", "clicks": "user string, site string, _weight bigint"}
    ways = Counter[str]()
    for _ in range(8):
        source = random.choice(["pages", "clicks", "clicks"])
        new = Counter((f"{random.randint(1, 9)}", random.choice(sites)) for _ in range(random.randint(1, 8)))
        gone = random.sample(sorted(held[source].elements(), key=str), k=held[source].total() // 3)
        wave = Counter(new)
        wave.subtract(gone)
        held[source].update(new)
        held[source].subtract(gone)
        rows = [(*row, weight) for row, weight in wave.items() if weight]
        search.arrive(source, given[source], *rows, kind="delta")
        clicks = Counter(site for _, site in held["clicks"].elements())
        joined = [
            (url, 10 * clicks[site]) for url, site in held["pages"].elements() if site is not None and clicks[site]
        ]
        assert search.rows() == bag(*joined), (seed, rows)
        ways[search.last().get("predicate", "")] += 1
    assert any("IN (" in way for way in ways), "some were superseded"
    search.engine.close()


def test_upserts_by_several_columns_take_the_place_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    random, clock = Random(1), ol.ManualClock(1_700_000_000_000_000)
    wf = ol.Workflow("upserts")
    rows = wf.source("rows", "k string, `n.o` int, v int", key=["k", "n.o"])
    out = rows.filter("some", "v > 1").map("out", double, key=["k", "n.o"])
    wf.output(out)
    wf.bound_staleness(out, 0, 0)
    held: dict[tuple[Any, ...], int] = {}
    with ol.Engine(wf, str(tmp_path), clock=clock, spark=spark) as engine:
        for _ in range(6):
            keys = {(random.choice(["a", "1", "", None]), random.choice([1, 11, None])) for _ in range(6)}
            wave = {key: random.choice([None, 1, 2, 3]) for key in keys}
            clock.advance("1 hour")
            given = [(*key, v or 0, v is None) for key, v in wave.items()]
            frame = spark.createDataFrame(given, "k string, `n.o` int, v int, _deleted boolean")
            engine.ingest("rows", frame, kind="replace")
            engine.refresh()
            held.update({key: v for key, v in wave.items() if v is not None})
            held = {key: v for key, v in held.items() if wave.get(key, v) is not None}
            expected = bag(*((*key, 2 * v) for key, v in held.items() if v > 1))
            assert bag_of(engine.read("out")) == expected, wave
    assert "`k`, `n.o` IN (" in newest(tmp_path / "published" / "out").get("predicate", "")
