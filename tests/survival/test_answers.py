"""What is asked of a home that was meddled with, and what it answers; the state stays good."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlmodel import select

import olston as ol
from olston.catalog.records import ArrivalRecord, DeliveryRecord
from olston.engine import Engine
from tests.cluster.scenario import START
from tests.olston.test_engine import Lab, counting
from tests.survival.shop import lose_catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def two_waves(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which a and b arrived, then another a, and both were delivered."""
    home = tmp_path_factory.mktemp("counting") / "home"
    made = Lab(counting(), home, spark)
    for wave in ("ab", "a"):
        made.engine.ingest("rows", made.keys(*wave))
        made.engine.refresh()
        made.clock.advance("1 hour")
    made.engine.close()
    return home


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path, two_waves: Path) -> Iterator[Lab]:
    shutil.copytree(two_waves, tmp_path / "home")
    made = Lab(counting(), tmp_path / "home", spark)
    made.clock.advance("2 hours")
    yield made
    made.engine.close()


def one_more(lab: Lab) -> None:
    """A third wave arrives, and the counts are right."""
    lab.engine.ingest("rows", lab.keys("b"))
    lab.engine.refresh()
    assert lab.rows("counts") == {("a", 2): 1, ("b", 2): 1}
    assert not lab.engine.plan().due


def reopen(lab: Lab) -> Lab:
    lab.engine.close()
    lab.engine = Engine(counting(), str(lab.home), clock=lab.clock, spark=lab.spark)
    return lab


def test_a_lost_catalog_is_noticed_and_rebuilt_and_the_system_goes_on(lab: Lab, spark: SparkSession) -> None:
    before = lab.engine.provenance("counts").to_dict(), lab.rows("counts"), lab.rows("rows")
    then = lab.rows("counts", START)
    with lab.engine._catalog.look() as db:
        planned = lab.engine._planning.load(db).planned_at
        offered = {a.stamp: a.offered_at for a in db.exec(select(ArrivalRecord))}
    lab.engine.write_arrival("rows", lab.keys("x"), None)  # written, never arrived
    with pytest.raises(ol.CatalogError, match=r"NOTHING_LOST.*counting.*is not lost.*recover\(force=True\)"):
        lab.engine.recover()
    lose_catalog(lab.home)
    reopen(lab)
    asked = (
        lambda: lab.engine.read("counts"),
        lambda: lab.engine.read("rows"),
        lambda: lab.engine.provenance("counts"),
    )
    for ask in (lambda: lab.engine.ingest("rows", lab.keys("z")), *asked):
        with pytest.raises(
            ol.CatalogError, match=r"CATALOG_LOST.*files of arrivals, 2 in number.*arrivals/counting.*recover\(\)"
        ):
            ask()
    found = lab.engine.recover()
    assert (found.arrivals, found.deliveries) == ({"rows": 2}, {"counts": 2})
    assert [why for _, why in found.ignored] == ["it never arrived, or was let go"]
    assert "not used, since it never arrived, or was let go: a wave of rows" in str(found)
    assert (lab.engine.provenance("counts").to_dict(), lab.rows("counts"), lab.rows("rows")) == before
    assert lab.rows("counts", START) == then == {("a", 1): 1, ("b", 1): 1}
    with lab.engine._catalog.look() as db:
        assert lab.engine._planning.load(db).planned_at == planned
        assert {a.stamp: a.offered_at for a in db.exec(select(ArrivalRecord))} == offered
    assert not lab.engine.plan().due
    one_more(lab)
    assert lab.engine.recover(force=True).deliveries == {"counts": 3}
    assert lab.rows("counts") == {("a", 2): 1, ("b", 2): 1}


def test_blocks_of_another_definition_are_not_taken_back(lab: Lab) -> None:
    lab.engine.close()
    lose_catalog(lab.home)
    changed = ol.Workflow("counting")
    changed.output(changed.source("rows", "k string").aggregate("counts", by="k", n=ol.count(), least=ol.min("k")))
    changed.bound_staleness("counts", 0, 0)
    lab.engine = Engine(changed, str(lab.home), clock=lab.clock, spark=lab.spark)
    found = lab.engine.recover()
    assert not found.blocks.get("counts")
    assert {why for _, why in found.ignored} <= {"it was made by another definition"}
    lab.engine.refresh()
    assert lab.rows("counts") == {("a", 2, "a"): 1, ("b", 1, "b"): 1}


def test_a_delivery_that_the_catalog_missed_is_followed_and_until_then_not_read(lab: Lab) -> None:
    with lab.engine._catalog.transaction() as db:
        (last,) = db.exec(select(DeliveryRecord).where(DeliveryRecord.number == 2))
        db.delete(last)
    reopen(lab)
    assert lab.rows("counts") == {("a", 1): 1, ("b", 1): 1}, "as provenance says"
    assert len(lab.engine.provenance("counts").content[0]) == 1
    lab.engine.refresh()
    assert lab.rows("counts") == {("a", 2): 1, ("b", 1): 1}
    assert [s.state for s in lab.engine.history().steps].count("failed") == 0
    one_more(lab)


def test_a_published_table_edited_by_hand_is_not_read_and_is_written_anew(lab: Lab) -> None:
    table = lab.home / "published" / "counts"
    lab.spark.sql(f"UPDATE delta.`{table}` SET n = 99 WHERE k = 'a'").collect()
    assert lab.rows("counts") == {("a", 2): 1, ("b", 1): 1}, "what was delivered is what counts"
    one_more(lab)
    assert {tuple(r) for r in lab.spark.read.format("delta").load(str(table)).collect()} == {("a", 2), ("b", 2)}


