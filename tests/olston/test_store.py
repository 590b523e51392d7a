"""Blocks on Delta: anchors with overlays, and deltas. Rows are checked against bags counted in Python."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston import table
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, MONOTONE, Block
from olston.content import LITTLE, Content
from olston.errors import SchemaError, StoreError
from olston.operators import bag as bags
from olston.provenance import Provenance
from olston.step import Stored
from tests.lake import Lake, Rows, bag, bag_of, jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = Provenance.at


def workflow() -> ol.Workflow:
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string, size int")
    pages.map("copy", lambda df: df)
    pages.aggregate("counts", by="url", n=ol.count())
    wf.source("keyed", "url string, size int", key="url")
    wf.source("fetched", "url string, size int").extract("newest", lambda df: df, key="url")
    return wf


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(spark, f"{tmp_path_factory.mktemp('lake')}/à la carte", workflow())


@pytest.fixture(scope="module")
def base(lake: Lake) -> Stored:
    """With duplicates and nulls."""
    return lake.arrive("pages", [("a", 1), ("a", 1), ("b", None), (None, None), ("c", 3)], 1, kind="base")


START = Counter({("a", 1): 2, ("b", None): 1, (None, None): 1, ("c", 3): 1})


@pytest.fixture(scope="module")
def changes(lake: Lake) -> Stored:
    """With weights above 1, nulls, and rows that net to nothing."""
    rows = [("a", 1, -2), (None, None, -1), (None, None, 3), ("d", 4, 2), ("e", 5, 1), ("e", 5, -1)]
    return lake.arrive("pages", rows, 2, 1, kind="delta")


CHANGED = Counter({("b", None): 1, (None, None): 3, ("c", 3): 1, ("d", 4): 2})


def test_a_base_has_every_row_as_often_as_it_was_given(lake: Lake, base: Stored) -> None:
    assert lake.rows(base) == START
    assert base.content.anchor is not None
    assert base.content.anchor.rows == 5
    assert base.content.bytes > 0


def test_a_strong_delta_is_netted_and_knows_whether_it_deletes(lake: Lake, changes: Stored) -> None:
    assert changes.block.kind == DELTA
    assert lake.rows(changes) == {("a", 1): -2, (None, None): 2, ("d", 4): 2}
    (part,) = changes.content.parts
    assert (part.rows, part.plain) == (3, False)


def test_a_delta_that_deletes_nothing_is_monotone_whatever_it_was_planned_as(lake: Lake) -> None:
    adding = lake.arrive("pages", [("d", 4, 2), ("e", None, 1)], 2, 1, kind="delta")
    assert adding.block.kind == MONOTONE
    assert not adding.content.parts[0].plain
    once = lake.arrive("pages", [("d", 4, 1)], 2, 1, kind="delta")
    assert (once.block.kind, once.content.parts[0].plain) == (MONOTONE, True)


def test_only_rows_known_to_be_added_once_are_not_repeated_by_their_weights(lake: Lake) -> None:
    once = lake.arrive("pages", [("x", 1), ("x", 1), ("y", 2)], 1002, 1001)
    twice = lake.arrive("pages", [("x", 1, 2), ("y", 2, 1)], 1003, 1002, kind="delta")
    taken_back = Content(None, tuple(p.inverse() for p in once.content.parts))
    for content, plain in ((once.content, True), (twice.content, False), (once.content.then(twice.content), False)):
        read = lake.store.operand(lake.session, "pages", MONOTONE, content)
        assert read.plain == plain
        times = sum(p.kind == MONOTONE for p in content.parts)
        assert bag_of(read.added()) == Counter({("x", 1): 2 * times, ("y", 2): times})
    assert not lake.store.operand(lake.session, "pages", DELTA, taken_back).plain


def test_applying_a_delta_writes_nothing_and_reading_resolves_it(lake: Lake, base: Stored, changes: Stored) -> None:
    before = jobs(lake.session)
    applied = lake.apply(base, changes)
    assert jobs(lake.session) == before
    assert applied.content.anchor == base.content.anchor
    assert lake.rows(applied) == CHANGED
    assert lake.rows(base) == START, "the base itself is as it was"


def test_reading_is_the_same_whether_the_delta_is_sent_around_or_shuffled(
    lake: Lake, base: Stored, changes: Stored
) -> None:
    rows, delta = lake.frame_of(base), lake.frame_of(changes)
    for small in (True, False):
        assert bag_of(bags.apply(rows, delta, small=small, label="a delta")) == CHANGED


def test_an_empty_block_is_a_block(lake: Lake, base: Stored) -> None:
    empty = lake.arrive("pages", [], 2, 1)
    assert (empty.block.kind, empty.block.rows) == (MONOTONE, 0)
    assert lake.rows(empty) == {}
    assert lake.rows(lake.apply(base, empty)) == START
    emptied = lake.arrive("pages", [], 2, kind="base")
    assert lake.rows(lake.apply(emptied, lake.arrive("pages", [("x", 1)], 3, 2))) == bag(("x", 1))


@pytest.fixture(params=[0, LITTLE], ids=["looked up", "counted as one"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to read a base through changes."""
    monkeypatch.setattr("olston.content.LITTLE", request.param)


