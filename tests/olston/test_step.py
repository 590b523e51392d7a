"""Steps of a plan on real tables: what they write, what they only link, and what they say of themselves."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston import table
from olston.attempt import is_attempt, new_attempt
from olston.block import BASE, DELTA, MONOTONE, Block, weak
from olston.content import Content
from olston.errors import BlockError, SchemaError, StepError
from olston.operators.map import BatchMap
from olston.provenance import Provenance
from olston.step import Inline, Step, Stored, failure, given, labelled, run
from tests.derivation import sets
from tests.lake import Lake, bag, bag_of, jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = Provenance.at
CHANGED: list[bool] = []
"""Whether the function of `fickle` has changed its mind about its columns."""


def fickle(df: DataFrame) -> DataFrame:
    return df.select("url") if CHANGED else df.select("url", "n")


def workflow() -> ol.Workflow:
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string, site string, n int")
    sites = wf.source("sites", "site string, rank int", key="site")
    doubled = pages.map("doubled", lambda df: df.selectExpr("url", "site", "n * 2 AS n"))
    pages.split({"many": "n > 1"}, rest="few")
    pages.map("fickle", fickle)
    doubled.aggregate("counts", by="site", n=ol.sum("n")).map("listed", lambda df: df)
    doubled.join("ranked", sites, on="site")
    pages.union("both", doubled)
    pages.filter("ones", "n = 1").extract("newest", lambda df: df, key="url")
    return wf


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def lake(spark: SparkSession, home: Path) -> Lake:
    return Lake(spark, home, workflow())


@pytest.fixture(scope="module")
def pages(lake: Lake) -> Stored:
    return lake.arrive("pages", [("a/1", "a", 1), ("a/2", "a", 2), ("b/1", "b", 1), ("b/1", "b", 1)], 1)


@pytest.fixture(scope="module")
def later(lake: Lake) -> Stored:
    return lake.arrive("pages", [("a/2", "a", 2, -1), ("c/1", None, None, 1)], 2, 1, "delta")


@pytest.fixture(scope="module")
def doubled(lake: Lake, pages: Stored) -> Stored:
    return lake.run("doubled.incremental", [pages], T(1), T(0))


def written(home: Path) -> set[str]:
    """The channels of which anything was written."""
    return {p.name for p in (home / "blocks").iterdir()}


def test_a_result_is_a_block_with_the_rows_that_the_operator_makes(lake: Lake, doubled: Stored) -> None:
    assert lake.rows(doubled) == bag(("a/1", "a", 2), ("a/2", "a", 4), ("b/1", "b", 2), ("b/1", "b", 2))
    block = doubled.block
    assert (block.channel, block.kind, block.source, block.target) == ("doubled", MONOTONE, T(0), T(1))
    assert block.rows == 4
    assert is_attempt(block.id)


def test_its_commit_says_enough_to_know_it_again(lake: Lake, pages: Stored, doubled: Stored) -> None:
    commit = next(table.history(lake.session, lake.store.path(doubled.content.parts[0].table)))
    assert commit.metadata == {
        "workflow": lake.store.workflow.name,
        "digest": lake.store.digests["doubled"],
        "attempt": doubled.block.id,
        "block": doubled.block.id,
        "channel": "doubled",
        "kind": DELTA,
        "source": [[0]],
        "target": [[1]],
        "relaxed": True,
        "producer": "doubled.incremental",
        "inputs": [pages.block.id],
    }


def test_deletions_go_through_operators_row_by_row(lake: Lake, later: Stored) -> None:
    made = lake.run("doubled.incremental", [later], T(2), T(1))
    assert made.block.kind == DELTA
    assert lake.rows(made) == {("a/2", "a", 4): -1, ("c/1", None, None): 1}


def test_applying_chaining_and_completing_run_no_job(lake: Lake, pages: Stored, later: Stored) -> None:
    before = jobs(lake.session)
    chain = lake.run("pages.chain", [pages, later], T(2), T(0))
    base = lake.apply(lake.nothing("pages"), chain)
    one_sided = Stored(Block("both", MONOTONE, sets([1], []), sets([0], [])), pages.content)
    complete = lake.run("both.complete", [lake.nothing("both"), one_sided], T(1, 0), T(0, 0))
    assert jobs(lake.session) == before
    assert (chain.block.kind, complete.block.kind) == (DELTA, MONOTONE)
    assert lake.rows(chain) == {("a/1", "a", 1): 1, ("b/1", "b", 1): 2, ("c/1", None, None): 1}
    assert lake.rows(base) == lake.rows(chain)
    assert complete.content == pages.content
    assert chain.block.id != base.block.id


def test_a_chain_of_replacements_reads_as_the_later_of_each_key(lake: Lake) -> None:
    replace = weak("replace(site)")
    waves: list[list[Any]] = [
        [("a", 1, False), ("b", 1, False)],
        [("b", None, True), ("c", 3, False)],
        [("c", 4, False)],
    ]
    arrived = [lake.arrive("sites", rows, i + 1, i, "replace") for i, rows in enumerate(waves)]
    first = lake.run("sites.chain", arrived[:2], T(2), T(0), replace)
    whole = lake.run("sites.chain", [first, arrived[2]], T(3), T(0), replace)
    assert lake.rows(whole) == bag(("a", 1, False), ("b", None, True), ("c", 4, False))
    assert lake.rows(lake.apply(lake.nothing("sites"), whole)) == bag(("a", 1), ("c", 4))


def test_the_outputs_of_a_split_come_from_one_attempt(lake: Lake, pages: Stored) -> None:
    attempt = new_attempt()
    results = [Block(c, DELTA, T(1), T(0)) for c in ("many", "few")]
    made = run(lake.store, lake.session, lake.step("split(many,few).incremental", [pages], *results), attempt)
    assert [m.block.id for m in made] == [f"{attempt}.0", f"{attempt}.1"], "each has a name of its own"
    assert {m.content.parts[0].attempt for m in made} == {attempt}
    assert lake.rows(made[0]) == bag(("a/2", "a", 2))
    assert lake.rows(made[1]) == bag(("a/1", "a", 1), ("b/1", "b", 1), ("b/1", "b", 1))


def test_what_is_read_once_is_made_within_the_job_of_its_reader(lake: Lake, home: Path, pages: Stored) -> None:
    sites = lake.arrive("sites", [("a", 7)], 1, kind="base")
    within = Inline(
        Block("doubled", BASE, T(1)),
        lake.step("doubled.batch", [lake.apply(lake.nothing("pages"), pages)], Block("doubled", BASE, T(1))),
    )
    made = lake.run("ranked.batch", [within, sites], T(1, 1))
    assert lake.rows(made) == bag(("a", "a/1", 2, 7), ("a", "a/2", 4, 7))
    assert not list((home / "blocks" / "doubled").glob("anchors/*")), "no base of it was written"


def test_progress_without_rows_is_a_block_too(lake: Lake) -> None:
    empty = lake.arrive("pages", [], 2, 1)
    made = lake.run("doubled.incremental", [empty], T(2), T(1))
    assert (made.block.rows, made.block.kind, lake.rows(made)) == (0, MONOTONE, {})
    counts = lake.run("counts.increment", [made], T(2), T(1))
    assert lake.rows(counts) == {}


def test_columns_that_help_olston_are_stored_and_not_shown(lake: Lake, doubled: Stored) -> None:
    counts = lake.run("counts.increment", [doubled], T(1), T(0))
    base = lake.apply(lake.nothing("counts"), counts)
    stored = lake.store.read(lake.session, "counts", BASE, base.content)
    assert bag_of(stored.select("site", "n", "__n_n", "__rows")) == bag(("a", 6, 2, 2), ("b", 4, 2, 2))
    assert lake.rows(base) == bag(("a", 6), ("b", 4))


def increment_of(lake: Lake, at: int, *rows: Any) -> Stored:
    """What `counts` gains by rows of pages that come and go."""
    delta = lake.run("doubled.incremental", [lake.arrive("pages", rows, at, at - 1, "delta")], T(at), T(at - 1))
    return lake.run("counts.increment", [delta], T(at), T(at - 1))


def test_errors_tell_when_a_block_is_of_by_date_and_time() -> None:
    block = Block("pages", DELTA, T(1_772_000_000_000_000), T(0))
    assert labelled(block, "doubled.incremental") == "pages Δ to 2026-02-25 06:13:20, made by doubled.incremental"


def test_increments_that_lie_over_a_base_are_added_up_only_where_the_next_one_changes_it(lake: Lake) -> None:
    first = increment_of(lake, 1, ("1", "a", 1, 1), ("2", "b", 1, 1), ("3", None, None, 1), ("4", "e", 1, 1))
    waves = [
        increment_of(lake, 2, ("2", "b", 1, -1), ("5", "c", 2, 1), ("6", None, 4, 1)),
        increment_of(lake, 3, ("7", "b", 5, 1), ("5", "c", 2, -1), ("6", None, 4, -1)),
        increment_of(
            lake, 4, ("8", "c", 6, 1), ("7", "b", 5, -1), ("1", "a", 1, -1), ("9", "a", 1, 1), ("0", "d", 1, 1)
        ),
    ]
    base = lake.apply(lake.nothing("counts"), first)
    anchor = lake.store.fold(lake.session, "counts", base.content, new_attempt(), {})
    for old in (base, Stored(base.block, anchor)):
        for at, wave in enumerate(waves, 2):
            new = lake.apply(old, wave)
            made = lake.run(f"counts.c.{wave.block.kind}Δ", [old, wave], T(at), T(at - 1))
            change = lake.rows(new)
            change.subtract(lake.rows(old))
            assert lake.rows(made) == Counter({row: n for row, n in change.items() if n})
            old = new
        assert lake.rows(old) == bag(("a", 2), ("c", 12), ("d", 2), ("e", 2), (None, None))


def test_an_increment_that_takes_too_much_is_named_also_if_a_later_one_gives_it_back(lake: Lake) -> None:
    base = lake.apply(lake.nothing("counts"), increment_of(lake, 1, ("1", "a", 1, 1)))
    too_much, back = increment_of(lake, 2, ("1", "a", 1, -2)), increment_of(lake, 3, ("1", "a", 1, 2))
    with pytest.raises(BlockError, match=r"counts δ_\S+ to 2, made by counts.increment takes more rows"):
        lake.run(f"counts.c.{back.block.kind}Δ", [lake.apply(base, too_much), back], T(3), T(2))


def test_a_difference_is_computed_where_what_is_taken_back_would_not_say_when_it_arrived(
    lake: Lake, pages: Stored
) -> None:
    old = lake.apply(lake.nothing("pages"), pages)
    new = Stored(Block("pages", BASE, T(3)), lake.arrive("pages", [("a/1", "a", 1)], 3).content)
    before = jobs(lake.session)
    made = lake.run("pages.c.BΔ", [old, new], T(3), T(1))
    assert jobs(lake.session) > before
    assert lake.rows(made) == {("a/2", "a", 2): -1, ("b/1", "b", 1): -2}


def test_a_function_that_changes_its_columns_is_refused_with_both(lake: Lake, home: Path, pages: Stored) -> None:
    lake.run("fickle.incremental", [pages], T(1), T(0))
    CHANGED.append(True)
    try:
        with pytest.raises(SchemaError, match=r"fickle: has the columns struct<url:string,n:int>, but was now given"):
            lake.run("fickle.incremental", [pages], T(1), T(0))
    finally:
        CHANGED.clear()


def test_a_function_that_fails_within_a_delivery_is_told_of_as_one_that_fails_in_a_step() -> None:
    fault = ValueError("boom")
    read = Stored(Block("pages", MONOTONE, T(2), T(1)), Content())
    made = Block("doubled", MONOTONE, T(2), T(1))

    def run(_: object) -> tuple[DataFrame, ...]:
        raise fault

    operator: Any = SimpleNamespace(view=None, run=run)
    store: Any = SimpleNamespace(operand=lambda *_: SimpleNamespace(seen=lambda _: None), shaped=None)
    session: Any = None
    with pytest.raises(
        StepError, match=r"doubled\.incremental: failed reading pages Δ⁺ to 2: ValueError: boom"
    ) as raised:
        given(store, session, Inline(made, Step("doubled.incremental", operator, (read,), (made,))))
    assert raised.value.__cause__ is fault


def test_a_step_that_fails_is_named_with_all_that_is_done_in_its_job() -> None:
    pages = Stored(Block("pages", MONOTONE, T(2), T(1)), Content())
    sites = Stored(Block("sites", BASE, T(1_794_971_261_440_321)), Content())
    within = Step("doubled.incremental", BatchMap(), (pages,), (Block("doubled", MONOTONE, T(2), T(1)),))
    inline = Inline(within.results[0], within)
    step = Step("ranked.async_left", BatchMap(), (inline, sites), (Block("ranked", MONOTONE, T(2), T(1)),))
    assert failure(step, ValueError("out of luck")).message.startswith(
        "doubled.incremental + ranked.async_left: failed reading pages Δ⁺ to 2, sites B at 2026-11-18 "
    )