def test_a_published_table_that_is_gone_is_asked_for_and_written_anew(lab: Lab) -> None:
    shutil.rmtree(lab.home / "published" / "counts")
    with pytest.raises(ol.StoreError, match=r"counts: its table is not at .*published/counts any more.*full=True"):
        lab.engine.read("counts")
    one_more(lab)


def test_what_was_derived_and_is_gone_is_made_again(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("kept")
    counts = wf.source("rows", "k string").aggregate("counts", by="k", n=ol.count(), keep=True)
    wf.output(counts)
    wf.bound_staleness(counts, 0, 0)
    lab = Lab(wf, tmp_path / "home", spark)
    lab.engine.ingest("rows", lab.keys("a", "b", "a"))
    lab.engine.refresh()
    shutil.rmtree(lab.home / "blocks" / "counts")
    one_more(lab)
    lab.engine.close()


def test_what_arrived_and_is_gone_is_asked_for_and_may_come_back(lab: Lab) -> None:
    (parts,) = (lab.home / "blocks" / "rows").glob("deltas-*")
    first = sorted(parts.glob("_block=*"))[0]
    shutil.move(first, lab.home / "aside")
    with pytest.raises(
        ol.StoreError, match=rf"INPUT_LOST.*rows at 2023-11-14 22:13:20: {parts}.*recover\(force=True\)"
    ):
        lab.engine.refresh("counts", full=True)
    assert lab.rows("counts") == {("a", 2): 1, ("b", 1): 1}
    shutil.move(lab.home / "aside", first)
    lab.engine.recover(force=True)
    lab.engine.refresh("counts", full=True)
    one_more(lab)


def test_an_arrival_whose_file_cannot_be_written_has_arrived_and_is_written_later(lab: Lab) -> None:
    assert sum(lab.rows("rows").values()) == 3
    place = lab.home / "arrivals" / "counting"
    shutil.move(place, lab.home / "aside")
    place.touch()  # where a folder should be
    with pytest.raises(ol.StoreError, match=r"ARRIVED_WITHOUT_FILE.*rows: the data has arrived.*do not offer it again"):
        lab.engine.ingest("rows", lab.keys("b"))
    place.unlink()
    shutil.move(lab.home / "aside", place)
    reopen(lab).engine.refresh()
    assert lab.rows("counts") == {("a", 2): 1, ("b", 2): 1}
    assert len(list(place.glob("*.json"))) == 3


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    made = tmp_path / "disk"
    made.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", made], capture_output=True).returncode:
        pytest.skip("may not mount a small disk here")
    yield made
    subprocess.run(["umount", "--lazy", made], check=True)


def test_a_full_disk_changes_nothing_and_says_where(lab: Lab, tmp_path: Path, disk: Path) -> None:
    catalog = f"sqlite:///{tmp_path}/elsewhere.db"
    engine = Engine(counting(), str(disk), clock=lab.clock, spark=lab.spark, catalog=catalog)
    engine.ingest("rows", lab.keys("a"))
    (disk / "ballast").write_bytes(b"x" * 1_000_000)
    many = lab.spark.range(200_000).selectExpr("uuid() AS k")
    with pytest.raises(ol.StoreError, match=rf"DISK_FULL.*{disk}.*is full.*make room"):
        engine.ingest("rows", many)
    assert engine.read("rows").count() == 1
    (disk / "ballast").unlink()
    engine.ingest("rows", lab.keys("b"))
    assert engine.read("rows").count() == 2
    engine.close()


def test_a_catalog_that_cannot_be_rebuilt_for_want_of_room_stays_as_it_was(lab: Lab, disk: Path) -> None:
    lab.engine.close()
    shutil.copytree(lab.home, disk / "home")
    lab.home = disk / "home"
    reopen(lab)
    assert lab.rows("counts") == {("a", 2): 1, ("b", 1): 1}
    with (disk / "ballast").open("wb", buffering=0) as ballast, suppress(OSError):
        while True:
            ballast.write(bytes(4096))
    with pytest.raises(ol.CatalogError, match=r"could not be written: database or disk is full\. Nothing of it was"):
        lab.engine.recover(force=True)
    assert lab.rows("counts") == {("a", 2): 1, ("b", 1): 1}
    (disk / "ballast").unlink()
    one_more(lab)


def test_a_clock_that_jumps_back_gives_later_stamps_all_the_same(lab: Lab) -> None:
    newest = max(lab.engine.provenance("counts").content[0])
    lab.clock = ol.ManualClock(START - 24 * 3_600_000_000)
    reopen(lab)
    (status,) = lab.engine.status().outputs
    assert (status.due, [b.bound for b in status.bounds]) == (False, ["bound_staleness(counts, 0, 0)"])
    block = lab.engine.ingest("rows", lab.keys("b"))
    assert block.stamp is not None
    assert block.stamp > newest
    assert lab.engine.status().stale == ("counts",)
    lab.engine.refresh()
    assert lab.rows("counts") == {("a", 2): 1, ("b", 2): 1}
    held = lab.engine.provenance("counts").to_dict()
    assert held["consistent"]
    assert held["pathways"][0]["staleness_seconds"] == 0


def test_a_second_workflow_is_not_let_into_the_home_of_another(lab: Lab) -> None:
    other = ol.Workflow("other")
    other.output(other.source("rows", "k string").aggregate("counts", by="k", n=ol.count()))
    told = r"HOME_TAKEN.*is the home of workflow 'counting'.*a home of its own"
    with Engine(other, str(lab.home), spark=lab.spark) as engine, pytest.raises(ol.StoreError, match=told):
        engine.ingest("rows", lab.keys("z"))