@pytest.fixture(scope="module")
def many(lake: Lake, base: Stored) -> tuple[list[Stored], list[Rows]]:
    """30 Δ⁺ and 3 Δ between them on top of a base, and what there should be after each."""
    changes: list[dict[tuple[Any, ...], int]] = []
    for i in range(2, 35):
        if i % 11:
            changes.append({(f"p{i}", i): 1, ("every", 0): 1})
        else:
            changes.append({("every", 0): -4, (f"p{i - 1}", i - 1): -1, ("z", i): 2})
    content, held, expected = base.content, [base], [START]
    for i, delta in enumerate(lake.deltas("pages", *changes), 2):
        content = content.then(delta.content)
        held.append(Stored(Block("pages", BASE, T(i)), content))
        now = Counter(expected[-1])
        now.update(changes[i - 2])
        expected.append(+now)
    return held, expected


@pytest.mark.usefixtures("either")
def test_an_overlay_of_many_parts_is_read_in_one_go(lake: Lake, many: tuple[list[Stored], list[Rows]]) -> None:
    held, expected = many
    assert len(held[-1].content.parts) == 33
    for i in (3, 11, 33):
        assert lake.rows(held[i]) == expected[i]


def test_few_rows_are_read_through_changes_by_one_task_without_a_shuffle(
    lake: Lake, many: tuple[list[Stored], list[Rows]], monkeypatch: pytest.MonkeyPatch
) -> None:
    held, counts = many[0][-1], lake.run("counts.batch", [many[0][0]], T(1))
    (more,) = lake.deltas("pages", {("a", 1): 1, ("n", 1): 1})
    raised = Stored(counts.block, counts.content.then(lake.run("counts.increment", [more], T(2), T(1)).content))

    def shuffles(stored: Stored) -> bool:
        rows = lake.store.read(lake.session, stored.block.channel, BASE, stored.content)
        assert rows.collect()
        return "Exchange" in rows._jdf.queryExecution().executedPlan().toString()

    assert (shuffles(held), shuffles(raised)) == (False, False)
    monkeypatch.setattr("olston.content.LITTLE", held.content.rows - 1)
    assert shuffles(held)
    monkeypatch.setattr("olston.content.LITTLE", LITTLE)
    monkeypatch.setattr("olston.content.FEW", held.content.bytes - 1)
    assert shuffles(held), "few rows, but long ones"


def test_a_folded_base_has_the_same_rows_and_no_overlay(lake: Lake, many: tuple[list[Stored], list[Rows]]) -> None:
    held, expected = many
    folded = lake.store.fold(lake.session, "pages", held[-1].content, new_attempt(), {})
    assert folded.anchor is not None
    assert folded.parts == ()
    assert folded.anchor.rows == expected[-1].total()
    assert bag_of(lake.store.read(lake.session, "pages", BASE, folded)) == expected[-1]
    assert lake.rows(held[-1]) == expected[-1], "what was folded can still be read"


def test_bases_with_a_common_anchor_differ_by_their_overlays_without_a_job(
    lake: Lake, many: tuple[list[Stored], list[Rows]]
) -> None:
    held, expected = many
    before = jobs(lake.session)
    for i, j, kind in ((0, 8, MONOTONE), (5, 33, DELTA), (20, 5, DELTA)):
        found = lake.run("pages.c.BΔ", [held[i], held[j]], T(100), T(99))
        assert jobs(lake.session) == before
        changed = Counter(expected[j])
        changed.subtract(expected[i])
        assert lake.rows(found) == {row: weight for row, weight in changed.items() if weight}
        assert found.block.kind == kind
        assert lake.rows(lake.apply(Stored(Block("pages", BASE, T(99)), held[i].content), found)) == expected[j]
        before = jobs(lake.session)


