"""Looking ahead: every bound is kept that is longer than its plan, and knowing that takes few plans."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import olston as ol
from olston import ahead
from olston.learning import Learning
from olston.scheduler.ceiling import Ceiling
from olston.scheduler.decide import decide
from olston.scheduler.network import Network
from tests.olston.test_loop import HOUR, Stage

DEAR = 100_000_000


def cheap_and_dear(cheap: int) -> ol.Workflow:
    """Outputs that may be an hour old, and one of much data that may be a second older."""
    wf = ol.Workflow("cheap_and_dear")
    few, many = wf.source("few", "k string"), wf.source("many", "k string")
    for i in range(cheap):
        wf.output(few.aggregate(f"cheap{i}", by="k", n=ol.count()))
        wf.bound_staleness(f"cheap{i}", 0, "1 hour")
    wf.output(many.aggregate("dear", by="k", n=ol.count()))
    wf.bound_staleness("dear", 0, "1 hour 1 second")
    return wf


def staged(tmp_path: Path, cheap: int) -> Stage:
    """All is up to date, and then a wave arrives at every source."""
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db", cheap_and_dear(cheap))
    stage.arrive("few")
    stage.arrive("many", rows=DEAR)
    stage.settle()
    stage.clock.advance("1 min")
    stage.arrive("few")
    stage.arrive("many", rows=DEAR)
    stage.settle()
    return stage


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The outputs that were planned for in order to know when to begin."""
    found = list[str]()

    def decided(*given: Any, due: list[str]) -> Any:
        found.extend(due)
        return decide(*given, due=due)

    monkeypatch.setattr(ahead, "decide", decided)
    return found


def test_an_output_is_begun_in_time_however_many_cheaper_ones_break_sooner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Learning, "priced", lambda *_: None)  # what is pretended takes no time
    stage = staged(tmp_path, 6)
    arrived = stage.clock.now()
    deliveries = {output: len(held) for output, held in stage.work.delivered.items()}
    order: list[tuple[int, str]] = []
    for _ in range(50):
        assert not stage.due, "no bound was broken before it was refreshed"
        for output, held in stage.work.delivered.items():
            if len(held) > deliveries[output]:
                deliveries[output] = len(held)
                order.append((stage.clock.now() - arrived - HOUR, output))
        if stage.loop.next is None:
            break
        stage.clock.advance((int(stage.loop.next) - stage.clock.now()) / 1e6)
        stage.settle()
    begun = {output: moment for moment, output in order}
    assert len(order) == len(begun) == 7
    assert order[0][1] == "dear"
    assert begun["dear"] < -5_000_000, "it takes long"
    assert all(-1_000_000 < moment <= 0 for output, moment in begun.items() if output != "dear"), (
        "each as early as it has to be, whatever others take"
    )
    stage.lease.release()


def test_nothing_is_planned_long_before_a_bound_breaks_and_little_at_a_time_then(
    tmp_path: Path, plans: list[str]
) -> None:
    stage = staged(tmp_path, 3 * ahead.MOST)
    assert plans == []
    with stage.catalog.look() as db:
        state = stage.planning.load(db)
    near = stage.clock.now() + HOUR - 100_000
    found = stage.planning.ahead(state, near)
    assert len(plans) == ahead.MOST
    assert plans[0] == "dear"
    assert set(found.begin) == set(stage.wf.outputs)
    assert found.look is None
    stage.lease.release()


def test_what_an_output_costs_at_most_is_no_less_than_its_plan(tmp_path: Path) -> None:
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db")
    for rows in (10, 1_000_000):
        stage.arrive("pages", "clicks", rows=rows)
        with stage.catalog.look() as db:
            state = stage.planning.load(db)
        problem = state.problem(state.now(stage.clock.now()))
        for output in stage.wf.outputs:
            assert decide(problem, due=[output]).cost <= Ceiling(problem).of(output) < 60
        stage.settle()
        stage.clock.advance("1 day")
    stage.lease.release()


class Unlearned(Learning):
    """What is pretended takes no time; it is expected to take as long as what it stands for."""

    def priced(self, db: Any, network: Network) -> Network:
        return network


def both(tmp_path: Path) -> Stage:
    """Two outputs of one channel that is computed: `x` is due with every wave, `y` a while after it."""
    wf = ol.Workflow("both")
    kept = wf.source("rows", "k string").map("kept", lambda df: df)
    for name, bound in (("x", "0 s"), ("y", "15 s")):
        wf.output(kept.aggregate(name, by="k", n=ol.count()))
        wf.bound_staleness(name, 0, bound)
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db", wf)
    stage.planning = replace(stage.planning, learning=Unlearned(wf.name))
    stage.arrive("rows")
    stage.settle()
    return stage


def test_a_bound_is_kept_also_while_another_output_is_being_refreshed_all_the_time(tmp_path: Path) -> None:
    stage = both(tmp_path)
    for i in range(200):
        stage.clock.advance(0.1)
        if i % 2:
            stage.arrive("rows")
        while stage.loop.turn():
            pass
        stage.threads.run_one()
        assert "y" not in stage.due, i
    assert len(stage.work.delivered["x"]) > len(stage.work.delivered["y"]) > 1
    stage.lease.release()


def test_an_output_is_begun_as_early_as_its_plan_takes_without_the_variants_that_fail(tmp_path: Path) -> None:
    stage = staged(tmp_path, 1)
    with stage.catalog.look() as db:
        state = stage.planning.load(db)
    near = stage.clock.now() + HOUR - 1_000_000
    failing = {v.name for v in stage.planning.network.variants if v.widget == "dear" and v.signature.incremental}
    before, after = (stage.planning.ahead(state, near, (), excluded).begin["dear"] for excluded in ((), failing))
    assert before[0] > after[0]
    assert before[1] < after[1]
    stage.lease.release()


@pytest.mark.parametrize("asked", [False, True], ids=["due", "asked for"])
def test_an_output_that_would_have_to_wait_for_a_long_plan_and_be_late_is_refreshed_with_it(
    tmp_path: Path, asked: bool
) -> None:
    stage = both(tmp_path)
    for rows, refreshed in ((10, {"x"}), (DEAR, {"x", "y"})):
        stage.arrive("rows", rows=rows)
        if asked:
            stage.command(refresh=["x"])
        stage.loop.turn()
        (execution,) = stage.loop._executions
        assert set(execution.due) == refreshed, "it can wait for a plan of a second, but not for one of many"
        stage.settle()
        assert len(stage.work.delivered["y"]) == len(refreshed)
    assert execution.planned.decision.cost > 10
    stage.lease.release()
