"""What was taken from followed sources, on SQLite and on a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from olston.block import MONOTONE
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord
from olston.content import Content
from olston.ingest import Arrived
from olston.taken import File, Found, Position, columns, keep_columns, position, restore, take
from tests.postgresql import server


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    if request.param == "sqlite":
        made = Catalog(f"sqlite:///{tmp_path}/catalog.db")
        yield made
        made.close()
    else:
        with server() as url:
            made = Catalog(url)
            yield made
            made.close()


def found(rounds: int, *paths: str, anew: bool = False) -> Found:
    wave = Arrived("s", MONOTONE, Content(), 1, f"attempt{rounds}")
    return Found("s", rounds, wave, tuple(File(p, 2**40, 1_700_000_000_000) for p in paths), anew=anew)


def test_each_round_is_taken_by_one_and_remembers_its_files(catalog: Catalog) -> None:
    with catalog.look() as db:
        assert position(db, "w", "s") == Position()
    with catalog.transaction() as db:
        assert take(db, "w", found(0, "a", "b"), "digest")
    with catalog.transaction() as db:
        assert not take(db, "w", found(0, "a", "c"), "digest")  # looked before the other took
        assert take(db, "w", found(1, "c"), "digest")
        assert take(db, "other", found(0, "a"), "digest")
    with catalog.look() as db:
        known = position(db, "w", "s")
    assert (known.rounds, known.digest, known.version, sorted(known.files)) == (2, "digest", None, ["a", "b", "c"])
    assert known.files["a"] == File("a", 2**40, 1_700_000_000_000)


def test_what_is_taken_anew_forgets_what_was_taken_before(catalog: Catalog) -> None:
    with catalog.transaction() as db:
        take(db, "w", found(0, "a", "b"), "old")
        take(db, "w", found(1, "b", "c", anew=True), "new")
    with catalog.look() as db:
        known = position(db, "w", "s")
    assert (known.digest, sorted(known.files)) == ("new", ["b", "c"])


def test_a_table_is_taken_up_to_a_version(catalog: Catalog) -> None:
    with catalog.transaction() as db:
        assert take(db, "w", Found("s", 0, None, table="id", version=2**40), "digest")
    with catalog.look() as db:
        assert position(db, "w", "s") == Position(1, "digest", "id", 2**40, {})


def test_columns_that_were_found_hold_until_the_source_is_defined_otherwise(catalog: Catalog) -> None:
    first, second = {"type": "struct", "fields": []}, {"type": "struct", "fields": [1]}
    with catalog.transaction() as db:
        assert columns(db, "w", "s", "digest") is None
        assert keep_columns(db, "w", "s", "digest", first) == first
        assert keep_columns(db, "w", "s", "digest", second) == first  # somebody else was first
    with catalog.transaction() as db:
        assert position(db, "w", "s").rounds == 0
        assert columns(db, "w", "s", "digest") == first
        assert columns(db, "w", "s", "other") is None
        assert keep_columns(db, "w", "s", "other", second) == second


def test_how_far_a_source_was_taken_is_known_again_from_what_its_arrivals_say(catalog: Catalog) -> None:
    """Whatever was in the catalog: what was taken anew counts from there, and what was offered by hand is no round."""
    rounds = [found(0, "a", "b"), None, found(1, "c"), found(2, "b", "d", anew=True), found(3, "e")]
    said = [
        ArrivalRecord(
            workflow="w", channel="s", stamp=i, offered_at=i, block=f"b{i}", taken=f.told("digest") if f else None
        )
        for i, f in enumerate(rounds, 1)
    ]
    with catalog.transaction() as db:
        take(db, "w", found(0, "x"), "other")
    with catalog.transaction() as db:
        restore(db, "w", said)
    with catalog.look() as db:
        known = position(db, "w", "s")
    assert (known.rounds, known.digest, sorted(known.files)) == (4, "digest", ["b", "d", "e"])
    with catalog.transaction() as db:
        restore(db, "w", said[:1])
        restore(db, "v", [])
    with catalog.look() as db:
        assert sorted(position(db, "w", "s").files) == ["a", "b"]
