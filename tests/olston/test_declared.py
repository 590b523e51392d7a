"""DESIGN 7: how a definition differs from the last one is shown before anything is done."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

import olston as ol
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, BlockRecord, ChannelRecord
from olston.declared import compare, declare
from olston.engine import Engine
from tests.pretended import Pretended, arrive, engine


def workflow(condition: str = "v > 1", *, schema: str = "k int, v int", **more: Any) -> ol.Workflow:
    wf = ol.Workflow("w")
    rows = wf.source("rows", schema)
    kept = rows.filter("kept", condition)
    wf.output(kept.aggregate("counts", by="k", n=ol.count(), **more))
    wf.output(rows.aggregate("totals", by="k", v=ol.sum("v")))
    for output in wf.outputs:
        wf.bound_staleness(output, 0, 0)
    return wf


@pytest.fixture
def known(tmp_path: Path) -> Catalog:
    made = Catalog(f"sqlite:///{tmp_path}/lake/catalog.db")
    with made.transaction() as db:
        declare(db, workflow())
    return made


def shown(known: Catalog, wf: ol.Workflow) -> list[str]:
    with known.look() as db:
        return [str(c) for c in compare(db, wf).changes]


def test_the_same_definition_differs_in_nothing_and_a_new_workflow_neither(known: Catalog) -> None:
    assert shown(known, workflow()) == []
    assert shown(known, ol.Workflow("other")) == []
    assert shown(known, workflow(schema="k INT,  v int")) == []


def test_what_changed_is_told_from_what_is_only_downstream(known: Catalog) -> None:
    assert shown(known, workflow("v > 2")) == [
        "kept is changed in its function",
        "counts is made anew, since kept changed",
    ]


def test_a_channel_of_another_kind_is_said_to_be_one(known: Catalog) -> None:
    other = ol.Workflow("w")
    other.source("rows", "k int, v int").map("kept", lambda df: df, key="k")
    assert shown(known, other)[0] == "kept is changed in its kind, function and key"


def test_new_and_gone_channels_are_named(known: Catalog) -> None:
    wf = ol.Workflow("w")
    wf.source("rows", "k int, v int").aggregate("tops", by="k", v=ol.max("v"))
    assert shown(known, wf) == ["tops is new", "counts is gone", "kept is gone", "totals is gone"]


def test_the_plan_shows_the_difference_and_the_catalog_is_left_as_it_was(known: Catalog, tmp_path: Path) -> None:
    with Engine(workflow("v > 2"), home=str(tmp_path / "lake")) as engine:
        plan = engine.plan()
        assert "kept is changed in its function" in str(plan)
        assert plan.to_dict()["changes"][1] == {
            "channel": "counts",
            "change": "made anew",
            "parts": (),
            "because": ("kept",),
        }
    assert shown(known, workflow()) == []


def test_what_an_older_definition_made_leaves_planning_when_the_new_one_is_declared(known: Catalog) -> None:
    with known.look() as db:
        was = {r.name: r.digest for r in db.exec(select(ChannelRecord))}
    with known.transaction() as db:
        for name in ("kept", "counts", "totals"):
            db.add(
                BlockRecord(
                    id=name, workflow="w", channel=name, kind="B", target=[], rows=1, relaxed=False, content={},
                    producer=f"{name}.batch", digest=was[name], made_at=1,
                )
            )  # fmt: skip
    with known.transaction() as db:
        declare(db, workflow("v > 2"))
    with known.look() as db:
        assert {b.id for b in db.exec(select(BlockRecord)) if b.live} == {"totals"}
    assert shown(known, workflow("v > 2")) == []


def test_a_source_at_which_data_has_arrived_keeps_its_columns_and_its_key(known: Catalog) -> None:
    with known.transaction() as db:
        declare(db, workflow(schema="k int, v int, w int"))
        declare(db, workflow())
        db.add(ArrivalRecord(workflow="w", channel="rows", stamp=1, offered_at=1, block="a"))
    with known.transaction() as db, pytest.raises(ol.WorkflowError, match="SOURCE_CHANGED") as refused:
        declare(db, workflow(schema="k int, v int, w int"))
    assert "source of another name" in str(refused.value)


def test_a_plan_says_that_a_source_cannot_be_changed_where_data_has_arrived_and_not_to_raise_a_bound(
    tmp_path: Path,
) -> None:
    with engine(workflow(), str(tmp_path), Pretended()) as e:
        arrive(e, "rows")
        e.refresh()
    with engine(workflow(schema="k int, v bigint"), str(tmp_path), Pretended()) as e:
        plan = e.plan()
        assert "rows is changed in its columns" in map(str, plan.changes)
        assert "source of another name" in plan.to_dict()["why"]
        assert "raise the bound" not in str(plan)
        assert not plan.steps
    with engine(workflow(), str(tmp_path), Pretended()) as e:
        assert e.plan().to_dict()["why"] is None


def test_a_plan_says_that_a_followed_source_which_was_changed_is_to_be_taken_anew(tmp_path: Path) -> None:
    def following(columns: str) -> ol.Workflow:
        wf = ol.Workflow("w")
        wf.output(wf.source("rows", columns, files="landing/*.csv").aggregate("counts", by="k", n=ol.count()))
        wf.bound_staleness("counts", 0, 0)
        return wf

    with engine(following("k int"), str(tmp_path), Pretended()) as e:
        arrive(e, "rows")
        e.refresh()
    with engine(following("k int, v int"), str(tmp_path), Pretended()) as e:
        assert "olston run --anew rows" in str(e.plan().to_dict()["why"])
        with pytest.raises(ol.InfeasibleError, match="olston run --anew rows"):
            e.refresh()
    with engine(following("k int"), str(tmp_path), Pretended()) as e:
        assert e.plan().to_dict()["why"] is None


def test_a_consumer_of_deltas_alone_is_not_given_all_once_more_by_a_changed_definition(tmp_path: Path) -> None:
    def fed(condition: str) -> ol.Workflow:
        wf = ol.Workflow("w")
        wf.output(wf.source("rows", "k int").filter("kept", condition), feed={"Δ"})
        wf.bound_staleness("kept", 0, 0)
        return wf

    work = Pretended()
    with engine(fed("k > 1"), str(tmp_path), work) as e:
        arrive(e, "rows")
        e.refresh()
    with (
        engine(fed("k > 2"), str(tmp_path), work) as e,
        pytest.raises(ol.OlstonError, match=r"kept: its consumer holds nothing of this definition.* accept B too"),
    ):
        e.refresh()
    assert len(work.delivered["kept"]) == 1
    with engine(fed("k > 1"), str(tmp_path), work) as e:
        arrive(e, "rows")
        e.refresh()
    assert len(work.delivered["kept"]) == 2, "it goes on where the definition is as it was"


def test_a_stamp_is_later_than_those_of_sources_that_are_gone(tmp_path: Path) -> None:
    clock = ol.ManualClock(1000)
    wf, other = ol.Workflow("w"), ol.Workflow("w")
    for made, names in ((wf, "ab"), (other, "b")):
        for name in names:
            made.source(name, "k int")
    with engine(wf, str(tmp_path), Pretended(), clock=clock) as e:
        stamps = [arrive(e, name)[0].stamp for name in "ba"]
    with engine(other, str(tmp_path), Pretended(), clock=clock) as e:
        assert arrive(e, "b")[0].stamp > max(stamps)


def test_who_only_brings_data_does_not_decide_by_which_definition_it_is_refreshed(tmp_path: Path) -> None:
    with engine(workflow("v > 2"), str(tmp_path), Pretended()) as serving:
        arrive(serving, "rows")
        serving.refresh()
        made = derived(serving)
        with engine(workflow("v > 1"), str(tmp_path), Pretended()) as loader:
            assert loader.plan().changes
            arrive(loader, "rows")
            assert loader.plan().changes, "nothing has been refreshed by that definition"
        assert derived(serving) == made != set()
    with engine(workflow("v > 2"), str(tmp_path), Pretended()) as again:
        assert again.plan().changes == ()


def derived(e: Engine) -> set[str]:
    """The blocks that planning may use, but for those that arrived."""
    with e._catalog.look() as db:
        return {b.id for b in db.exec(select(BlockRecord)) if b.live and b.producer}


def test_who_asks_a_scheduler_of_another_definition_to_refresh_is_told(tmp_path: Path) -> None:
    work, stop = Pretended(), threading.Event()
    with engine(workflow("v > 1"), str(tmp_path), work) as old:
        arrive(old, "rows")
        old.refresh()
        new = engine(workflow("v > 2"), str(tmp_path), work)
        serving = threading.Thread(target=lambda: old.serve(stop=stop))
        serving.start()
        try:
            while old._scheduling.lease.owner() is None:
                time.sleep(0.01)
            for asked in ((), ("counts",)):
                with pytest.raises(ol.OlstonError, match=r"OTHER_DEFINITION.*Start that process anew"):
                    new.refresh(*asked)
            assert new.plan().changes, "nothing was declared"
        finally:
            stop.set()
            serving.join()
        made = len(work.delivered["counts"])
        new.refresh()
        assert work.delivered["counts"][made].digest == new._digests["counts"], "now it rules itself"
        new.close()
