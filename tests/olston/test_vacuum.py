"""Files go only if nobody names them and they are old enough; everything else reads as before."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston.attempt import new_attempt
from olston.provenance import Provenance
from olston.step import Stored
from olston.vacuum import Vacuumed, vacuum
from tests.lake import Lake, bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home of ü"


@pytest.fixture
def lake(spark: SparkSession, home: Path) -> Lake:
    wf = ol.Workflow("w")
    wf.source("pages", "url string, n int", key="url").filter("some/é", "n > 0")
    return Lake(spark, home, wf)


def names(*blocks: Stored) -> set[str]:
    return set().union(*(b.content.attempts for b in blocks))


def files(home: Path, attempt: str) -> list[Path]:
    return [p for p in home.rglob("*") if attempt in str(p)]


def test_what_nobody_names_is_dropped_with_its_files_and_the_rest_reads_as_before(lake: Lake, home: Path) -> None:
    old, base = (lake.arrive("pages", [(u, 1)], 1, kind="base") for u in "ab")
    gone, kept = (lake.arrive("pages", [(u, 1)], 2, 1) for u in "cd")
    replaced = lake.arrive("pages", [("e", 2, False)], 3, 2, "replace")
    derived = lake.run("some/é.incremental", [gone], T(2), T(1))
    keep, dead = names(base, kept), names(old, gone, replaced, derived)
    unfinished = new_attempt()
    tables = [home / "blocks" / "pages" / p.parent.name for p in home.glob("blocks/pages/deltas-*/_delta_log")]
    for place in (tables[0] / f"_block={unfinished}", home / "blocks" / "pages" / "anchors" / unfinished):
        place.mkdir()
        (place / "part-0.parquet").touch()
    stray = home / "blocks" / "pages" / "anchors" / "not an attempt"
    stray.mkdir()
    held = lake.apply(base, kept)
    expected = bag(("b", 1), ("d", 1))

    assert vacuum(lake.store, lake.session, keep) == [], "all of it is young: somebody may still be writing it"
    time.sleep(0.01)
    found = vacuum(lake.store, lake.session, keep, older_than=0, dry_run=True)
    assert {v.attempt for v in found} == dead | {unfinished}
    assert Vacuumed("some/é", derived.block.id) in found
    assert all(files(home, a) for a in dead), "a rehearsal drops nothing"

    assert set(vacuum(lake.store, lake.session, keep, older_than=0)) == set(found)
    assert [a for a in (*dead, unfinished) if files(home, a)] == []
    assert all(files(home, a) for a in keep)
    assert stray.is_dir(), "what is not olston's is left alone"
    assert lake.rows(held) == expected

    assert vacuum(lake.store, lake.session, keep, older_than=0) == []
    more = lake.arrive("pages", [("g", 1)], 3, 2)
    assert lake.rows(lake.apply(held, more)) == expected + bag(("g", 1)), "the tables can still be written"


def test_a_store_in_which_nothing_was_written_has_nothing_to_drop(lake: Lake) -> None:
    assert vacuum(lake.store, lake.session, [], older_than=0) == []


def test_blocks_of_channels_that_the_workflow_does_not_have_any_more_are_dropped(
    spark: SparkSession, home: Path
) -> None:
    wf = ol.Workflow("w")
    wf.source("pages", "url string, n int").filter("other", "n > 0")
    before = Lake(spark, home, wf)
    arrived = before.arrive("pages", [("a", 1)], 1)
    derived = before.run("other.incremental", [arrived], T(1), T(0))
    wf = ol.Workflow("w")
    wf.source("news", "url string")
    after = Lake(spark, home, wf)
    (attempt,) = names(derived)
    assert vacuum(after.store, after.session, names(arrived), older_than=0) == [Vacuumed("other", attempt)]
    assert not [f for f in files(home, attempt) if f.name != "_delta_log" and "_delta_log" not in f.parts]
    assert before.rows(arrived) == bag(("a", 1))
