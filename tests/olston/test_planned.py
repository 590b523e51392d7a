"""Plans as the engine shows them, and what policies keep out of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import olston as ol
from olston.engine import Engine
from olston.report import steps
from tests.pretended import Pretended, arrive, engine

START = 1_772_431_200_000_000


def workflow(policy: str = "auto") -> ol.Workflow:
    wf = ol.Workflow("w")
    rows = wf.source("rows", "k string, v int").filter("kept", "v > 0", policy=policy)
    shown = rows.map("shown", lambda df: df, policy=policy)
    wf.output(shown)
    wf.bound_staleness(shown, 0, 0)
    return wf


@pytest.fixture
def clock() -> ol.ManualClock:
    return ol.ManualClock(START)


@pytest.fixture
def made(tmp_path: Path, clock: ol.ManualClock) -> Iterator[Engine]:
    with engine(workflow(), str(tmp_path / "lake"), Pretended(), clock=clock) as e:
        yield e


def test_a_plan_is_shown_with_names_and_times_wherever_it_is_shown(made: Engine, clock: ol.ManualClock) -> None:
    arrive(made, "rows")
    clock.advance("1 hour")
    for shown in (str(made.plan()), repr(made.plan()), made.plan()._repr_html_()):
        assert "shown holds nothing yet" in shown
        assert "2026-03-02 06:00:00" in shown
        assert str(START) not in shown
    made.refresh()
    arrive(made, "rows")
    clock.advance("90 minutes")
    assert "shown is 1 hour 29 minutes behind rows>kept, and may not be" in str(made.plan())
    assert "shown is asked for anew" in str(made.plan(full=True))


@pytest.mark.parametrize("policy", ["incremental", "incremental_strict"])
def test_what_may_not_be_computed_anew_is_not_although_only_its_consumer_holds_it(
    tmp_path: Path, clock: ol.ManualClock, policy: str
) -> None:
    with engine(workflow(policy), str(tmp_path / "lake"), Pretended(), clock=clock) as e:
        arrive(e, "rows")
        e.refresh()
        for _ in range(5):
            clock.advance("1 hour")
            arrive(e, "rows")
            plan = e.plan()
            assert plan.evidence is not None
            looked_at = plan.evidence.alternatives if policy == "incremental_strict" else ()
            for steps in (plan.steps, *(other.steps for other in looked_at)):
                assert not {"kept.batch", "shown.batch"} & set(steps)
            e.refresh()
        assert {"kept.batch", "shown.batch"} <= set(e.plan(full=True).steps), "who asks for it gets it"


def test_what_is_only_published_may_be_computed_anew_for_another_reader(tmp_path: Path, clock: ol.ManualClock) -> None:
    wf = ol.Workflow("w")
    kept = wf.source("rows", "k string, v int").filter("kept", "v > 0", policy="incremental_strict")
    parted = wf.source("rest", "k string, v int").split({"a": "v > 0"}, rest="b", policy="incremental_strict")
    counts = wf.source("more", "k string").aggregate("counts", by="k", n=ol.count(), policy="incremental_strict")
    for channel in (kept, kept.map("shown", lambda df: df), *parted):
        wf.output(channel)
    wf.output(counts, feed={"Δ"})
    with engine(wf, str(tmp_path / "lake"), Pretended(), clock=clock) as e:
        arrive(e, "rows", "rest", "more")
        e.refresh()
        for output in wf.outputs:
            assert e.plan(output, full=output != "counts").decision.feasible, output


def test_one_step_is_no_steps() -> None:
    assert [steps(n) for n in (0, 1, 2)] == ["0 steps", "1 step", "2 steps"]
