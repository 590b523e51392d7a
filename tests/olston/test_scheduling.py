"""Who gives a command is answered, and who stops waiting for it wants it no more."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlmodel import col, select

import olston as ol
from olston import maintain, polling
from olston.catalog.records import EventRecord, LeaseRecord, PlanRecord, StepRecord
from olston.declared import agrees
from olston.lease import Lease
from olston.loop import Loop
from olston.planning import Planning
from olston.serve import _vacuum
from olston.step import Stored
from tests.pretended import Pretended, arrive, engine


def two() -> ol.Workflow:
    wf = ol.Workflow("two")
    for name in ("a", "b"):
        wf.output(wf.source(f"{name}s", "k string").aggregate(name, by="k", n=ol.count()))
        wf.bound_staleness(name, 0, 0)
    return wf


def test_a_refresh_that_was_interrupted_is_not_carried_out_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Pretended()
    made = engine(two(), str(tmp_path), work)
    arrive(made, "as", "bs")

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "turn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.refresh("a")
    made.refresh("b")
    assert set(work.delivered) == {"b"}
    made.close()


def test_every_output_that_could_not_be_refreshed_says_why_itself(tmp_path: Path) -> None:
    failing = {"a.batch", "b.batch"}
    made = engine(two(), str(tmp_path), Pretended(fails=failing.__contains__))
    arrive(made, "as", "bs")
    with pytest.raises(ol.StepError):
        made.refresh()
    reasons = {o.output: o.failed or "" for o in made.status().outputs}
    assert reasons["a"].startswith("a.batch: failed")
    assert reasons["b"].startswith("b.batch: failed")
    failing.discard("a.batch")
    with pytest.raises(ol.StepError):
        made.refresh()
    assert [o.failed is None for o in made.status().outputs] == [True, False]
    made.close()


class Folding(Pretended):
    """Takes a while to fold."""

    def fold(self, stored: Stored, attempt: str) -> tuple[Stored, str | None]:
        time.sleep(1)
        return super().fold(stored, attempt)


def test_a_refresh_of_one_output_does_only_that_also_while_something_is_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Folding(workflow=two())
    made = engine(two(), str(tmp_path), work)
    arrive(made, "as", "bs")
    made.refresh()
    monkeypatch.setattr(maintain, "PARTS", 0)
    for _ in range(3):
        arrive(made, "as", "bs")
        made.refresh("a")
    assert [s for s in made.history().steps if s.step.endswith(".fold")]
    assert [len(work.delivered[o]) for o in ("a", "b")] == [4, 1]
    made.close()


class Counting(Pretended):
    """Lets something arrive while a step runs, if it is told to."""

    during: Callable[[], object] = staticmethod(lambda: None)

    def deliver(self, *given: Any) -> Any:
        arriving, self.during = self.during, lambda: None
        arriving()
        return super().deliver(*given)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted, load = list[int](), Planning.load

    def loaded(planning: Planning, db: Any) -> Any:
        counted.append(1)
        return load(planning, db)

    monkeypatch.setattr(Planning, "load", loaded)
    return counted


def test_a_refresh_reads_the_catalog_once_while_nobody_else_changes_it(tmp_path: Path, loads: list[int]) -> None:
    work = Counting()
    made = engine(two(), str(tmp_path), work)
    arrive(made, "as", "bs")
    made.refresh()
    arrive(made, "as")
    loads.clear()
    report = made.refresh()
    assert len(loads) == 1
    assert report.delivered["a"] == work.content("a")
    made.close()


def test_what_arrives_while_a_step_runs_is_refreshed_too(tmp_path: Path, loads: list[int]) -> None:
    work = Counting()
    made = engine(two(), str(tmp_path), work)
    arrive(made, "as", "bs")
    made.refresh()
    arrive(made, "as")
    work.during = lambda: arrive(made, "bs")
    loads.clear()
    made.refresh()
    assert len(loads) > 1
    assert [len(work.delivered[o]) for o in ("a", "b")] == [2, 2]
    made.close()


def test_the_evidence_for_a_plan_is_kept_however_quick_its_steps_are(tmp_path: Path) -> None:
    made = engine(two(), str(tmp_path), Pretended())
    arrive(made, "as", "bs")
    made.refresh()
    with made._catalog.look() as db:
        assert [p.evidence for p in db.exec(select(PlanRecord)) if not p.evidence] == []
    made.close()


def test_of_a_split_that_is_done_within_a_delivery_nothing_is_learned_of_its_shares(tmp_path: Path) -> None:
    wf = ol.Workflow("split")
    for output in wf.source("searches", "n boolean").split({"news": "n"}, rest="other"):
        wf.output(output)
    wf.bound_staleness("news", 0, 0)
    wf.bound_staleness("other", 0, "1 day")
    made = engine(wf, str(tmp_path), Pretended())
    for _ in range(2):
        arrive(made, "searches")
        made.refresh()
    with made._catalog.look() as db:
        last = db.exec(select(StepRecord).order_by(col(StepRecord.attempt).desc())).first()
    assert last is not None
    assert last.name == "split(news,other).incremental → news"
    assert {o["variant"]: o["rows"] is None for o in last.outcomes} == {"append": False, "incremental": True}
    made.close()


def test_who_lost_the_lease_before_it_began_declares_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It slept, and another took the workflow over with another definition."""
    changed = two()
    changed.source("more", "k string")
    slow, other = engine(two(), str(tmp_path), Pretended()), engine(changed, str(tmp_path), Pretended())
    arrive(slow, "as", "bs")
    slept, declare = list[bool](), slow._scheduling._declare

    def slept_through(lease: Lease) -> None:
        if not slept:
            slept.append(True)
            with slow._catalog.transaction() as db:
                known = db.get(LeaseRecord, "two")
                assert known is not None
                known.expires_at = 0
            assert other._scheduling.lease.take()
            other._declare(other._scheduling.lease)
            try:
                declare(lease)
            finally:
                with slow._catalog.look() as db:
                    assert agrees(db, "two", other._digests)
                other._scheduling.lease.release()
        declare(lease)

    monkeypatch.setattr(slow._scheduling, "_declare", slept_through)
    assert set(slow.refresh().delivered) == {"a", "b"}
    assert slept
    with slow._catalog.look() as db:
        assert agrees(db, "two", slow._digests), "it did when it had the lease again"
    slow.close()
    other.close()


