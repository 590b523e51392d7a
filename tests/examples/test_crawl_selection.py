"""The crawl: the web that changes, the polite fetcher, what is measured, and a small crawl on Spark."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import olston as ol
from olston.examples.crawl_selection import workflow
from olston.examples.crawl_selection.__main__ import main
from olston.examples.crawl_selection.breadth_first import BreadthFirst
from olston.examples.crawl_selection.crawl import START, Crawl, Sample
from olston.examples.crawl_selection.fetch_queue import Queue, Request
from olston.examples.crawl_selection.fetcher import (
    FORBIDDEN,
    NO_ANSWER,
    NOT_HTML,
    TOO_LARGE,
    Fetch,
    Fetcher,
    Manners,
)
from olston.examples.crawl_selection.links import links_of
from olston.examples.crawl_selection.measure import Copy, Measure, measure
from olston.examples.crawl_selection.plot import plot
from olston.examples.crawl_selection.report import rhythms
from olston.examples.crawl_selection.server import serve
from olston.examples.crawl_selection.sites import Answer, Folder
from olston.examples.crawl_selection.web import HOUR, PRIVATE, Web

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUICK = Manners(delay=0, timeout=2)


class Pages:
    """A site of given pages that remembers what it was asked for, and when."""

    def __init__(self, **answers: Answer | str) -> None:
        self.answers = {f"/{k}": Answer(200, v.encode()) if isinstance(v, str) else v for k, v in answers.items()}
        self.asked: list[tuple[str, float]] = []
        self.at_once = self.most_at_once = 0
        self.slow = 0.0
        self._counting = threading.Lock()

    def get(self, path: str, now: int) -> Answer:
        with self._counting:
            self.asked.append((path, time.monotonic()))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        if path != "/robots.txt":
            time.sleep(self.slow)
        with self._counting:
            self.at_once -= 1
        return self.answers.get(path, Answer(404))

    def pages(self, now: int) -> set[str]:
        return {path for path, answer in self.answers.items() if answer.status == 200}

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked if path != "/robots.txt"]


@pytest.fixture
def clock() -> ol.ManualClock:
    return ol.ManualClock(START)


@pytest.fixture
def site() -> Pages:
    return Pages(a="<a href='b'>b</a>", b="plain", c="more")


@pytest.fixture
def home(site: Pages, clock: ol.ManualClock) -> Iterator[str]:
    with serve(site, clock) as url:
        yield url


def statuses(fetches: list[Fetch], home: str) -> dict[str, int]:
    return {f.url.removeprefix(home): f.status for f in fetches}


# the web


def test_the_same_seed_gives_the_same_web_whoever_asks_when() -> None:
    one, other = Web(7, 80, START, 24), Web(7, 80, START, 24)
    moments = [START + h * HOUR for h in (20, 3, 11)]
    assert [one.pages(t) for t in moments] == [other.pages(t) for t in moments]
    assert [one.get(p, t) for t in reversed(moments) for p in sorted(one.pages(t))] == [
        other.get(p, t) for t in reversed(moments) for p in sorted(other.pages(t))
    ]
    assert Web(8, 80, START, 24).pages(START) != one.pages(START)


def test_pages_appear_and_vanish_with_404() -> None:
    web = Web(0, 200, START, 48)
    first, last = web.pages(START), web.pages(START + 48 * HOUR)
    assert len(last - first) > 10
    assert len(first - last) > 5
    for path in first - last:
        assert web.get(path, START).status == 200
        assert web.get(path, START + 48 * HOUR).status == 404
    for path in last - first:
        assert web.get(path, START).status == 404


def test_pages_change_at_different_rates() -> None:
    hours = 28 * 24
    web = Web(0, 200, START, hours)
    lasting = web.pages(START) & web.pages(START + hours * HOUR)
    versions = [len({web.get(p, START + h * HOUR).body for h in range(0, hours, 6)}) for p in lasting]
    assert sum(v <= 2 for v in versions) > len(versions) / 4
    assert sum(v >= 5 for v in versions) > len(versions) / 4
    assert max(versions) > 30


def test_whatever_exists_can_be_reached_from_the_root() -> None:
    web = Web(3, 150, START, 24)
    for now in (START, START + 12 * HOUR, START + 24 * HOUR):
        found, waiting = {"/"}, ["/"]
        while waiting:
            path = waiting.pop()
            answer = web.get(path, now)
            new = {u.removeprefix("http://x") for u in links_of(f"http://x{path}", answer.body.decode())} - found
            found |= new
            waiting += new
        assert web.pages(now) <= found


def test_some_pages_are_linked_to_far_more_often_than_most() -> None:
    web = Web(0, 300, START, 24)
    pages = web.pages(START)
    indegrees = Counter(u for p in pages for u in links_of(f"http://x{p}", web.get(p, START).body.decode()))
    ranked = sorted(indegrees.values(), reverse=True)
    assert sum(ranked[: len(ranked) // 10]) > sum(ranked) / 3
    assert ranked[len(ranked) // 2] <= 5


# links


def test_links_are_absolute_of_the_same_site_and_without_fragments() -> None:
    page = """<a href="../x.html#part">x</a> <A HREF='/y?q=1&amp;r=2'>y</A> <a href="http://h:1">home</a> <a name=z>
    <a href="https://h:1/other">no</a> <a href="mailto:me@h">no</a> <a href="http://elsewhere/">no</a>
    <a href="#top">no</a> <a href="../x.html">again</a> <a href="http://[broken">no</a>
    <!-- <a href="hidden">no</a> --> <link href="style.css">"""
    found = ["http://h:1/x.html", "http://h:1/y?q=1&r=2", "http://h:1/"]
    assert links_of("http://h:1/d/p.html", page) == found
    assert links_of("http://h:1/d/p.html", None) == []


# the server


def test_a_folder_is_served_and_nothing_outside_it(tmp_path: Path, clock: ol.ManualClock) -> None:
    root = tmp_path / "docs"
    (root / "sub dir").mkdir(parents=True)
    (root / "index.html").write_text("<a href='sub%20dir/'>sub</a>")
    (root / "sub dir" / "index.html").write_text("sub")
    (root / "notes.txt").write_text("text")
    (tmp_path / "secret.html").write_text("secret")
    (root / "leak.html").symlink_to(tmp_path / "secret.html")
    folder = Folder(root)
    assert folder.pages(0) >= {"/index.html", "/sub%20dir/index.html"}
    with serve(folder, clock) as home, Fetcher(home, clock, QUICK) as fetcher:
        asked = ["/index.html", "/sub%20dir", "/notes.txt", "/leak.html", "/%2e%2e/secret.html", "/none.html", "/%00"]
        found = statuses(fetcher.fetch(home + path for path in asked), home)
    assert found == {
        "/index.html": 200, "/sub%20dir": 301, "/sub%20dir/index.html": 200, "/notes.txt": NOT_HTML, "/leak.html": 404,
        "/%2e%2e/secret.html": 404, "/none.html": 404, "/%00": 404,
    }  # fmt: skip
    with pytest.raises(NotADirectoryError, match=r"secret.html: no folder"):
        Folder(tmp_path / "secret.html")


def test_the_server_tells_what_is_there_at_the_time_of_the_clock(clock: ol.ManualClock) -> None:
    web = Web(0, 60, START, 24)
    (born, *_) = sorted(web.pages(START + 24 * HOUR) - web.pages(START))
    with serve(web, clock) as home, Fetcher(home, clock, QUICK) as fetcher:
        (before,) = fetcher.fetch([home + born])
        clock.advance("1 day")
        (after,) = fetcher.fetch([home + born])
    assert (before.status, before.time, before.content) == (404, START, None)
    assert (after.status, after.time) == (200, START + 24 * HOUR)
    assert after.content == web.get(born, START + 24 * HOUR).body.decode()


# the fetcher


def test_fetches_come_in_the_order_asked_each_once(site: Pages, home: str, clock: ol.ManualClock) -> None:
    with Fetcher(home, clock, QUICK) as fetcher:
        fetches = fetcher.fetch([f"{home}/{p}" for p in ("c", "a", "none", "a")])
    assert list(statuses(fetches, home).items()) == [("/c", 200), ("/a", 200), ("/none", 404)]
    assert [f.content for f in fetches] == ["more", "<a href='b'>b</a>", None]


def test_requests_keep_their_distance(site: Pages, home: str, clock: ol.ManualClock) -> None:
    began = time.monotonic()
    with Fetcher(home, clock, Manners(delay=0.1, together=4)) as fetcher:
        fetcher.fetch([f"{home}/{p}" for p in "abc"])
        fetcher.fetch([f"{home}/none"])
    times = sorted(at - began for _, at in site.asked)
    assert len(times) == 5, "robots.txt and four pages"
    assert all(at >= 0.1 * i for i, at in enumerate(times)), times


def test_a_site_may_ask_for_a_longer_delay(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.answers["/robots.txt"] = Answer(200, b"User-agent: *\nCrawl-delay: 1\n", "text/plain")
    with Fetcher(home, clock, QUICK) as fetcher:
        began = time.monotonic()
        fetcher.fetch([f"{home}/a", f"{home}/b"])
    assert time.monotonic() - began > 0.9


def test_no_more_requests_at_once_than_allowed(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.slow = 0.05
    with Fetcher(home, clock, Manners(delay=0, together=2)) as fetcher:
        fetcher.fetch([f"{home}/{i}" for i in range(8)])
    assert site.most_at_once == 2


def test_what_robots_txt_forbids_is_not_asked_for(clock: ol.ManualClock) -> None:
    site = Pages(open="page")
    site.answers["/robots.txt"] = Answer(200, b"User-agent: olston-crawl\nDisallow: /closed\n", "text/plain")
    with serve(site, clock) as home, Fetcher(home, clock, QUICK) as fetcher:
        found = statuses(fetcher.fetch([f"{home}/open", f"{home}/closed/x"]), home)
        fetcher.fetch([f"{home}/open"])
        read = [p for p, _ in site.asked if p == "/robots.txt"]
        clock.advance("2 days")
        fetcher.fetch([f"{home}/open"])
    assert found == {"/open": 200, "/closed/x": FORBIDDEN}
    assert site.paths == ["/open"] * 3
    assert len(read) == 1
    assert [p for p, _ in site.asked].count("/robots.txt") == 2, "it is read again after a day"


def test_without_an_answer_to_robots_txt_nothing_is_fetched(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.answers["/robots.txt"] = Answer(500)
    with Fetcher(home, clock, QUICK) as fetcher:
        assert statuses(fetcher.fetch([f"{home}/a"]), home) == {"/a": FORBIDDEN}
    assert site.paths == []


def test_the_fetcher_never_leaves_its_site(site: Pages, home: str, clock: ol.ManualClock) -> None:
    other = Pages(x="elsewhere")
    with serve(other, clock) as elsewhere, Fetcher(home, clock, QUICK) as fetcher:
        site.answers["/away"] = Answer(302, location=f"{elsewhere}/x")
        fetches = fetcher.fetch([f"{elsewhere}/x", f"{home}/away", "ftp://127.0.0.1/x"])
    assert [f.status for f in fetches] == [FORBIDDEN, 302, FORBIDDEN, FORBIDDEN]
    assert other.asked == []
    assert site.paths == ["/away"]


def test_redirects_are_told_and_end(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.answers |= {"/old": Answer(301, location="a"), "/round": Answer(302, location="/round")}
    with Fetcher(home, clock, QUICK) as fetcher:
        assert statuses(fetcher.fetch([f"{home}/old"]), home) == {"/old": 301, "/a": 200}
        assert [f.status for f in fetcher.fetch([f"{home}/round"])] == [302] * 4


def test_large_pages_and_others_than_html_are_declined(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.answers |= {"/large": Answer(200, b"x" * 5_000), "/image": Answer(200, b"x", "image/png")}
    with Fetcher(home, clock, Manners(delay=0, largest=4_000)) as fetcher:
        fetches = fetcher.fetch([f"{home}/large", f"{home}/image", f"{home}/a"])
    assert [f.status for f in fetches] == [TOO_LARGE, NOT_HTML, 200]
    assert [f.content is None for f in fetches] == [True, True, False]


def test_a_page_that_does_not_come_in_time_is_no_answer(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.slow = 1.0
    with Fetcher(home, clock, Manners(delay=0, timeout=0.2)) as fetcher:
        began = time.monotonic()
        (fetch,) = fetcher.fetch([f"{home}/a"])
    assert time.monotonic() - began < 0.9
    assert (fetch.status, fetch.content, fetch.answered) == (NO_ANSWER, None, False)


def test_a_server_that_is_gone_is_no_answer(clock: ol.ManualClock) -> None:
    site = Pages(a="page")
    with serve(site, clock) as home, Fetcher(home, clock, QUICK) as fetcher:
        assert fetcher.fetch([f"{home}/a"])[0].status == 200
    with Fetcher(home, clock, QUICK) as fetcher:
        assert fetcher.fetch([f"{home}/a"])[0].status == FORBIDDEN, "nobody says that we may"


def test_a_busy_site_is_left_alone(site: Pages, home: str, clock: ol.ManualClock) -> None:
    site.answers["/busy"] = Answer(503)
    with Fetcher(home, clock, Manners(delay=0, together=1)) as fetcher:
        fetches = fetcher.fetch([f"{home}/{p}" for p in ("a", "busy", "b", "c")])
        assert [f.status for f in fetches] == [200, 503]
        assert [f.status for f in fetcher.fetch([f"{home}/b"])] == [200], "until the next wave"


# the queue


def test_what_is_new_comes_first_then_jobs_take_turns_with_their_worthiest() -> None:
    adaptive = [Request("low", "adaptive", 1, 9), Request("high", "adaptive", 9, 9), Request("mid", "adaptive", 5, 9)]
    periodic = [Request("old", "periodic", 2, 10), Request("high", "periodic", 1, 10)]
    queue = Queue([*adaptive, *periodic, Request("new", "top", 0, None)])
    assert queue.next(3, 100) == ["new", "high", "old"]
    assert queue.next(9, 100) == ["new", "high", "old", "mid", "low"]


def test_a_request_is_met_by_a_later_answer_only() -> None:
    periodic = [Request("old", "periodic", 1, 50), Request("older", "periodic", 0, 5)]
    queue = Queue([Request("new", "top", 1, None), *periodic])
    queue.fetched([Fetch("old", 50, 200, "x"), Fetch("older", 6, 404)])
    assert queue.next(9, 100) == ["new", "old"]
    queue.fetched([Fetch("old", 51, 200, "x"), Fetch("new", 51, 404)])
    assert queue.next(9, 100) == []


def test_what_does_not_answer_rests_longer_every_time() -> None:
    queue = Queue([Request("u", "top", 1, None)])
    for hours in (1, 2, 4):
        queue.fetched([Fetch("u", 0, NO_ANSWER)])
        assert queue.next(1, hours * HOUR - 1) == []
        assert queue.next(1, hours * HOUR) == ["u"]
    queue.fetched([Fetch("u", 0, 200, "x")])
    assert queue.next(1, 99 * HOUR) == []


# what is measured


def test_coverage_and_freshness_are_shares_of_what_exists_and_of_what_is_held() -> None:
    site, copy = Pages(a="one", b="two", c="three", d="four"), Copy()
    assert measure(copy, site, "http://h", 0) == Measure(0, 0, 0, 0)
    copy.take(Fetch(f"http://h/{path}", 1, 200, said) for path, said in (("a", "one"), ("b", "old"), ("x", "gone")))
    assert measure(copy, site, "http://h", 0) == Measure(3, 2 / 4, 1 / 3, 1 / 4)
    copy.take([Fetch("http://h/x", 2, 404), Fetch("http://h/b", 2, NO_ANSWER)])
    assert measure(copy, site, "http://h", 0) == Measure(5, 2 / 4, 1 / 2, 1 / 4)


def test_the_plain_crawler_goes_breadth_first_and_then_begins_anew(clock: ol.ManualClock) -> None:
    site = Pages(a="<a href=b>b</a><a href=c>c</a>", b="<a href=d>d</a><a href=a>a</a>", c="<a href=none>", d="end")
    with serve(site, clock) as home, Fetcher(home, clock, Manners(delay=0, together=1)) as fetcher:
        crawler = BreadthFirst(fetcher, [f"{home}/a"])
        for _ in range(4):
            crawler.crawl(2)
    assert site.paths == ["/a", "/b", "/c", "/d", "/none", "/a", "/b", "/c"]
    assert (crawler.copy.fetches, crawler.rounds) == (8, 2)


def test_the_plot_is_drawn(tmp_path: Path) -> None:
    samples = [Sample(h, Measure(h, 0.5, 0.9, 0.4), Measure(h, 0.6, 0.8, 0.5)) for h in (1, 2, 3)]
    for name, begins in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml")):
        plot(samples, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)


def test_a_single_day_is_seen_in_the_plot(tmp_path: Path) -> None:
    drawn = tmp_path / "day.png", tmp_path / "another.png"
    for file, fresh in zip(drawn, (0.9, 0.3), strict=True):
        plot([Sample(1, Measure(1, 0.5, fresh, 0.4), Measure(1, 0.6, 0.8, 0.5))], file)
    assert drawn[0].read_bytes() != drawn[1].read_bytes()


def test_olston_does_not_need_httpx() -> None:
    script = "import sys; sys.modules['httpx'] = None; import olston, olston.examples.crawl_selection.workflow"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# on Spark


def at(hours: float) -> datetime:
    return datetime.fromtimestamp(START / 1e6, UTC) + timedelta(hours=hours)


def frame(spark: SparkSession, rows: list[Any], columns: str) -> DataFrame:
    return spark.createDataFrame(rows, columns)


def selected(rows: DataFrame) -> list[tuple[str, float | None]]:
    """What a job selects, in order: the URL, and how many hours after the start it was last asked for."""
    assert rows.columns == ["url", "job", "worth", "after"]
    moments = ((r["url"], r["after"]) for r in rows.collect())
    return [(u, None if t is None else (t.astimezone(UTC) - at(0)) / timedelta(hours=1)) for u, t in moments]


FETCHED = "url string, time timestamp, status int"
INDEGREES = "link string, indegree bigint"


def test_top_unfetched_lets_what_failed_rest(spark: SparkSession) -> None:
    log = [("p", 0, 200), ("dead", 0, 404), ("deader", 0, 404), ("deader", 5, 404), ("young", 9, 404), ("q", 10, 200)]
    fetched = frame(spark, [(u, at(h), s) for u, h, s in log], FETCHED)
    indegrees = [("p", 99), ("dead", 8), ("deader", 7), ("young", 6), ("b", 2), ("a", 2), ("c", 3)]
    found = selected(workflow.top_unfetched(fetched, frame(spark, indegrees, INDEGREES)))
    assert found == [("dead", 0), ("c", None), ("a", None), ("b", None)]


def test_periodic_recrawl_comes_back_the_sooner_the_more_links_there_are(spark: SparkSession) -> None:
    log = [("lonely", 0, 200), ("linked", 0, 200), ("famous", 280, 200), ("vanished", 0, 200), ("vanished", 7, 404)]
    indegrees = frame(spark, [("linked", 2), ("famous", 62), ("vanished", 2), ("unknown", 5)], INDEGREES)
    expected = {287: {"linked"}, 329: {"linked"}, 343: {"lonely", "linked", "famous", "vanished"}}
    for hour, urls in expected.items():
        fetched = frame(spark, [(u, at(h), s) for u, h, s in [*log, ("now", hour, 200)]], FETCHED)
        found = {u for u, _ in selected(workflow.periodic_recrawl(fetched, indegrees))}
        assert found == urls, hour


def test_adaptive_recrawl_extrapolates_from_what_changed_before(spark: SparkSession) -> None:
    visits = {"static": "aaaaaa", "changing": "aabbcc", "hopeless": "abcdef", "vanished": "aabbb-"}
    rows = [(u, at(4 * i), None if d == "-" else d) for u, ds in visits.items() for i, d in enumerate(ds)]
    indegrees = frame(spark, [("static", 3), ("changing", 3), ("hopeless", 3), ("vanished", 50)], INDEGREES)

    def order(hour: float) -> list[str]:
        digests = frame(spark, [*rows, ("now", at(hour), "x")], "url string, time timestamp, digest string")
        return [u for u, _ in selected(workflow.adaptive_recrawl(digests, indegrees))]

    assert order(20.5) == ["hopeless"], "the others have hardly changed yet"
    assert order(34) == ["changing", "hopeless", "static"], "what changes faster than it is fetched is worth less"


def test_a_job_of_nothing_selects_nothing(spark: SparkSession) -> None:
    fetched, indegrees = frame(spark, [], FETCHED), frame(spark, [], INDEGREES)
    digests = frame(spark, [], "url string, time timestamp, digest string")
    assert selected(workflow.top_unfetched(fetched, indegrees)) == []
    assert selected(workflow.periodic_recrawl(fetched, indegrees)) == []
    assert selected(workflow.adaptive_recrawl(digests, indegrees)) == []


class Watched(Web):
    """A web that remembers the paths it was asked for."""

    def __init__(self) -> None:
        super().__init__(1, 20, START, 48)
        self.asked = Counter[str]()

    def get(self, path: str, now: int) -> Answer:
        self.asked[path] += 1
        return super().get(path, now)


def test_a_crawl_fetches_what_olston_selects(spark: SparkSession, tmp_path: Path, clock: ol.ManualClock) -> None:
    web = Watched()
    with ol.Engine(workflow.declare(), str(tmp_path), clock=clock, spark=spark) as engine:
        with serve(web, clock) as home, Crawl(engine, clock, web, home, manners=QUICK, per_day=40) as crawl:
            samples = list(crawl.run(2))
        kept = engine.read("fetches").collect()
        held = engine.provenance("output").to_dict()
        ran = rhythms(engine, crawl.asked)
        assert list(engine.feed("output").after(crawl.queue.cursor)) == []
    assert [s.day for s in samples] == [1, 2]
    assert samples[-1].olston.coverage > 0.5
    assert all(s.olston.fetches == s.breadth_first.fetches for s in samples)
    assert len(kept) == samples[-1].olston.fetches
    assert {r["url"] for r in kept if r["content"] is not None} >= crawl.copy.pages.keys()
    assert not [p for p in web.asked if p.startswith(PRIVATE)], "robots.txt forbids it"
    assert crawl.asked, "right after the first crawl nothing is due"
    assert [p["name"] for p in held["pathways"]] == [p.name for p in workflow.output.pathways]
    assert len(held["pathways"]) == 6
    assert ran.row_count == 4


def test_a_folder_is_crawled_by_the_command(spark: SparkSession, tmp_path: Path) -> None:
    site, drawn = tmp_path / "site", tmp_path / "plot.png"
    (site / "deep").mkdir(parents=True)
    (site / "index.html").write_text('<a href="a.html">a</a> <a href="deep/">deep</a> <a href="none.html">broken</a>')
    (site / "a.html").write_text('<a href="index.html">back</a> <a href="https://example.org/">away</a>')
    (site / "deep" / "index.html").write_text('<a href="../a.html#part">a</a>')
    console = Console(width=110, record=True, file=StringIO())
    asked = ["--site", str(site), "--days", "1", "--delay", "0", "--plot", str(drawn)]
    (sample,) = main([*asked, "--home", str(tmp_path / "lake")], console, spark)
    assert sample.olston == Measure(11, 1.0, 1.0, 1.0), "three pages, a redirect, a broken link; the seed; all again"
    shown = console.export_text()
    assert "11 | 11" in shown
    assert "fetches>links>indegrees>adaptive_recrawl" in shown
    assert drawn.stat().st_size > 1_000


def test_a_folder_without_html_and_a_home_with_something_in_it_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("no page")
    for option, said in (("--site", "no folder with HTML in it"), ("--home", "is not empty")):
        with pytest.raises(SystemExit):
            main([option, str(tmp_path)])
        assert said in capsys.readouterr().err


@pytest.mark.long
def test_the_copy_is_fresher_than_that_of_a_plain_crawler(spark: SparkSession, tmp_path: Path) -> None:
    samples = main(["--days", "14", "--home", str(tmp_path)], Console(width=110), spark)
    settled = samples[5:]
    ours, theirs = (sum(getattr(s, who).freshness for s in settled) for who in ("olston", "breadth_first"))
    assert ours > theirs
    assert samples[-1].olston.coverage > 0.9
