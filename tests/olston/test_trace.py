"""Which snapshots single rows may come from: new pages with scores of another day than old ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston import reading
from olston.engine import Engine
from olston.trace import deliveries
from tests import pretended
from tests.cluster.scenario import START, search

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_a_delivery_brought_is_part_of_what_is_held_since(tmp_path: Path) -> None:
    clock = ol.ManualClock(START)
    with pretended.engine(search(), str(tmp_path), pretended.Pretended(), clock=clock) as made:
        pretended.arrive(made, "pages", "clicks")
        made.refresh()
        for _ in range(6):
            clock.advance("10 hours")
            pretended.arrive(made, "clicks")
            clock.advance("10 hours")
            pretended.arrive(made, "pages")
            made.refresh()
        with made._catalog.look() as db:
            state = made._planning.load(db)
            found = deliveries(db, state, reading.delivery(db, "search", "output", None))
    assert len(found) > 4
    assert found[-1].block is None  # the first fill replaced all there was
    assert any(b.content.mixes for b in found)
    for brought in found[:-1]:
        assert brought.block is not None
        for part, whole in zip(brought.block, brought.content, strict=True):
            assert part <= whole


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(search(), home=str(tmp_path), clock=ol.ManualClock(START), spark=spark) as made:
        yield made


def test_rows_that_came_with_other_deliveries_come_from_other_snapshots(engine: Engine) -> None:
    spark, clock = engine.spark, engine._clock
    assert isinstance(clock, ol.ManualClock)

    def pages(*rows: tuple[str, str, str]) -> int:
        return int(
            engine.ingest("pages", spark.createDataFrame(list(rows), "url string, site string, content string")).stamp
        )

    def clicks(*rows: tuple[str, str]) -> int:
        return int(engine.ingest("clicks", spark.createDataFrame(list(rows), "user string, site string")).stamp)

    first_page, first_click = pages(("u1", "a", "x")), clicks(("ann", "a"))
    engine.refresh()
    clock.advance("2 days")
    second_click = clicks(("bob", "a"))
    second_page = pages(("u2", "a", "y"))
    engine.refresh()
    whole = engine.provenance("output").to_dict()["pathways"]
    traced = {t.row["url"]: t for t in engine.trace("output", "site = 'a'").rows}
    assert set(traced) == {"u1", "u2"}
    for t in traced.values():
        for snapshots, pathway in zip(t.snapshots, whole, strict=True):
            assert snapshots
            assert set(snapshots) <= set(pathway["snapshots"])
    if len(whole[1]["snapshots"]) > 1:  # the new page met newer scores than the old one
        assert traced["u1"].snapshots[1] == (first_click,)
        assert traced["u2"].snapshots[1] == (second_click,)
    assert traced["u2"].since is not None
    assert first_page < second_page
    text = str(engine.trace("output", "url = 'u2'"))
    assert "may come from" in text
    assert "there since" in text


def test_a_channel_that_is_no_output_has_the_snapshots_of_all_its_rows(engine: Engine) -> None:
    rows = engine.spark.createDataFrame([("u1", "a", "x")], "url string, site string, content string")
    stamp = engine.ingest("pages", rows).stamp
    (traced,) = engine.trace("pages", "url = 'u1'").rows
    assert (traced.since, traced.snapshots) == (None, ((stamp,),))
    assert engine.trace("pages", "url = 'u9'").rows == ()
    with pytest.raises(ol.SchemaError, match="url, site, content"):
        engine.trace("pages", "nothing = 1")