def test_a_difference_of_bases_without_a_common_anchor_is_computed_and_written(lake: Lake, base: Stored) -> None:
    other = lake.arrive("pages", [("a", 1), ("b", None), ("b", None), ("n", 0)], 2, kind="base")
    found = lake.run("pages.c.BΔ", [base, other], T(2), T(1))
    assert lake.rows(found) == {("a", 1): -1, ("b", None): 1, (None, None): -1, ("c", 3): -1, ("n", 0): 1}
    assert lake.rows(lake.apply(base, found)) == lake.rows(other)


def test_the_same_bases_differ_by_a_delta_without_rows(lake: Lake, base: Stored) -> None:
    same = lake.run("pages.c.BΔ", [base, base], T(2), T(1))
    assert (same.content, lake.rows(same)) == (Content(), {})
    assert lake.rows(lake.apply(base, same)) == START


def test_deltas_on_both_sides_of_a_union_may_be_applied_in_any_order(lake: Lake, base: Stored, changes: Stored) -> None:
    """The difference of two bases takes a part back and adds it again; all three must not be mixed up."""
    added = lake.arrive("pages", [("l", 1)], 2, 1)
    one, both = lake.apply(base, added), Stored(base.block, base.content.then(changes.content).then(added.content))
    between = lake.run("pages.c.BΔ", [one, both], T(3), T(2))
    assert lake.rows(between) == lake.rows(changes)
    assert lake.rows(lake.apply(one, between)) == CHANGED + bag(("l", 1))


CULPRITS: list[tuple[list[dict[tuple[Any, ...], int]], int, str]] = [
    ([{("a", 1): 1}, {("a", 1): -1}, {("a", 1): -1}, {("z", 1): 1}], 3, "{a, 1}"),
    ([{("a", 1): 1, ("b", 2): 1}, {("b", 2): -1}, {("a", 1): -3}], 3, "{a, 1}"),
    ([{("a", 1): -1, ("c", 0): 1}, {("b", 2): 1}, {("c", 0): -1}], 1, "{a, 1}"),
    ([{("a", 1): 1}, {("a", 1): -2}, {("a", 1): 1}, {("a", 1): -1}], 2, "{a, 1}"),
    ([{("a", 1): 1}, {("A", 1): -1}], 2, "{A, 1}"),
    ([{("a", None): 1, (None, 1): 1}, {("a", None): -1}, {(None, 1): -2}], 3, "{null, 1}"),
]


@pytest.mark.usefixtures("either")
def test_deleting_what_is_not_there_is_an_error_of_the_delta_that_did(lake: Lake) -> None:
    every = iter(lake.deltas("pages", *(delta for deltas, _, _ in CULPRITS for delta in deltas)))
    for deltas, culprit, row in CULPRITS:
        made = list(islice(every, len(deltas)))
        held = reduce(Content.then, (m.content for m in made))
        with pytest.raises(Exception, match=bags.MISSING) as raised:
            lake.store.read(lake.session, "pages", BASE, held).collect()
        guilty = made[culprit - 1].content.parts[0].label
        assert f"{guilty} deletes a row that is not there: {row}" in str(raised.value)


