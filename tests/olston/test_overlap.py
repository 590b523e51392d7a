"""Plans that are under way at the same time, and bases that are folded meanwhile: nobody waits without a reason."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from sqlmodel import select

import olston as ol
from olston import events, maintain
from olston.block import BASE
from olston.catalog.records import BlockRecord
from olston.content import Content
from tests.olston.test_loop import Stage


def two() -> ol.Workflow:
    """Two outputs that have nothing in common but the source of one, and one that is computed from both."""
    wf = ol.Workflow("two")
    shared = wf.source("shared", "k string")
    for name in ("a", "b"):
        own = wf.source(f"{name}s", "k string").union(f"{name}_all", shared)
        wf.output(own.aggregate(name, by="k", n=ol.count()))
        wf.bound_staleness(name, 0, 0)
    both = wf.channels["a_all"].union("all", wf.channels["b_all"])
    wf.output(both)
    wf.bound_staleness(both, 0, "1 hour")
    return wf


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(f"sqlite:///{tmp_path}/catalog.db", two())
    made.arrive("as", "bs", "shared")
    made.settle()
    made.clock.advance("1 min")
    return made


def run(stage: Stage, most: int = 200) -> None:
    """Turn, and let run whatever is not held back."""
    for _ in range(most):
        if not stage.loop.turn() and not stage.threads.run_one():
            return


def hold_back(stage: Stage) -> list[Callable[[], None]]:
    """Begin what is due, and take what runs away from its threads."""
    while stage.loop.turn():
        pass
    held, stage.threads.waiting = stage.threads.waiting, []
    assert held
    return held


def test_an_output_is_refreshed_while_a_long_step_of_another_runs(stage: Stage) -> None:
    before = stage.holds("a", 0)
    stage.arrive("as")
    held = hold_back(stage)
    stage.clock.advance("1 s")
    stage.arrive("bs")
    run(stage)
    assert stage.holds("b", 0) == stage.clock.now()
    assert stage.holds("a", 0) == before
    stage.threads.waiting += held
    stage.settle()
    assert not stage.due
    stage.lease.release()


def test_what_needs_something_that_is_being_made_waits_for_it(stage: Stage) -> None:
    stage.arrive("as")
    held = hold_back(stage)
    asked = stage.command(refresh=["all"])
    run(stage)
    assert asked not in stage.loop.commands.answers
    made = len(stage.work.delivered["all"])
    stage.threads.waiting += held
    stage.settle()
    assert asked in stage.loop.commands.answers
    assert len(stage.work.delivered["all"]) == made + 1
    stage.lease.release()


def test_others_do_not_keep_one_that_waits_from_its_turn(stage: Stage) -> None:
    """`all` is asked for while `a` is refreshed; `b`, which it needs too, is not begun before it."""
    stage.arrive("as")
    held = hold_back(stage)
    asked = stage.command(refresh=["all"])
    stage.arrive("bs")
    run(stage)
    assert not stage.threads.waiting
    stage.threads.waiting += held
    stage.settle()
    assert "error" not in stage.loop.commands.answers[asked]
    assert not stage.due
    stage.lease.release()


def test_deltas_that_a_plan_under_way_will_go_on_from_stay(tmp_path: Path) -> None:
    """`b` is refreshed past the snapshot that `a` is about to deliver: the deltas around that are not put together."""
    wf = two()
    wf.bound_staleness("a", 1, 0)
    wf.bound_staleness("b", 1, "1 min")
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db", wf)
    stage.arrive("as", "bs", "shared")
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("as", "shared")
    there = stage.clock.now()
    held = hold_back(stage)
    for _ in range(3):
        stage.clock.advance("25 s")
        stage.arrive("bs", "shared")
        run(stage)
    assert stage.holds("b", 1) > there
    with stage.catalog.look() as db:
        live = [b for b in db.exec(select(BlockRecord)) if b.live and b.channel == "shared"]
    assert [b for b in live if b.source == [[[there, there]]]]
    stage.threads.waiting += held
    stage.settle()
    assert not stage.due
    assert {s.state for s in stage.steps} == {"done"}
    stage.lease.release()


@pytest.mark.parametrize("seed", range(6))
def test_whatever_overlaps_everything_is_refreshed_in_the_end(seed: int, tmp_path: Path) -> None:
    stage, random = Stage(f"sqlite:///{tmp_path}/catalog.db", two(), seed=seed), Random(seed)
    for _ in range(60):
        stage.clock.advance("1 s")
        stage.arrive(*random.choice([("as",), ("bs",), ("shared",), ("as", "bs")]))
        if random.random() < 0.1:
            name = random.choice(["a", "b", "all"])
            stage.command(refresh=[name], full=random.random() < 0.5)
        for _ in range(random.randrange(4)):
            stage.loop.turn()
            if random.random() < 0.6:
                stage.threads.run_one()
    asked = stage.command(refresh=["a", "b", "all"])
    stage.settle()
    assert "error" not in stage.loop.commands.answers[asked]
    assert {s.state for s in stage.steps} == {"done"}
    with stage.catalog.look() as db:
        live = [b for b in db.exec(select(BlockRecord)) if b.live]
    assert len(live) < 40
    stage.lease.release()


@pytest.fixture
def folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Stage, list[Callable[[], None]]]:
    """A stage on which every overlay is folded, by functions that wait apart from the others."""
    wf = ol.Workflow("one")
    rows = wf.source("rows", "k string")
    wf.output(rows.aggregate("n", by="k", n=ol.count()))
    wf.bound_staleness("n", 0, 0)
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db", wf)
    monkeypatch.setattr(maintain, "PARTS", 0)
    begun: list[Callable[[], None]] = []
    stage.loop._folding._submit = begun.append
    return stage, begun


def test_plans_go_on_while_a_base_is_folded_and_what_they_laid_over_it_moves_to_the_new_anchor(
    folds: tuple[Stage, list[Callable[[], None]]],
) -> None:
    stage, begun = folds
    for _ in range(6):
        stage.clock.advance("1 min")
        stage.arrive("rows")
        run(stage)
        assert stage.holds("n", 0) == stage.clock.now()
    assert 0 < len(begun) <= 2, "a channel folds one base at a time"
    for fold in begun:
        fold()
    run(stage)
    with stage.catalog.look() as db:
        bases = [Content.from_dict(b.content) for b in db.exec(select(BlockRecord)) if b.live and b.kind == BASE]
    moved = [c for c in bases if c.anchor is not None and c.anchor.table == "folded"]
    assert any(c.parts for c in moved)
    assert not stage.due
    stage.lease.release()


def test_what_was_folded_is_not_read_before_the_plans_under_way_are_done(
    folds: tuple[Stage, list[Callable[[], None]]],
) -> None:
    stage, begun = folds
    while not begun:
        stage.clock.advance("1 min")
        stage.arrive("rows")
        run(stage)
    stage.clock.advance("1 min")
    stage.arrive("rows")
    held = hold_back(stage)
    begun[0]()
    run(stage)
    assert stage.loop.running
    assert not [s for s in stage.steps if s.name.endswith(".fold")]
    stage.threads.waiting += held
    run(stage)
    assert [s for s in stage.steps if s.name.endswith(".fold")]
    stage.lease.release()


def test_who_is_told_to_stop_abandons_a_fold(
    folds: tuple[Stage, list[Callable[[], None]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, begun = folds
    abandoned: list[str] = []
    monkeypatch.setattr(stage.work, "abandon", abandoned.append)
    while not begun:
        stage.clock.advance("1 min")
        stage.arrive("rows")
        run(stage)
    stage.loop.stop()
    assert stage.loop.running
    stage.loop.abandon()
    assert len(abandoned) == len(begun)
    stage.lease.release()


def test_what_was_computed_within_a_job_before_a_full_refresh_does_not_count_after_it(tmp_path: Path) -> None:
    wf = ol.Workflow("anew")
    kept = wf.source("rows", "k string").map("kept", lambda df: df)
    for name in ("a", "b"):
        wf.output(kept.aggregate(name, by="k", n=ol.count()))
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db", wf)
    for _ in range(2):
        stage.clock.advance("1 min")
        stage.arrive("rows")
        stage.command(refresh=["a", "b"])
        stage.settle()

    def blocks() -> set[str]:
        with stage.catalog.look() as db:
            return {b.id for b in db.exec(select(BlockRecord)) if b.live and b.channel in ("kept", "a")}

    before = blocks()
    stage.command(refresh=["a"], full=True)
    stage.settle()
    assert not blocks() & before
    stage.lease.release()


def independent(tmp_path: Path) -> Stage:
    wf = ol.Workflow("apart")
    for name in ("a", "b"):
        wf.output(wf.source(f"{name}s", "k string").aggregate(name, by="k", n=ol.count()))
        wf.bound_staleness(name, 0, 0)
    return Stage(f"sqlite:///{tmp_path}/catalog.db", wf)


@pytest.mark.parametrize("outputs", [("a", "b"), ()])
def test_a_command_is_answered_although_one_of_its_outputs_is_always_being_refreshed(
    outputs: tuple[str, ...], tmp_path: Path
) -> None:
    stage = independent(tmp_path)
    held: list[Callable[[], None]] = []
    asked = None
    for i in range(12):
        stage.clock.advance("1 s")
        stage.arrive("as" if i % 2 else "bs")
        while stage.loop.turn():
            pass
        begun, stage.threads.waiting = stage.threads.waiting, held
        run(stage)
        held = begun
        asked = stage.command(refresh=list(outputs)) if i == 3 else asked
        stage.threads.waiting = []
    assert asked in stage.loop.commands.answers
    stage.lease.release()


def test_a_command_does_not_wait_for_another_about_something_else(tmp_path: Path) -> None:
    stage = independent(tmp_path)
    stage.arrive("as", "bs")
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("as")
    first = stage.command(refresh=["a"])
    held = hold_back(stage)
    stage.arrive("bs")
    asked = stage.command(refresh=["b"])
    run(stage)
    assert asked in stage.loop.commands.answers
    assert first not in stage.loop.commands.answers
    stage.threads.waiting += held
    stage.settle()
    assert first in stage.loop.commands.answers
    stage.lease.release()


def test_what_fails_rests_although_something_else_was_asked_for(tmp_path: Path) -> None:
    stage = independent(tmp_path)
    stage.arrive("as", "bs")
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("as")
    stage.command(refresh=["a"])
    held = hold_back(stage)
    stage.work.fails = lambda name: "b" in name.split(".")[0]
    stage.arrive("bs")
    run(stage)
    assert 0 < len([s for s in stage.steps if s.state == "failed"]) <= 4
    stage.threads.waiting += held
    stage.settle()
    stage.lease.release()


def test_a_command_that_was_withdrawn_before_its_turn_is_not_carried_out(tmp_path: Path) -> None:
    stage = independent(tmp_path)
    stage.settle()
    delivered = len(stage.work.delivered.get("b", ()))
    asked = stage.command(refresh=["b"])
    with stage.catalog.transaction() as db:
        events.answer(db, asked, {"withdrawn": True})
    by_the_dead = stage.command(refresh=["b"], by=f"{socket.gethostname()}:999999999:x")
    stage.settle()
    assert len(stage.work.delivered.get("b", ())) == delivered
    assert stage.loop.commands.answers[by_the_dead]["code"] == "WITHDRAWN"
    stage.lease.release()


def test_steps_that_were_abandoned_are_not_tried_again(tmp_path: Path) -> None:
    stage = independent(tmp_path)
    stage.arrive("as")
    held = hold_back(stage)
    stage.work.fails = lambda _: True
    stage.loop.stop()
    stage.loop.abandon()
    for function in held:
        function()
    run(stage)
    assert [s.state for s in stage.steps] == ["abandoned"] * len(held)
    assert not stage.loop.running
    stage.lease.release()
