"""The loop, with work that is only pretended: every order in which things can happen, and what must hold in each."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlmodel import Session, select

import olston as ol
from olston import events
from olston.arrive import arrive
from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import (
    BlockRecord,
    DeliveryRecord,
    EventRecord,
    LeaseRecord,
    SetbackRecord,
    StepRecord,
    WorkflowRecord,
)
from olston.content import Content, Part
from olston.definition import digests
from olston.errors import CatalogError, StepError, StoreError
from olston.held import Followed
from olston.ingest import Arrived
from olston.learning import Learning
from olston.lease import Lease, LeaseLost
from olston.loop import Loop
from olston.planning import Planning
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.network import Variant
from olston.worker import Delivered, Handover
from tests.pretended import Held, Pretended, Threads

START = 1_700_000_000_000_000
HOUR = 3_600_000_000
EVENTS = int(os.environ.get("OLSTON_EVENTS", "300"))
"""How many are gone through in each random order."""


def search() -> ol.Workflow:
    """Figure 1 of the paper, and a dashboard that may be an hour old."""
    wf = ol.Workflow("search")
    pages = wf.source("pages", "url string, site string, content string")
    clicks = wf.source("clicks", "user string, site string")
    digests_ = pages.map("digests", lambda df: df)
    scores = clicks.distinct("pairs").aggregate("counts", by="site", clicks=ol.count()).map("scores", lambda df: df)
    output = digests_.join("output", scores, on="site")
    wf.output(output)
    wf.bound_staleness(output, 0, 0)
    wf.bound_staleness(scores, 0, "1 day")
    wf.bound_inconsistency(output, "1 week")
    dashboard = pages.aggregate("dashboard", by="site", n=ol.count())
    wf.output(dashboard)
    wf.bound_staleness(dashboard, 0, "1 hour")
    return wf


class Stage:
    """A catalog, a clock, and schedulers that come and go."""

    def __init__(self, url: str, wf: ol.Workflow | None = None, seed: int = 0) -> None:
        self.random = Random(seed)
        self.wf = wf or search()
        self.clock = ol.ManualClock(START)
        self.catalog = Catalog(url)
        self.planning = Planning(self.wf, compile_workflow(self.wf, ENGINE), digests(self.wf), Learning(self.wf.name))
        self.failing: set[str] = set()
        self.work = Pretended(fails=lambda name: name in self.failing, told=self.told, workflow=self.wf)
        self.threads = Threads(self.random)
        self.handled: Counter[int] = Counter()
        self.waves = 0
        with self.catalog.transaction() as db:
            db.add(WorkflowRecord(name=self.wf.name))
        self.lease = Lease(self.catalog, self.wf.name)
        self.loop = self.begin()

    def begin(self) -> Loop:
        """A new scheduler takes over; what the one before had running goes on in its threads."""
        self.lease = Lease(self.catalog, self.wf.name)
        with self.catalog.transaction() as db:  # as if the lease of the one before had expired
            known = db.get(LeaseRecord, self.wf.name)
            if known is not None:
                known.expires_at = 0
        assert self.lease.take()
        self.loop = Loop(
            self.catalog, lambda: self.planning, lambda: self.work, self.lease, self.clock.now, self.threads.submit
        )
        handle = self.loop._handle

        def counted(event: EventRecord) -> None:
            assert event.id is not None
            self.handled[event.id] += 1
            handle(event)

        self.loop._handle = counted  # type: ignore[method-assign]
        return self.loop

    def told(self, output: str, held: Held) -> None:
        with self.catalog.transaction() as db:
            state = self.planning.load(db)
            db.merge(
                DeliveryRecord(
                    workflow=self.wf.name, output=output, number=held.number, block=held.block, digest=held.digest,
                    content=state.pack(output, held.content) or [], delivered_at=self.clock.now(),
                )
            )  # fmt: skip

    def arrive(self, *channels: str, rows: int = 10) -> None:
        waves = []
        for channel in channels:
            self.waves += 1
            part = Part(f"channels/{channel}", f"wave{self.waves}", "Δ⁺", rows, 10 * rows, channel, plain=True)
            waves.append(Arrived(channel, "Δ⁺", Content(None, (part,)), rows, f"wave{self.waves}"))
        with self.catalog.transaction() as db:
            arrive(db, self.planning, waves, self.clock.now(), self.clock.now())

    def command(self, **about: Any) -> int:
        with self.catalog.transaction() as db:
            event = events.happen(db, self.wf.name, events.COMMAND, about, self.clock.now())
        assert event.id is not None
        return event.id

    def pause(self, paused: bool) -> None:
        with self.catalog.transaction() as db:
            record = db.get(WorkflowRecord, self.wf.name)
            assert record is not None
            record.paused = paused
        self.command(pause=paused)

    def settle(self, most: int = 1_000) -> None:
        """Let everything run to its end."""
        for _ in range(most):
            if not self.loop.turn() and not self.threads.run_one():
                return
        raise AssertionError("it never comes to rest")

    @property
    def events(self) -> list[EventRecord]:
        with self.catalog.look() as db:
            return list(db.exec(select(EventRecord)))

    @property
    def steps(self) -> list[StepRecord]:
        with self.catalog.look() as db:
            return list(db.exec(select(StepRecord).order_by("attempt")))

    @property
    def due(self) -> list[str]:
        with self.catalog.look() as db:
            state = self.planning.load(db)
        return list(state.problem(state.now(self.clock.now())).due())

    def holds(self, output: str, i: int) -> float:
        return max(self.work.content(output)[i])


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(f"sqlite:///{tmp_path}/catalog.db")


@pytest.mark.parametrize("seed", range(4))
def test_whatever_the_order_no_event_is_lost_or_handled_twice_and_nothing_stands_still(seed: int, url: str) -> None:
    stage, random = Stage(url, seed=seed), Random(seed)
    asked: list[int] = []

    def act() -> None:
        match random.choices(
            ["arrive", "turn", "run", "advance", "ask", "fail", "mend", "takeover", "pause", "resume"],
            [25, 30, 30, 8, 2, 2, 3, 1, 0.5, 2],
        )[0]:
            case "arrive":
                stage.arrive(*random.choice([("pages",), ("clicks",), ("pages", "clicks")]))
            case "turn":
                stage.loop.turn()
            case "run":
                stage.threads.run_one()
            case "advance":
                stage.clock.advance(random.choice(["1 s", "10 min", "2 hours", "3 days"]))
            case "ask":
                names = random.choice([[], ["output"], ["dashboard"], ["output", "dashboard"]])
                asked.append(stage.command(refresh=names, full=random.random() < 0.3 and bool(names)))
            case "fail":
                stage.failing.add(
                    random.choice(["digests.incremental", "output.async_left", "→ output", "pairs.batch"])
                )
            case "mend":
                stage.failing.clear()
            case "takeover":
                stage.begin()
            case "pause":
                stage.pause(True)
            case "resume":
                stage.pause(False)

    while len(stage.events) < EVENTS:
        for _ in range(20):
            act()
    stage.failing.clear()
    stage.pause(False)
    asked.append(stage.command(refresh=[]))
    stage.settle()

    assert all(e.handled for e in stage.events)
    assert set(stage.handled.values()) == {1}
    assert set(stage.handled) == {e.id for e in stage.events}
    answers = {e.id: e.answer for e in stage.events if e.kind == events.COMMAND}
    assert all(answer is not None for answer in answers.values())
    assert "error" not in (answers[asked[-1]] or {})
    assert not stage.due
    for output, held in stage.work.delivered.items():
        assert [h.number for h in held] == list(range(1, len(held) + 1)), output
    stage.lease.release()


def test_a_plan_is_made_again_when_data_arrives_in_the_middle_but_not_for_ever(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    delivered = len(stage.work.delivered["output"])
    for _ in range(60):  # a wave with every step that ends
        stage.clock.advance("1 s")
        stage.arrive("clicks")
        stage.arrive("pages")
        stage.loop.turn()
        stage.threads.run_one()
    assert len(stage.work.delivered["output"]) > delivered + 5
    stage.lease.release()


def test_the_loop_wakes_before_a_bound_breaks_by_the_time_its_plan_takes(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("pages")
    arrived = stage.clock.now()
    stage.settle()
    before = stage.holds("dashboard", 0)
    assert before < arrived  # it may be an hour old, so nothing was done about it yet
    assert stage.loop.next is not None
    breaks = arrived + HOUR
    assert breaks - 60_000_000 < stage.loop.next < breaks
    while stage.holds("dashboard", 0) == before:
        assert stage.loop.next is not None
        stage.clock.advance((int(stage.loop.next) - stage.clock.now()) / 1e6)
        assert stage.clock.now() < breaks
        assert not stage.due
        stage.settle()
    assert stage.holds("dashboard", 0) == arrived
    stage.lease.release()


def test_who_asks_for_a_refresh_gets_what_would_break_while_it_is_made(stage: Stage) -> None:
    """By a scheduler that was just begun, and has not looked ahead; what breaks later is left alone."""
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("pages")
    arrived = stage.clock.now()
    stage.settle()
    for ahead, done in ((3_000, False), (599.999_999, True)):
        stage.clock.advance(ahead)
        stage.begin()
        asked = stage.command(refresh=[])
        assert not stage.due
        stage.settle()
        assert asked in stage.loop.commands.answers
        assert (stage.holds("dashboard", 0) == arrived) is done
    stage.lease.release()


def test_a_variant_that_fails_is_planned_around_and_tried_again_later(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.failing = {"digests.incremental"}
    stage.clock.advance("1 min")
    stage.arrive("pages")
    stage.settle()
    assert not stage.due
    failed = [s for s in stage.steps if s.state == "failed"]
    assert len(failed) == 2, "it is tried twice"
    stage.failing.clear()
    stage.work.made.clear()
    stage.clock.advance("2 min")
    stage.arrive("pages")
    stage.settle()
    assert any("digests.incremental" in name for name in stage.work.made), "the rest of it is over"
    stage.lease.release()


def joined() -> ol.Workflow:
    wf = ol.Workflow("joined")
    rows = wf.source("rows", "k int, v int").join("pairs", wf.source("names", "k int, w int"), on="k")
    wf.output(rows)
    for pathway in (0, 1):
        wf.bound_staleness(rows, pathway, 0)
    return wf


def test_a_variant_that_makes_anew_is_planned_around_too_with_its_twin_that_does_the_same(url: str) -> None:
    stage = Stage(url, joined())
    stage.arrive("rows", "names")
    stage.settle()

    def dear(variant: Variant) -> Variant:
        def price(operands: Sequence[Block]) -> tuple[float, tuple[float, ...]]:
            cost, rows = variant.price(operands)
            return cost + 100, rows

        return replace(variant, price=price) if variant.foreign and variant.signature.incremental else variant

    network = stage.planning.network
    network = replace(network, variants=tuple(dear(v) for v in network.variants))
    stage.planning = replace(stage.planning, network=network)
    stage.failing = {"pairs.batch", "pairs.async_batch"}
    stage.clock.advance("1 min")
    stage.arrive("rows", "names")
    stage.settle()
    assert not stage.due
    assert len([s for s in stage.steps if s.state == "failed"]) == 2, "its twin was not tried at all"
    assert any("pairs.incremental" in name for name in stage.work.made)
    stage.failing |= {v.name for v in network.variants if v.widget == "pairs"}
    stage.clock.advance("10 min")
    stage.arrive("rows", "names")
    stage.settle()
    assert stage.due == ["pairs"], "it rests, since there is no other way"
    stage.failing.clear()
    stage.clock.advance("10 min")
    stage.settle()
    assert not stage.due
    stage.lease.release()


def test_what_is_planned_around_for_one_output_is_used_for_another_that_has_no_other_way(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.arrive("pages")
    arrived = stage.clock.now()
    stage.clock.advance("2 hours")
    ways = {v.name for v in stage.planning.network.variants if v.widget == "dashboard"}
    stage.loop._setbacks.avoid(ways, ["output"], StepError("a step of output failed."), stage.clock.now())
    stage.settle()
    assert stage.loop._setbacks.excluded(stage.clock.now() + 1) <= ways
    assert not stage.due
    assert stage.holds("dashboard", 0) >= arrived
    stage.lease.release()


def test_of_several_outputs_asked_for_each_is_planned_around_what_failed_on_the_way_to_it(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.arrive("pages")
    arrived = stage.clock.now()
    failed, now = StepError("a step of output failed."), stage.clock.now()
    ways = {v.name for v in stage.planning.network.variants if v.widget == "dashboard"}
    stage.loop._setbacks.avoid({"digests.incremental", *ways}, ["output"], failed, now)
    stage.work.made.clear()
    asked = stage.command(refresh=["output", "dashboard"], timed=True)
    stage.settle()
    assert "error" not in stage.loop.commands.answers[asked]
    assert stage.holds("dashboard", 0) >= arrived, "which has no other way, and to which nothing failed"
    assert stage.holds("output", 0) >= arrived
    assert "digests.incremental" not in stage.work.made
    stage.lease.release()


def test_an_output_that_cannot_be_refreshed_rests_and_does_not_hold_up_the_others(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.failing = {"→ output"}
    stage.clock.advance("2 hours")
    stage.arrive("pages")
    arrived = stage.clock.now()
    stage.clock.advance("2 hours")
    stage.settle()
    assert stage.due == ["output"]
    assert stage.holds("dashboard", 0) == arrived
    tried = len(stage.steps)
    stage.settle()
    assert len(stage.steps) == tried, "it rests"
    assert stage.loop.next is not None
    stage.failing.clear()
    stage.clock.advance("1 hour")
    stage.settle()
    assert not stage.due
    stage.lease.release()


def test_what_fails_rests_by_the_clock_although_that_was_set_back(stage: Stage) -> None:
    """Plans are made for a moment after the newest stamp, which may be hours ahead of the clock."""
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.clock.advance("1 day")
    stage.arrive("pages")
    stage.clock._now -= 24 * HOUR
    stage.failing = {"→ output"}
    stage.settle(200)
    assert stage.due == ["output"]
    tried = len(stage.steps)
    stage.clock.advance("2 min")
    stage.settle(200)
    assert len(stage.steps) > tried
    stage.clock._now -= 24 * HOUR
    stage.failing.clear()
    stage.settle(200)
    assert not stage.due, "a rest that began later than it is now is over"
    stage.lease.release()


def test_only_who_is_asked_for_rests_no_more_and_not_for_the_sake_of_a_timer(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.failing = {"→ output"}
    stage.clock.advance("1 min")
    stage.arrive("pages")
    stage.settle()

    def failed() -> int:
        return len([s for s in stage.steps if s.state == "failed"])

    def resting() -> bool:
        return "output" in stage.loop._setbacks.resting(stage.clock.now())

    tried = failed()
    assert tried
    for about in ({"refresh": ["dashboard"]}, {"refresh": ["dashboard"], "timed": True}, {"pause": False}):
        asked = stage.command(**about)
        stage.settle()
        assert asked in stage.loop.commands.answers
        assert failed() == tried
        assert resting()
    first = stage.loop._setbacks.next_end(stage.clock.now())
    stage.command(refresh=["output"], timed=True)
    stage.settle()
    assert failed() > tried, "it is tried when it was to be refreshed"
    then = stage.loop._setbacks.next_end(stage.clock.now() + 61_000_000)
    assert first is not None
    assert then is not None
    assert then > first, "and rests for longer if that fails again"
    stage.failing.clear()
    asked = stage.command(refresh=["output"])
    stage.settle()
    assert "error" not in stage.loop.commands.answers[asked]
    assert not resting()
    stage.lease.release()


def test_refreshes_at_given_times_do_not_pile_up_where_they_take_longer_than_from_one_to_the_next(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    for _ in range(4):
        for _ in range(3):
            stage.arrive("clicks")
            stage.clock.advance("1 s")
            stage.command(refresh=["output"], timed=True)
            stage.loop.turn()
        delivered = len(stage.work.delivered["output"])
        while len(stage.work.delivered["output"]) == delivered:
            stage.loop.turn()
            stage.threads.run_one()
        assert len(list(stage.loop.commands)) <= 2, "one that is carried out, and one that waits"
    stage.arrive("clicks")
    asked, arrived = stage.command(refresh=["output"]), stage.clock.now()
    stage.settle()
    assert "error" not in stage.loop.commands.answers[asked]
    assert stage.holds("output", 1) >= arrived
    assert all(e.answered for e in stage.events if e.kind == events.COMMAND)
    stage.lease.release()


def test_a_command_that_cannot_be_carried_out_is_answered_with_the_reason(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.failing = {"→ output"}
    asked = stage.command(refresh=["output"])
    stage.settle()
    assert "→ output: failed" in stage.loop.commands.answers[asked]["error"]
    stage.failing.clear()
    again = stage.command(refresh=["output"])
    stage.settle()
    assert "error" not in stage.loop.commands.answers[again]
    stage.lease.release()


def test_while_paused_nothing_is_begun_and_who_asks_is_told(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.pause(True)
    asked = stage.command(refresh=["output"])
    stage.settle()
    assert not stage.steps
    assert "paused" in stage.loop.commands.answers[asked]["error"]
    stage.pause(False)
    stage.settle()
    assert not stage.due
    stage.lease.release()


def test_what_a_scheduler_does_after_it_lost_the_lease_counts_for_nothing(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.loop.turn()
    old, left_behind = stage.loop, list(stage.threads.waiting)
    assert left_behind
    stage.threads.waiting.clear()
    stage.begin()
    stage.settle()
    blocks = _blocks(stage)
    for function in left_behind:
        function()
    assert _blocks(stage) == blocks
    with pytest.raises(LeaseLost, match="has taken over"):
        old.turn()
    stage.settle()
    assert not stage.due
    stage.lease.release()


def test_a_delivery_that_another_made_first_is_followed_and_planned_again(stage: Stage) -> None:
    stage.arrive("pages", "clicks")
    stage.settle()
    last = stage.work.held("output")
    stage.work.delivered["output"].append(type(last)(2, last.content, "elsewhere", last.digest))
    stage.clock.advance("1 min")
    stage.arrive("pages")
    stage.settle()
    assert stage.work.held("output").number == 3
    assert not stage.due
    stage.lease.release()


def _blocks(stage: Stage) -> set[str]:
    with stage.catalog.look() as db:
        return {b.id for b in db.exec(select(BlockRecord)) if b.live}


def test_a_delivery_that_the_catalog_could_not_record_is_not_made_twice(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(url)
    stage.arrive("pages", "clicks")
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("pages")
    transaction, deliver, broken = stage.catalog.transaction, stage.work.deliver, [False, False]

    def delivering(handover: Handover, attempt: str) -> Delivered:
        done = deliver(handover, attempt)
        broken[0] = handover.output == "output" and not broken[1]
        return done

    @contextmanager
    def failing_once(**how: bool) -> Iterator[Session]:
        if broken[0]:
            broken[:] = [False, True]
            raise CatalogError("could not be written: the connection was lost.")
        with transaction(**how) as db:
            yield db

    monkeypatch.setattr(stage.work, "deliver", delivering)
    monkeypatch.setattr(stage.catalog, "transaction", failing_once)
    stage.settle()
    assert broken == [False, True]
    given = [held.content for held in stage.work.delivered["output"]]
    assert len(given) == len(set(given)) == 2
    with stage.catalog.look() as db:
        known = db.exec(select(DeliveryRecord.number).where(DeliveryRecord.output == "output"))
        assert sorted(known) == [1, 2]
    stage.lease.release()


def test_a_command_about_an_output_that_is_gone_is_answered_and_does_not_stop_the_others(url: str) -> None:
    stage = Stage(url)
    stage.arrive("pages", "clicks")
    gone = stage.command(refresh=["forgotten"])
    stage.settle()
    answer = stage.loop.commands.answers[gone]
    assert answer["code"] == "UNKNOWN_NAME"
    assert "forgotten" in answer["error"]
    assert {"output", "dashboard"} <= set(stage.work.delivered)
    stage.lease.release()


def test_outputs_that_are_refreshed_by_turns_each_find_what_they_missed(url: str) -> None:
    wf = ol.Workflow("turns")
    rows = wf.source("rows", "k string").map("kept", lambda df: df)
    for name in ("a", "b", "c"):
        wf.output(rows.aggregate(name, by="k", n=ol.count()))
    stage = Stage(url, wf)
    for outputs in ("abc", "ab", "ac", "bc", "a", "abc"):
        stage.clock.advance("1 min")
        stage.arrive("rows")
        stage.command(refresh=list(outputs))
        stage.settle()
    assert {s.state for s in stage.steps} == {"done"}
    stage.lease.release()


def test_a_consumer_whose_log_cannot_be_read_rests_and_does_not_hold_up_the_others(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = StoreError("dashboard: the log of published/dashboard cannot be read.")
    with monkeypatch.context() as broken:
        broken.setattr(stage.work, "follow", lambda: Followed(faults={"dashboard": fault}))
        stage.arrive("pages", "clicks")
        asked = stage.command(refresh=["dashboard"])
        stage.settle()
    assert stage.loop.commands.errors[asked] is fault
    assert set(stage.work.delivered) == {"output"}
    assert not stage.loop.caught_up
    with stage.catalog.look() as db:
        assert [(s.output, s.error) for s in db.exec(select(SetbackRecord))] == [("dashboard", fault.message)]
    stage.clock.advance("2 min")
    stage.settle()
    assert not stage.due
    stage.lease.release()
