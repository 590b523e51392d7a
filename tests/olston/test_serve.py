"""Serving, in real threads and processes and by the machine's clock, with work that is pretended."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import olston as ol
from olston.catalog import Catalog
from olston.engine import Engine
from olston.errors import CatalogError, OlstonError, SparkError, StoreError
from olston.held import Followed
from olston.serve import _refresh, _Waking
from tests.pretended import Pretended, arrive, engine

REPOSITORY = Path(__file__).parents[2]


def counting(bound: str = "0 s", refresh: str | None = None) -> ol.Workflow:
    wf = ol.Workflow("counting")
    wf.output(wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count()), refresh=refresh)
    wf.bound_staleness("counts", 0, bound)
    return wf


@contextmanager
def serving(served: Engine) -> Iterator[threading.Event]:
    stop = threading.Event()
    thread = threading.Thread(target=served.serve, kwargs={"stop": stop})
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(60)
        assert not thread.is_alive()
        served.close()


def soon(condition: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def holds(work: Pretended, stamp: float) -> bool:
    return "counts" in work.delivered and stamp in work.content("counts")[0]


def test_what_arrives_is_delivered_without_being_asked_for(tmp_path: Path) -> None:
    work = Pretended()
    served = engine(counting(), str(tmp_path), work)
    with serving(served):
        for _ in range(3):
            (block,) = arrive(served, "rows")
            soon(lambda stamp=block.stamp: holds(work, stamp))  # type: ignore[misc]


def test_what_another_engine_ingests_is_seen_too(tmp_path: Path) -> None:
    work = Pretended()
    served, other = engine(counting(), str(tmp_path), work), engine(counting(), str(tmp_path), Pretended())
    with serving(served):
        (block,) = arrive(other, "rows")
        soon(lambda: holds(work, block.stamp))
    other.close()


def test_a_refresh_while_another_serves_is_done_by_that_one_and_waited_for(tmp_path: Path) -> None:
    work, idle = Pretended(), Pretended()
    served, other = engine(counting("1 week"), str(tmp_path), work), engine(counting("1 week"), str(tmp_path), idle)
    with serving(served):
        arrive(other, "rows")
        soon(lambda: bool(work.delivered))
        (block,) = arrive(other, "rows")
        report = other.refresh("counts")
        assert holds(work, block.stamp)
        assert report.steps
        assert not idle.made
        work.fails = lambda name: name.startswith("→")
        arrive(other, "rows")
        with pytest.raises(ol.StepError, match="failed, as it was told to"):
            other.refresh("counts")
    other.close()


def test_a_refresh_that_another_carried_out_just_before_this_one_could_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, quick = (engine(counting(), str(tmp_path), Pretended()) for _ in range(2))
    arrive(late, "rows")
    take, refreshed = late._scheduling.lease.take, threading.Event()

    def taken_late() -> bool:
        if not refreshed.is_set():
            refreshed.set()
            quick.refresh()  # answers all that was asked
        return take()

    monkeypatch.setattr(late._scheduling.lease, "take", taken_late)
    asked = threading.Thread(target=late.refresh, daemon=True)
    asked.start()
    asked.join(30)
    assert refreshed.is_set()
    assert not asked.is_alive()
    late.close()
    quick.close()


def test_a_workflow_that_nothing_was_done_with_can_be_paused(tmp_path: Path) -> None:
    made = engine(counting(), str(tmp_path), Pretended())
    made.pause()
    assert made.status().paused
    made.close()


def test_a_bound_that_would_break_is_kept(tmp_path: Path) -> None:
    work = Pretended()
    served = engine(counting("4 s"), str(tmp_path), work)
    with serving(served):
        arrive(served, "rows")
        soon(lambda: bool(work.delivered))
        (block,) = arrive(served, "rows")
        at = time.monotonic()
        soon(lambda: holds(work, block.stamp))
        assert 1 < time.monotonic() - at < 30


def test_an_output_is_refreshed_at_given_times_whatever_its_bound(tmp_path: Path) -> None:
    work = Pretended()
    served = engine(counting("1 week", refresh="2 s"), str(tmp_path), work)
    with serving(served):
        arrive(served, "rows")
        soon(lambda: bool(work.delivered))
        (block,) = arrive(served, "rows")
        soon(lambda: holds(work, block.stamp))


def test_a_second_server_waits_and_takes_over(tmp_path: Path) -> None:
    work, idle = Pretended(), Pretended()
    first, second = engine(counting(), str(tmp_path), work), engine(counting(), str(tmp_path), idle)
    with serving(second):
        pass  # it holds the workflow only while it serves
    second = engine(counting(), str(tmp_path), idle)
    with serving(first):
        arrive(first, "rows")
        soon(lambda: bool(work.delivered))
        with serving(second):
            (block,) = arrive(first, "rows")
            soon(lambda: holds(work, block.stamp))
            assert not idle.made
    third = engine(counting(), str(tmp_path), work)
    with serving(third):
        (block,) = arrive(third, "rows")
        soon(lambda: holds(work, block.stamp))


def test_a_catalog_that_cannot_be_reached_for_a_while_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    work, away = Pretended(), threading.Event()
    served, other = engine(counting(), str(tmp_path), work), engine(counting(), str(tmp_path), Pretended())
    monkeypatch.setattr("olston.scheduling.RETRY", 0.1)
    for way in ("look", "transaction"):
        reach = getattr(served._catalog, way)

        @contextmanager
        def refused(reach: Callable[..., AbstractContextManager[Any]] = reach, **how: bool) -> Iterator[Any]:
            if away.is_set():
                raise CatalogError("catalog: connection refused.")
            with reach(**how) as db:
                yield db

        monkeypatch.setattr(served._catalog, way, refused)
    with serving(served):
        (block,) = arrive(other, "rows")
        soon(lambda: holds(work, block.stamp))
        away.set()
        soon(lambda: "connection refused. Trying again." in caplog.text)
        away.clear()
        (block,) = arrive(other, "rows")
        soon(lambda: holds(work, block.stamp))
    other.close()


def test_a_timed_refresh_is_asked_for_once_the_catalog_can_be_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olston.serve.RETRY", 0.01)
    work, refused = Pretended(), [CatalogError("catalog: connection refused.")] * 3
    served = engine(counting("1 week"), str(tmp_path), work)
    (block,) = arrive(served, "rows")
    command = served._scheduling.command

    def reached(asked: dict[str, Any]) -> int:
        if refused:
            raise refused.pop()
        return command(asked)

    monkeypatch.setattr(served._scheduling, "command", reached)
    _refresh(served._scheduling, {"refresh": ["counts"], "full": False, "timed": True}, threading.Event())
    assert not refused
    with serving(served):
        soon(lambda: holds(work, block.stamp))


@pytest.mark.parametrize("another", [False, True], ids=["deleted", "replaced"])
def test_a_server_ends_when_its_catalog_is_deleted_under_it(tmp_path: Path, another: bool) -> None:
    """Whoever has it open could go on with it, and nobody else would ever see what it wrote."""
    work = Pretended()
    served = engine(counting(), str(tmp_path), work)
    (block,) = arrive(served, "rows")
    ended: list[Exception] = []

    def serve() -> None:
        try:
            served.serve(stop=threading.Event())
        except OlstonError as error:
            ended.append(error)

    thread = threading.Thread(target=serve)
    thread.start()
    soon(lambda: holds(work, block.stamp))
    for file in tmp_path.glob("catalog.db*"):
        file.unlink()
    if another:
        Catalog(f"sqlite:///{tmp_path}/catalog.db").close()
    thread.join(60)
    assert not thread.is_alive()
    assert [e.code for e in ended if isinstance(e, OlstonError)] == ["CATALOG_LOST"]
    assert "olston recover" in str(ended[0])
    served.close()


def test_paused_and_resumed(tmp_path: Path) -> None:
    work = Pretended()
    served = engine(counting(), str(tmp_path), work)
    with serving(served):
        arrive(served, "rows")
        soon(lambda: bool(work.delivered))
        served.pause()
        assert served.status().paused
        with pytest.raises(OlstonError, match=r"PAUSED.*resume it first"):
            served.refresh()
        (block,) = arrive(served, "rows")
        time.sleep(1.5)
        assert not holds(work, block.stamp)
        served.resume()
        soon(lambda: holds(work, block.stamp))


def test_a_poll_that_runs_may_finish_before_serving_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever served closes Spark and the catalog next, on which the poll stands."""
    done = threading.Event()

    def slow(*_: Any) -> None:
        time.sleep(2)
        done.set()

    monkeypatch.setattr("olston.serve._poll", slow)
    wf = ol.Workflow("following")
    wf.output(wf.source("rows", "k string", files="*.csv", poll="1 hour").distinct("once"))
    served, stop = engine(wf, str(tmp_path), Pretended()), threading.Event()
    threading.Timer(0.5, stop.set).start()
    served.serve(stop=stop)
    assert done.is_set()
    served.close()


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_a_step_finish_and_releases_the_lease(tmp_path: Path, told: signal.Signals) -> None:
    code = """
import sys, time
from tests.olston.test_serve import counting
from tests.pretended import Pretended, arrive, engine

def slow(name):
    print(f"begun {name}", flush=True)
    time.sleep(1.5)
    return False

served = engine(counting(), sys.argv[1], Pretended(fails=slow))
arrive(served, "rows")
served.serve()
print("served", served._scheduling.lease.owner(), [s.state for s in served.history().steps], flush=True)
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("begun")
        process.send_signal(told)
        last = process.stdout.read().splitlines()[-1]
        assert process.wait(60) == 0
    assert last.startswith("served None")
    assert "running" not in last
    assert "done" in last


def test_a_server_goes_on_after_a_failure_that_nobody_foresaw_and_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    work, told = Pretended(), [StoreError("published: connection reset."), ValueError("odd")]
    monkeypatch.setattr("olston.scheduling.RETRY", 0.01)
    monkeypatch.setattr(work, "follow", lambda *_: (_ for _ in ()).throw(told.pop()) if told else Followed())
    served = engine(counting(), str(tmp_path), work)
    (block,) = arrive(served, "rows")
    with serving(served):
        soon(lambda: holds(work, block.stamp))
    assert "connection reset. Going on in" in caplog.text
    assert "ValueError: odd. Going on in" in caplog.text
    assert not told, "the logs of consumers are asked again until they told"


def test_what_does_not_mend_itself_ends_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Pretended()
    served = engine(counting(), str(tmp_path), work)
    arrive(served, "rows")

    def refused() -> Followed:
        raise SparkError("no Java.")

    monkeypatch.setattr(work, "follow", refused)
    with pytest.raises(SparkError, match="no Java"):
        served.serve()
    served.close()


def test_a_bound_that_breaks_after_the_last_year_there_is_does_not_stop_a_server(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    work = Pretended()
    wf = counting("600000 weeks")
    served = engine(wf, str(tmp_path), work)
    with serving(served):
        arrive(served, "rows")
        soon(lambda: bool(work.delivered))
        arrive(served, "rows")
        time.sleep(1.5)
        (block,) = arrive(served, "rows")
        served.refresh("counts")
        assert holds(work, block.stamp)
    assert "Going on in" not in caplog.text


def test_polls_go_on_when_the_machines_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from apscheduler.schedulers.background import BackgroundScheduler

    class Shown:
        back = timedelta()

        @classmethod
        def now(cls, tz: tzinfo) -> datetime:
            return datetime.now(tz) - cls.back

    monkeypatch.setattr("olston.serve.datetime", Shown)
    jobs, began = BackgroundScheduler(timezone=UTC), datetime.now(UTC)
    jobs.start(paused=True)
    try:
        poll = jobs.add_job(print, "interval", minutes=5)
        daily = jobs.add_job(print, "cron", hour=6)
        at_six = daily.next_run_time
        loop = SimpleNamespace(next=None)
        waking = _Waking(cast(Any, None), jobs)
        waking(cast(Any, loop))
        assert poll.next_run_time > began + timedelta(minutes=4)
        Shown.back = timedelta(days=1)
        waking(cast(Any, loop))
        assert poll.next_run_time < began - timedelta(hours=23)
        assert daily.next_run_time == at_six
    finally:
        jobs.shutdown()


def test_what_was_to_be_done_while_the_machine_slept_is_done_when_it_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    from apscheduler.schedulers.background import BackgroundScheduler

    class Shown:
        ahead = timedelta()

        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime.now(tz) + cls.ahead

    monkeypatch.setattr("olston.serve.datetime", Shown)
    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Shown)
    jobs, done = BackgroundScheduler(timezone=UTC), threading.Event()
    jobs.add_job(done.set, "interval", hours=1, misfire_grace_time=None)
    jobs.start()
    try:
        waking, loop = _Waking(cast(Any, None), jobs), SimpleNamespace(next=None)
        waking(cast(Any, loop))
        assert not done.wait(0.5)
        Shown.ahead = timedelta(hours=2)
        waking(cast(Any, loop))
        assert done.wait(10)
    finally:
        jobs.shutdown()


def test_a_step_that_cannot_be_cancelled_is_left_and_the_lease_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olston.scheduling.GRACE", 0.2)
    begun, go = threading.Event(), threading.Event()

    def computes(name: str) -> bool:
        begun.set()
        return not go.wait(30)

    stuck, work, stop = engine(counting(), str(tmp_path), Pretended(fails=computes)), Pretended(), threading.Event()
    thread = threading.Thread(target=stuck.serve, kwargs={"stop": stop})
    thread.start()
    arrive(stuck, "rows")
    assert begun.wait(10)
    stop.set()
    thread.join(10)
    assert not thread.is_alive()
    other = engine(counting(), str(tmp_path), work)
    other.refresh()
    assert len(work.delivered["counts"]) == 1, "who comes next does it, and waits for nobody"
    go.set()
    other.close()
    stuck.close()