@pytest.mark.usefixtures("either")
def test_of_many_deltas_an_error_names_those_among_which_one_deleted_too_much(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("olston.content.TOLD_APART", 2)
    deltas = [{("a", 1): 1}, {("b", 2): 1}, {("b", 2): -1}, {("a", 1): -2}, {("b", 2): 1}]
    made = lake.deltas("pages", *deltas)
    labels = [m.content.parts[0].label for m in made]
    with pytest.raises(Exception, match=bags.MISSING) as raised:
        lake.store.read(lake.session, "pages", BASE, reduce(Content.then, (m.content for m in made))).collect()
    assert f"{'; '.join(labels[3:])} deletes a row that is not there: {{a, 1}}" in str(raised.value)


def test_a_deletion_that_later_parts_make_good_is_none(lake: Lake) -> None:
    """Abutting deltas act as one: their weights add up."""
    deltas = lake.deltas("pages", {("a", 1): -1}, {("a", 1): 2})
    assert lake.rows(lake.apply(lake.nothing("pages"), *deltas)) == bag(("a", 1))


def test_rows_by_key_are_superseded_in_the_order_of_the_blocks(lake: Lake) -> None:
    start = lake.arrive("keyed", [("a", 1), ("b", 2), (None, 3)], 1, kind="base")
    first = lake.arrive("keyed", [("a", 10, False), (None, None, True), ("c", 4, None)], 2, 1, "replace")
    then = lake.arrive("keyed", [("a", 11, False), ("b", None, True), (None, 5, False)], 3, 2, "replace")
    assert lake.rows(lake.apply(start, first)) == bag(("a", 10), ("b", 2), ("c", 4))
    expected = bag(("a", 11), ("c", 4), (None, 5))
    assert lake.rows(lake.apply(start, first, then)) == expected
    added = lake.arrive("keyed", [("d", 6)], 4, 3)
    last = lake.arrive("keyed", [("d", 7, False)], 5, 4, "replace")
    assert lake.rows(lake.apply(start, first, then, added, last)) == expected + bag(("d", 7))


@pytest.mark.usefixtures("either")
def test_changes_of_different_kinds_lie_on_each_other_as_deep_as_they_come(lake: Lake) -> None:
    """Each reads what lies below it twice, so many of them must not be read in one go."""
    start = lake.arrive("keyed", [("a", 1), ("b", 2)], 1, kind="base")
    up = lake.arrive("keyed", [("a", 1, -1), ("a", 2, 1)], 2, 1, "delta")
    down = lake.arrive("keyed", [("a", 1, False)], 3, 2, "replace")
    content = start.content
    for _ in range(3):
        content = content.then(up.content).then(down.content)
    content = content.then(up.content)
    assert lake.rows(Stored(start.block, content)) == bag(("a", 2), ("b", 2))


def test_rows_say_when_they_arrived_where_somebody_asks(lake: Lake) -> None:
    start = lake.arrive("fetched", [("a", 1)], 10, kind="base")
    more = lake.arrive("fetched", [("a", 2), ("b", 1)], 20, 10)
    held = lake.apply(start, more)
    found = lake.store.read(lake.session, "fetched", BASE, held.content)
    assert bag_of(found.select("url", "size", "__arrival")) == bag(("a", 1, 10), ("a", 2, 20), ("b", 1, 20))
    assert lake.rows(held) == bag(("a", 1), ("a", 2), ("b", 1)), "consumers do not see it"
    folded = lake.store.fold(lake.session, "fetched", held.content, new_attempt(), {})
    again = lake.store.read(lake.session, "fetched", BASE, folded)
    assert bag_of(again.select("url", "size", "__arrival")) == bag(("a", 1, 10), ("a", 2, 20), ("b", 1, 20))


def test_nothing_but_the_contents_decides_what_is_readable(lake: Lake, base: Stored) -> None:
    """What other attempts wrote into the same table, and what was written and never recorded, is not seen."""
    seen = lake.arrive("pages", [("seen", 1)], 2, 1)
    lake.arrive("pages", [("unseen", 1)], 2, 1)
    lake.store.write_base("pages", lake.frame("pages", [("unseen", 1)]), new_attempt(), {})
    assert lake.rows(seen) == bag(("seen", 1))
    assert lake.rows(lake.apply(base, seen)) == START + bag(("seen", 1))


def test_an_attempt_never_writes_over_anything(lake: Lake) -> None:
    attempt = new_attempt()
    written = lake.store.write_base("pages", lake.frame("pages", [("a", 1)]), attempt, {})
    with pytest.raises(StoreError, match=f"attempt {attempt} made no commit, since one of that name was made before"):
        lake.store.write_base("pages", lake.frame("pages", [("b", 2)]), attempt, {})
    assert bag_of(lake.store.read(lake.session, "pages", BASE, written)) == bag(("a", 1))


def test_a_commit_says_what_was_written(lake: Lake) -> None:
    content = lake.store.write_base("pages", lake.frame("pages", [("a", 1)]), "0" * 24, {"channel": "pages", "n": [1]})
    assert content.anchor is not None
    commit = next(table.history(lake.session, lake.store.path(content.anchor.table)))
    defined = {"workflow": lake.store.workflow.name, "digest": lake.store.digests["pages"]}
    assert commit.metadata == {"attempt": "0" * 24, "channel": "pages", "n": [1], **defined}


def test_a_monotone_delta_with_deletions_is_refused(lake: Lake) -> None:
    frame = lake.frame("pages", [("a", 1, -1)], "_weight bigint")
    with pytest.raises(StoreError, match=r"pages: the delta deletes rows, which a Δ⁺ does not; its operator is wrong"):
        lake.store.write_delta("pages", MONOTONE, frame, new_attempt(), {}, "the delta")


def test_rows_with_other_columns_than_the_channel_are_refused_with_both(lake: Lake) -> None:
    with pytest.raises(SchemaError, match=r"struct<url:string,size:int>, but was now given struct<url:string>"):
        lake.store.write_base("pages", lake.frame("pages", [("a", 1)]).select("url"), new_attempt(), {})
