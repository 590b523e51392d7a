"""Problems that were written are solved again as they were."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

import olston as ol
from olston import carry_out
from olston.planned import PlanOf
from olston.scheduler.decide import Decision, decide
from olston.scheduler.problem_dump import dump
from olston.scheduler.problem_file import read_file
from tests.olston.test_loop import search
from tests.pretended import Pretended, arrive, engine

START = 1_700_000_000_000_000


class HalfSeconds(threading.local):
    """A clock on which everything takes half a second, whatever else runs."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


def shop() -> ol.Workflow:
    """Keys, an aggregate that recomputes groups, a union, and a feed."""
    wf = ol.Workflow("shop")
    orders = wf.source("orders", "id bigint, customer string, amount int")
    returns = wf.source("returns", "id bigint, customer string, amount int")
    customers = wf.source("customers", "customer string, country string", key="customer")
    located = orders.union("all", returns).join("located", customers, on="customer")
    totals = located.aggregate("totals", by="country", orders=ol.count(), most=ol.max("amount"))
    wf.output(totals)
    wf.bound_staleness(totals, "orders>all>located", 0)
    wf.bound_inconsistency(totals, "1 day")
    wf.output(located, feed={"B", "Δ"})
    wf.bound_staleness(located, 0, "2 hours")
    return wf


def links() -> ol.Workflow:
    """The newest version of a page has its links; policies; a batch job."""
    wf = ol.Workflow("links")
    fetches = wf.source("fetches", "url string, seen timestamp, links string")
    found = fetches.extract("links", lambda df: df, key="url", order_by="seen")
    degrees = found.aggregate("degrees", by="links", n=ol.count(), policy="incremental")
    top = wf.batch("top", [degrees], lambda df: df)
    wf.output(degrees)
    wf.output(top)
    wf.bound_staleness(degrees, 0, "10 min")
    wf.bound_staleness(top, 0, "1 hour")
    return wf


def moments(make: Callable[[], ol.Workflow], home: Path, waves: int) -> Iterator[PlanOf]:
    """What is planned at several moments of a run that is pretended, and in full."""
    random, clock = Random(7), ol.ManualClock(START)
    with engine(make(), str(home), Pretended(), clock=clock) as e:
        yield e.plan()
        sources = e.workflow.sources
        for _ in range(waves):
            arrive(e, *random.sample(sources, random.randint(1, len(sources))))
            clock.advance(random.choice(["5 min", "90 min", "1 day"]))
            yield e.plan()
            yield e.plan(full=True)
            if random.random() < 0.8:
                e.refresh()


def said(decision: Decision) -> list[tuple[object, ...]]:
    return [
        (str(s.operator) if not s.is_delivery else "→", *(b.key for b in s.operands), *(b.key for b in s.results))
        for s in decision.steps
    ]


@pytest.mark.parametrize("make", [search, shop, links])
def test_a_problem_that_was_written_has_the_same_plan_at_nearly_the_same_cost(
    make: Callable[[], ol.Workflow], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # real seconds of work that is pretended are noise, in which two plans may be nearly a tie
    monkeypatch.setattr(carry_out, "time", SimpleNamespace(perf_counter=HalfSeconds()))
    planned = 0
    for plan in moments(make, tmp_path / "lake", 12):
        file = tmp_path / "problem.json"
        file.write_text(json.dumps(dump(plan.problem, plan.decision, "now")))
        (((name, again, asked),), several) = read_file(file)
        assert (name, several) == ("now", False)
        assert asked.due == list(plan.due)
        found = decide(again, asked.prunings, due=asked.due, replan=asked.replan)
        assert said(found) == said(plan.decision)
        assert found.cost == pytest.approx(plan.cost, rel=0.001)
        assert found.holds_after == plan.decision.holds_after
        planned += bool(plan.steps)
    assert planned > 12


def test_what_was_written_can_be_read_by_those_who_know_the_plain_format_only(tmp_path: Path) -> None:
    with engine(search(), str(tmp_path), Pretended(), clock=ol.ManualClock(START)) as e:
        arrive(e, "pages", "clicks")
        plan = e.plan()
    assert plan.problem is not None
    case = dump(plan.problem, plan.decision, "now")
    for part, fields in {
        "channels": {"name", "paths", "weak", "converter_cost"},
        "operators": {"name", "inputs", "sync", "outputs", "cost"},
        "outputs": {"channel", "accepts", "holds"},
        "blocks": {"channel", "kind", "source", "target", "size"},
    }.items():
        assert all(fields <= set(one) for one in case[part])
    assert {"id", "now", "arrivals", "constraints"} <= set(case)
