"""Where blocks lie: their files, the folders of channels, and homes of any address."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston import filesystem
from olston.attempt import new_attempt
from olston.block import BASE, MONOTONE
from olston.content import Content
from olston.errors import StoreError
from olston.provenance import Provenance
from olston.step import Stored
from olston.store import Store, folder
from tests.lake import Lake, bag, jobs
from tests.olston.test_store import workflow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(spark, f"{tmp_path_factory.mktemp('lake')}/à la carte", workflow())


def test_a_delta_is_read_from_its_files_without_a_job_to_find_them(lake: Lake) -> None:
    wave = lake.arrive("pages", [("n", 1), ("n", 1), ("o", None)], 2, 1)
    assert Content.from_dict(wave.content.to_dict()) == wave.content
    before = jobs(lake.session)
    found = lake.frame_of(wave).collect()
    assert len(found) == 3
    assert jobs(lake.session) == before + 1, "the one that reads them"


def test_a_base_and_a_chain_of_deltas_are_read_from_their_files_too(lake: Lake) -> None:
    content = lake.store.write_base("pages", lake.frame("pages", [("a", 1)]), new_attempt(), {})
    first, second = lake.arrive("pages", [("n", 1)], 2, 1), lake.arrive("pages", [("o", 2)], 3, 2)
    content = content.then(first.content).then(second.content)
    assert Content.from_dict(content.to_dict()) == content
    rows, before = lake.store.read(lake.session, "pages", BASE, content), jobs(lake.session)
    assert len(rows.collect()) == 3
    assert jobs(lake.session) == before + 1, "the one that reads them"


def test_a_delta_whose_files_somebody_compacted_is_found_by_the_log(lake: Lake) -> None:
    wave = lake.arrive("pages", [("p", 1)], 2, 1)
    (part,) = wave.content.parts
    elsewhere = replace(wave, content=Content(None, (replace(part, files=("_block=x/gone.parquet",)),)))
    assert lake.rows(elsewhere) == lake.rows(wave) == {("p", 1): 1}


def test_files_that_are_gone_are_missed_by_name(lake: Lake) -> None:
    content = lake.store.write_base("pages", lake.frame("pages", [("a", 1)]), new_attempt(), {})
    assert content.anchor is not None
    filesystem.drop(lake.session, lake.store.path(content.anchor.table))
    with pytest.raises(StoreError, match=f"{content.anchor.table}: there is no table, though a block was written"):
        lake.store.read(lake.session, "pages", BASE, content)


def test_a_table_of_deltas_that_was_deleted_and_made_anew_is_another(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(spark, tmp_path, workflow())
    old = lake.arrive("pages", [("a", 1)], 1)
    filesystem.drop(lake.session, lake.store.path(old.content.parts[0].table))
    new = lake.arrive("pages", [("b", 2)], 2, 1)
    assert lake.rows(new) == bag(("b", 2))
    with pytest.raises(StoreError, match="the table was deleted and made anew, though a block was written") as raised:
        lake.rows(old)
    assert raised.value.code == "FILES_GONE"
    with pytest.raises(StoreError, match="deleted and made anew"):
        lake.rows(Stored(new.block, old.content.then(new.content)))


def test_a_channel_whose_columns_change_keeps_what_it_has_and_takes_the_new(lake: Lake, spark: SparkSession) -> None:
    """As after a change of the definition: old blocks are read until they are retired."""
    old = lake.arrive("pages", [("a", 1)], 2, 1)
    wf = ol.Workflow("w")
    wf.source("pages", "url string, size string, more double")
    new = Lake(spark, lake.store.home, wf)
    assert new.rows(new.arrive("pages", [("b", "x", 0.5)], 3, 2)) == bag(("b", "x", 0.5))
    assert lake.rows(old) == bag(("a", 1))


ODD = ["a.b", "..", "-", "%2F", "a/b", "c:\\d", "été", "日本", "_hidden", "*?[x]{y}", "$`'\"", "published", "UPPER"]


@pytest.mark.parametrize("name", ODD)
def test_the_name_of_a_channel_is_one_folder(name: str) -> None:
    assert "/" not in folder(name)
    assert folder(name) not in ("", ".", "..")
    assert folder(name).isascii()


def test_different_names_are_different_folders() -> None:
    tricky = [*ODD, "a~2f~b", "a~b", "a~7e~b", "~2e~."]
    assert len({folder(n) for n in tricky}) == len(tricky)


def test_channels_of_any_name_lie_on_any_path(spark: SparkSession, tmp_path: Path) -> None:
    names = ["_a/b:日本*?[x]", ".."]
    wf = ol.Workflow("w")
    for name in names:
        wf.source(name, "`größe` int, `a.b` string, `x``y` double")
    lake = Lake(spark, tmp_path / "mit Leerzeichen & Ümläuten %20", wf)
    row = (1, "a", 0.5)
    for name in names:
        base = lake.arrive(name, [row], 1, kind="base")
        change = lake.arrive(name, [(*row, -1), (2, None, None, 2)], 2, 1, "delta")
        assert lake.rows(lake.apply(base, change)) == bag((2, None, None), (2, None, None))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mit Leerzeichen & Ümläuten %20"], "nothing lies elsewhere"


def test_a_home_may_be_an_address(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    wf.source("pages", "url string, size int")
    lake = Lake(spark, f"{tmp_path.as_uri()}/", wf)
    arrived = lake.arrive("pages", [("a", 1)], 1)
    assert lake.rows(arrived) == bag(("a", 1))
    assert Store(spark, str(tmp_path), wf).read(spark, "pages", MONOTONE, arrived.content).count() == 1


def test_a_chain_of_more_files_than_one_scan_reads_needs_no_job_to_find_them(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    waves = [lake.arrive("pages", [("n", i)], 2 + i, 1 + i) for i in range(5)]
    chain = Stored(waves[0].block, Content(None, tuple(p for w in waves for p in w.content.parts)))
    monkeypatch.setattr("olston.store.NOTED_OF_BASE", 2)
    before = jobs(lake.session)
    assert sorted(r["size"] for r in lake.frame_of(chain).collect()) == [0, 1, 2, 3, 4]
    assert jobs(lake.session) == before + 1, "the one that reads them"
