"""What the catalog recorded changes what the next plan expects: at once, cheaply, and the same for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlmodel import select

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block
from olston.catalog import Catalog
from olston.catalog.records import StepRecord
from olston.content import COUNTED, LOOKED_UP, PART, Anchor, Content, Part, laid_over
from olston.engine import Engine
from olston.learning import Learning
from olston.operators.estimate import Work
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.decide import decide
from olston.scheduler.learn import LAST
from olston.scheduler.network import Network
from olston.scheduler.outcome import Outcome
from olston.scheduler.problem import Problem
from olston.step import Stored
from olston.timeline import History, Timeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = 1_700_000_000_000_000
INCREMENT = ("counts", "increment")


def counting() -> ol.Workflow:
    wf = ol.Workflow("counting")
    wf.output(wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count()))
    wf.bound_staleness("counts", 0, 0)
    return wf


def ran(at: int, seconds: float, rows: float = 1e4, overlaid: tuple[tuple[str, float], ...] = ()) -> StepRecord:
    """A step that counted a delta."""
    work = Work(delta=rows, shuffled=rows, written=(10,), overlay=sum(o for _, o in overlaid))
    outcome = Outcome(*INCREMENT, ((MONOTONE, rows),), work, (10,), (rows,), seconds, 0.5, overlaid=overlaid)
    return StepRecord(
        attempt=f"{at:024x}", plan="p", workflow="counting", name="counts.increment", state="done", operands=[],
        results=[], expected_seconds=0.5, expected_rows=rows, seconds=seconds, rows=10, started_at=0,
        outcomes=[outcome.to_dict()],
    )  # fmt: skip


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = Catalog(f"sqlite:///{tmp_path}/catalog.db")
    yield made
    made.close()


@pytest.fixture
def network() -> Network:
    return compile_workflow(counting(), ENGINE)


def record(catalog: Catalog, *steps: StepRecord) -> None:
    with catalog.transaction() as db:
        db.add_all(steps)


def price(network: Network, rows: float = 1e4) -> float:
    variant = next(v for v in network.variants if v.name == "counts.increment")
    return variant.price([Block("rows", MONOTONE, Provenance.at(2), Provenance.at(1), rows)])[0]


def test_prices_follow_what_is_recorded_in_place(catalog: Catalog, network: Network) -> None:
    learning, before = Learning("counting"), price(network)
    with catalog.look() as db:
        assert learning.priced(db, network) is network
    assert price(network) == before
    record(catalog, *[ran(i, 60.0) for i in range(4)])
    with catalog.look() as db:
        learning.priced(db, network)
    assert price(network) > 10 * before


@pytest.mark.parametrize("slow", ["batch", "increment"])
def test_the_next_plan_does_without_what_was_slow(catalog: Catalog, network: Network, slow: str) -> None:
    blocks = {
        "rows": [
            Block("rows", BASE, Provenance.at(1), rows=1e6),
            Block("rows", MONOTONE, Provenance.at(2), Provenance.at(1), 1e5),
        ],
        "counts": [Block("counts", BASE, Provenance.at(1), rows=1e3)],
    }
    history = History({"rows": Timeline("rows", [1, 2])}, 3)
    problem = Problem(network, blocks, history, {"counts": Provenance.at(1)})
    for i in range(4):
        for variant, kind, read in (("batch", BASE, 1e6), ("increment", MONOTONE, 1e5)):
            work = Work(base=read) if kind == BASE else Work(delta=read)
            work.shuffled, work.written = read, (1e3,)
            seconds = 200.0 if variant == slow else 1.0
            outcome = Outcome("counts", variant, ((kind, read),), work, (1e3,), (1e3,), seconds, 1.0)
            step = ran(2 * i + (kind == BASE), seconds)
            step.name, step.outcomes = f"counts.{variant}", [outcome.to_dict()]
            record(catalog, step)
    with catalog.look() as db:
        Learning("counting").priced(db, network)
    steps = {str(s.operator) for s in decide(problem).steps}
    assert f"counts.{slow}" not in steps


def test_another_workflow_and_steps_that_failed_teach_nothing(catalog: Catalog, network: Network) -> None:
    before, other, failed = price(network), ran(1, 60.0), ran(2, 60.0)
    other.workflow, failed.state = "another", "failed"
    record(catalog, other, failed)
    with catalog.look() as db:
        Learning("counting").priced(db, network)
    assert price(network) == before


def test_who_looks_often_and_who_looks_once_learn_the_same(catalog: Catalog, network: Network) -> None:
    often, once = Learning("counting"), Learning("counting")
    for i in range(3 * LAST):
        record(catalog, ran(i, 1.0 + i % 5, rows=10.0 ** (2 + i % 4)))
        with catalog.look() as db:
            often.priced(db, network)
    with catalog.look() as db:
        once.priced(db, compile_workflow(counting(), ENGINE))
    assert often.costs() == once.costs()
    assert once.costs().variants[0].runs == LAST, "the age of a workflow does not matter"


def test_a_step_that_ends_after_one_that_began_later_is_not_missed(catalog: Catalog, network: Network) -> None:
    learning = Learning("counting")
    for at in (5, 3, 4):
        record(catalog, ran(at, 1.0))
        with catalog.look() as db:
            learning.priced(db, network)
    assert learning.costs().variants[0].runs == 3


def test_looking_again_when_nothing_is_new_is_one_query(catalog: Catalog, network: Network) -> None:
    record(catalog, *[ran(i, 1.0) for i in range(100)])
    learning, queries = Learning("counting"), list[str]()
    with catalog.look() as db:
        learning.priced(db, network)
        model = learning._model
        event.listen(catalog._engine, "before_cursor_execute", lambda *a: queries.append(str(a[2])))
        learning.priced(db, network)
    assert len(queries) == 1
    assert learning._model is model


def base(rows: int, *parts: Part) -> Stored:
    content = Content(Anchor("t", "root", rows, 10 * rows), parts)
    return Stored(Block("rows", BASE, Provenance.at(1), rows=rows, overlay=content.overlay), content)


def part(kind: str, rows: int, name: str = "d") -> Part:
    return Part("d", name, kind, rows, 10 * rows, name, plain=kind == MONOTONE)


def test_an_overlay_of_new_rows_costs_the_opening_and_one_of_changes_a_look_at_all_below() -> None:
    assert base(10**6).content.overlay == 0
    assert base(10**6, part(MONOTONE, 10)).content.overlay == PART
    assert base(10**6, part(DELTA, 10)).content.overlay == PART + LOOKED_UP + 10**6 + 10
    two = base(10**6, part(DELTA, 10), part(DELTA, 20))
    assert two.content.overlay == 2 * PART + LOOKED_UP + 10**6 + 30, (
        "changes that follow changes are looked up together"
    )
    assert base(1000, part(DELTA, 10)).content.overlay == PART + COUNTED + 1010


def test_a_plan_expects_the_overlay_that_applying_leads_to() -> None:
    for kinds in ([MONOTONE], [DELTA], [MONOTONE, DELTA], [DELTA, DELTA]):
        parts = [part(k, 100, f"d{i}") for i, k in enumerate(kinds)]
        for rows in (10**4, 10**6):
            stored = base(rows, *parts[:-1])
            delta = Block("rows", kinds[-1], Provenance.at(2), Provenance.at(1), 100)
            assert laid_over(stored.block, delta) == pytest.approx(base(rows, *parts).content.overlay, rel=0.01)


def test_making_an_increment_strong_costs_nothing_for_what_lies_over_the_base() -> None:
    """It is added up with the increments that do, and only in the groups that change."""
    wf = ol.Workflow("w")
    wf.output(wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count()).map("shown", lambda df: df))
    prices = {v.name: v.price for v in compile_workflow(wf, ENGINE).variants}
    change = Block("counts", DELTA, Provenance.at(2), Provenance.at(1))
    plain, overlaid = (Block("counts", BASE, Provenance.at(1), rows=10, overlay=o) for o in (0, 1e6))
    for name, dearer in (("counts.c.δ_increment(k)Δ", False), ("shown.batch", True)):
        assert (prices[name]([overlaid, change]) > prices[name]([plain, change])) == dearer


def test_a_base_is_folded_once_reading_its_overlay_has_cost_as_much(catalog: Catalog, network: Network) -> None:
    stored, learning = base(10**6, part(DELTA, 100)), Learning("counting")
    reads = 0
    while reads < 50:
        with catalog.look() as db:
            learning.priced(db, network)
        if learning.worth_folding(stored):
            break
        record(catalog, ran(reads, 1.0, 1e6, (("root", stored.content.overlay),)))
        reads += 1
    assert 2 <= reads <= LAST
    assert not learning.worth_folding(Stored(stored.block, Content(Anchor("t", "unread", 10**6, 10**7), ())))


class Lab:
    """An engine on a clock that stands still."""

    def __init__(self, home: Path, spark: SparkSession) -> None:
        self.spark, self.home = spark, home
        self.engine = Engine(counting(), home=str(home), clock=ol.ManualClock(START), spark=spark)

    def wave(self, *keys: str) -> None:
        self.engine.ingest("rows", self.spark.createDataFrame([(k,) for k in keys], "k string"))

    def steps(self) -> list[StepRecord]:
        with self.engine._catalog.look() as db:
            return list(db.exec(select(StepRecord)))


def test_the_engine_records_what_came_of_each_step_and_plans_by_it(spark: SparkSession, tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lake", spark)
    engine = lab.engine
    assert "priors" in str(engine.costs())
    lab.wave("a", "b", "a")
    engine.refresh()
    outcomes: list[dict[str, Any]] = [o for s in lab.steps() for o in s.outcomes]
    assert {(o["widget"], o["variant"]) for o in outcomes} == {("counts", "batch"), ("→ counts", "overwrite")}
    for step in lab.steps():
        assert sum(o["seconds"] for o in step.outcomes) == pytest.approx(step.seconds if step.outcomes else 0)
    (batch,) = [o for o in outcomes if o["variant"] == "batch"]
    assert (batch["operands"], batch["rows"]) == ([["B", 3.0]], [2.0])

    again = Lab(tmp_path / "lake", spark)
    assert again.engine.costs() == engine.costs()
    assert {(v.widget, v.variant) for v in engine.costs().variants} == {("counts", "batch"), ("→ counts", "overwrite")}
    assert "counts.batch" in str(engine.costs())
    again.engine.close()

    lab.wave("c", "a")
    before = engine.plan()
    work = Work(base=5, shuffled=5, written=(3,))
    never_again = Outcome("counts", "batch", ((BASE, 5.0),), work, (3.0,), (3.0,), 500.0, 0.5)
    for i in range(4):
        step = ran(2**94 + i, 500.0)
        step.name, step.outcomes = "counts.batch", [never_again.to_dict()]
        record(engine._catalog, step)
    assert engine.plan().cost > 5 * before.cost
    engine.close()


def test_an_overlay_that_was_dear_to_read_is_folded_by_the_next_refresh(spark: SparkSession, tmp_path: Path) -> None:
    lab = Lab(tmp_path / "lake", spark)
    for wave in ("a", "b"):
        lab.wave(wave, "a")
        lab.engine.refresh()
    with lab.engine._catalog.look() as db:
        bases = [s for s in lab.engine._planning.load(db).stored.values() if s.block.is_base and s.content.parts]
    overlaid = tuple((s.content.root, 1e10) for s in bases)
    record(lab.engine._catalog, ran(2**94, 1.0, overlaid=overlaid))
    lab.wave("c")
    lab.engine.refresh()
    folds = [s for s in lab.steps() if s.name.endswith(".fold")]
    assert {s.name for s in folds} & {f"{b.block.channel}.fold" for b in bases}
    assert all(s.rows == s.outcomes[0]["rows"][0] for s in folds)
    assert {tuple(r) for r in lab.engine.read("counts").collect()} == {("a", 3), ("b", 1), ("c", 1)}
    assert lab.engine.read("rows").count() == 5
    lab.engine.close()
