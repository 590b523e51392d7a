"""The forms in which users name a moment, and what a block that they name led to."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import olston as ol
from olston import formerly
from olston import state as states
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, Block
from olston.catalog import Catalog
from olston.catalog.records import DeliveryRecord
from olston.content import Anchor, Content, Part
from olston.declared import declare
from olston.definition import digests
from olston.errors import OlstonError
from olston.provenance import Provenance
from olston.reading import led_to, moment
from olston.step import Stored
from tests.pretended import Pretended, arrive, engine

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
MICROSECONDS = 1_767_268_800_000_000


@pytest.mark.parametrize(
    "given",
    [
        MICROSECONDS,
        NOON,
        datetime(2026, 1, 1, 12),
        datetime(2026, 1, 1, 14, tzinfo=timezone(timedelta(hours=2))),
        "2026-01-01 12:00",
        "2026-01-01T12:00:00Z",
        "2026-01-01T07:00:00-05:00",
    ],
)
def test_a_time_is_microseconds_and_without_a_zone_it_is_utc(
    given: int | str | datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    assert moment(given) == MICROSECONDS


def test_no_microsecond_is_lost() -> None:
    assert moment(NOON + timedelta(microseconds=1)) == MICROSECONDS + 1


def test_a_block_is_named_by_its_id() -> None:
    block = f"{new_attempt()}.0"
    assert moment(block) == block
    assert moment(None) is None


@pytest.mark.parametrize("given", ["nonsense", b"nonsense", date(2026, 1, 1), 1_767_268_800.0, True])
def test_what_is_neither_is_refused_with_the_forms_that_there_are(given: Any) -> None:
    with pytest.raises(OlstonError, match=r"at=.*: neither a time nor the id of a block; give a datetime"):
        moment(given)


def test_a_delta_leads_to_what_was_held_with_it_or_to_a_base_or_to_an_error_that_says_so(tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    wf.output(wf.source("rows", "k int").map("mapped", lambda df: df).aggregate("counts", by="k", n=ol.count()))
    made = engine(wf, str(tmp_path), Pretended())
    waves = [arrive(made, "rows")[0] for _ in range(3)]
    one, two, three = (Provenance.at(w.stamp) for w in waves)
    blocks = [
        Stored(Block("mapped", BASE, one, id="base"), Content(Anchor("t", "base", 1, 1))),
        *(
            Stored(Block(channel, DELTA, to, start, id=id), Content(None, (Part("t", id, DELTA, 1, 1, id),)))
            for channel, id, start, to in (
                ("mapped", "near", one, two), ("mapped", "far", two, three), ("counts", "given", one, two),
            )
        ),
    ]  # fmt: skip
    with made._catalog.transaction() as db:
        state = made._planning.load(db)
        for stored in blocks:
            db.add(states.record(state, stored, "made up", made._digests, made.now))
        old = Stored(Block("mapped", BASE, one, id="old"), blocks[0].content)
        db.add(states.record(state, old, "made up", {"mapped": "another"}, made.now))
        handed = DeliveryRecord(
            workflow="w", output="counts", number=9, block="given", content=state.pack("counts", two) or [],
            digest=made._digests["counts"], delivered_at=made.now,
        )  # fmt: skip
        db.add(handed)

    with made._catalog.look() as db:

        def leads(channel: str, id: str) -> Any:
            return led_to(db, state, wf, made._digests, channel, id, made.now)

        assert [leads("rows", w.id).block for w in waves] == [Block("rows", BASE, t) for t in (one, two, three)]
        assert leads("counts", "given").number == 9
        assert leads("mapped", "base") == blocks[0]
        assert leads("mapped", "near").block == Block("mapped", BASE, two)
        assert leads("mapped", "near").content == blocks[0].content.then(blocks[1].content)
        with pytest.raises(ol.StoreError, match=r"NOTHING_HELD.*mapped Δ.* is a delta, and the base .* keep=True"):
            leads("mapped", "far")
        with pytest.raises(ol.StoreError, match="counts: has no block 'far'"):
            leads("counts", "far")
        with pytest.raises(ol.StoreError, match=r"UNKNOWN_CONTENT.*mapped: block 'old' was made by another definition"):
            leads("mapped", "old")
    made.close()


def joined(left: str, right: str, *, by: str = "v > 1") -> ol.Workflow:
    wf = ol.Workflow("w")
    for name in ("a", "b"):
        wf.source(name, "k int, v int")
    mapped = wf.channel(right).map("mapped", lambda df: df.withColumnRenamed("v", "w"))
    wf.output(wf.channel(left).filter("kept", by).join("out", mapped, on="k"))
    wf.bound_staleness("out", 0, 0)
    wf.bound_staleness("out", 1, 0)
    return wf


def test_what_another_definition_made_is_told_by_the_pathways_of_that_one(tmp_path: Path) -> None:
    work = Pretended()
    made = engine(joined("a", "b"), str(tmp_path), work)
    arrive(made, "a")
    (newest,) = arrive(made, "b")
    made.refresh()
    before = made.provenance("out")
    made.close()
    swapped = engine(joined("b", "a"), str(tmp_path), work)
    found = swapped.provenance("out")
    assert found.outdated
    assert (found.content, found.pathways) == (before.content, before.pathways)
    assert found.to_dict()["pathways"][1] | {"staleness_seconds": 0} == {
        "index": 1, "name": "b>mapped", "input": "b", "snapshots": [newest.stamp], "staleness_seconds": 0,
    }  # fmt: skip
    assert "of another definition, by the pathways of that one" in str(found)
    swapped._declare()  # as a refresh does before it can fail
    assert swapped.provenance("out").pathways == before.pathways
    swapped.refresh()
    assert not swapped.provenance("out").outdated
    assert [p.name for p in swapped.provenance("out").pathways] == ["b>kept", "a>mapped"]
    swapped.close()


def test_status_tells_what_is_still_held_of_another_definition(tmp_path: Path) -> None:
    work = Pretended()
    made = engine(joined("a", "b"), str(tmp_path), work)
    arrive(made, "a", "b")
    made.refresh()
    made.close()
    work.fails = lambda name: name.startswith("kept")
    changed = engine(joined("a", "b", by="v > 2"), str(tmp_path), work)
    with pytest.raises(ol.StepError):
        changed.refresh()
    (output,) = changed.status().outputs
    assert (output.state, output.outdated, output.bounds) == ("of another definition", True, ())
    assert output.held is not None
    assert output.held.to_dict() == {**changed.provenance("out").to_dict(), "outdated": True}
    assert changed.status().stale == ("out",)
    text = " ".join(str(changed.status()).split())
    assert "out reflects" in text
    assert "a>kept" in text
    assert "of another definition, by the pathways of that one; refresh it" in text
    assert "as it was told to" in text
    changed.close()


def test_what_was_made_from_a_source_that_is_gone_cannot_be_told(tmp_path: Path) -> None:
    work = Pretended()
    made = engine(joined("a", "b"), str(tmp_path), work)
    arrive(made, "a", "b")
    made.refresh()
    made.close()
    alone = ol.Workflow("w")
    alone.output(alone.source("a", "k int, v int").filter("out", "v > 1"))
    without = engine(alone, str(tmp_path), work)
    with pytest.raises(
        ol.StoreError, match=r"UNKNOWN_CONTENT.*out: what delivery 1 left, which another definition made, cannot"
    ):
        without.provenance("out")
    (output,) = without.status().outputs
    assert (output.state, output.held) == ("of another definition", None)
    without.close()


def test_the_pathways_that_the_catalog_knows_are_those_of_the_workflow(tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    a, b = (wf.source(name, "k int, v int") for name in ("a", "b"))
    few, many = a.union("all", b, a.map("again", lambda df: df)).split({"few": "v < 3"}, rest="many")
    counts = few.distinct("pairs").aggregate("counts", by="k", n=ol.count())
    counts.join("both", many.extract("last", lambda df: df, key="k", order_by="v"), on="k")
    wf.batch("whole", [wf.channel("both"), b], lambda both, b: both)
    known, catalog = digests(wf), Catalog(f"sqlite:///{tmp_path}/catalog.db")
    with catalog.transaction() as db:
        declare(db, wf)
    with catalog.look() as db:
        for name, channel in wf.channels.items():
            if not channel.internal:
                assert formerly.pathways(db, "w", name, known[name]) == channel.pathways
        assert formerly.pathways(db, "w", "counts", "of another definition") == ()
    catalog.close()