def test_that_a_workflow_goes_on_is_known_with_the_event_that_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = engine(two(), str(tmp_path), Pretended())
    made.pause()
    transaction, left = made._catalog.transaction, [1]

    def killed_after_one(**how: bool) -> Any:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return transaction(**how)

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr(made._catalog, "transaction", killed_after_one)
        made.resume()
    assert not made.status().paused
    with made._catalog.look() as db:
        assert [e.about for e in db.exec(select(EventRecord).order_by("id"))] == [{"pause": True}, {"pause": False}]
    made.close()


def test_only_who_leads_tidies_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, tidied = engine(two(), str(tmp_path), Pretended()), list[bool]()
    monkeypatch.setattr(made, "vacuum", lambda: tidied.append(made._scheduling.leads))
    _vacuum(made, made._scheduling)
    assert not tidied
    with made._scheduling._leading(serving=True):
        _vacuum(made, made._scheduling)
    assert tidied == [True]
    made.close()


def test_a_source_that_cannot_be_taken_for_whatever_reason_holds_back_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wf = ol.Workflow("followed")
    for name in ("broken", "whole"):
        wf.source(name, "k string", files=f"{name}/*.csv")
    made, arrived = engine(wf, str(tmp_path), Pretended()), list[Any]()

    def look(store: object, session: object, channel: str, *_: object, **__: object) -> str:
        if channel == "broken":
            raise ConnectionError("reset by peer.")
        return channel

    made.__dict__["_sessions"], made.__dict__["store"] = Mock(lent=nullcontext), Mock()
    monkeypatch.setattr(polling, "look", look)
    monkeypatch.setattr(made, "_declare_sources", lambda: None)
    monkeypatch.setattr(made, "_arrive", lambda _, __, found: arrived.extend(found))
    with pytest.raises(ConnectionError, match="reset by peer"):
        made.poll()
    assert arrived == ["whole"]
    made.close()


def test_the_status_says_which_source_cannot_be_polled_since_when_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wf, clock, faults = ol.Workflow("followed"), ol.ManualClock(1_700_000_000_000_000), ["reset by peer."] * 2
    rows = wf.source("rows", "k string", files="rows/*.csv")
    wf.output(rows.aggregate("counts", by="k", n=ol.count()))
    wf.bound_staleness("counts", 0, 0)
    made = engine(wf, str(tmp_path), Pretended(), clock=clock)

    def look(*_: object, **__: object) -> None:
        if faults:
            raise ConnectionError(faults.pop())

    made.__dict__["_sessions"], made.__dict__["store"] = Mock(lent=nullcontext), Mock()
    monkeypatch.setattr(polling, "look", look)
    monkeypatch.setattr(made, "_declare_sources", lambda: None)
    monkeypatch.setattr(made, "_arrive", lambda *_: [])
    assert made.status().warnings == ()
    for _ in range(2):
        with pytest.raises(ConnectionError):
            made.poll()
        (said,) = made.status().warnings
        assert said == "rows: could not be polled since 2023-11-14 22:13:20: ConnectionError: reset by peer."
        clock.advance("1 hour")
    made.poll()
    assert made.status().warnings == ()
    made.close()
