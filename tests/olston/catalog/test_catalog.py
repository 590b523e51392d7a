"""The catalog on SQLite and on a real PostgreSQL server: the same tests."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlmodel import SQLModel, select

from olston.catalog import Catalog, beside, catalog
from olston.catalog.records import EventRecord, WorkflowRecord
from olston.errors import CatalogError


def test_a_new_catalog_has_every_table_as_declared(url: str) -> None:
    Catalog(url).close()
    with create_engine(url).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), SQLModel.metadata) == []


def test_opening_again_changes_nothing_and_finds_what_was_written(url: str) -> None:
    first = Catalog(url)
    with first.transaction() as db:
        db.merge(WorkflowRecord(name="w", planned_at=2**62))
    first.close()
    again = Catalog(url)
    with again.look() as db:
        found = db.get(WorkflowRecord, "w")
        assert found is not None
        assert found.planned_at == 2**62
    again.close()


def test_a_transaction_that_fails_leaves_nothing(url: str) -> None:
    here = Catalog(url)

    def fail() -> None:
        with here.transaction() as db:
            db.add(WorkflowRecord(name="never"))
            db.flush()
            raise CatalogError("on purpose")

    with pytest.raises(CatalogError):
        fail()
    with here.look() as db:
        assert db.get(WorkflowRecord, "never") is None
    here.close()


def test_only_what_has_to_last_waits_for_the_disk(url: str) -> None:
    here = Catalog(url)
    asked, full, less = ("PRAGMA synchronous", 2, 1) if "sqlite" in url else ("SHOW synchronous_commit", "on", "off")
    for lasting in (True, False, True):
        with here.transaction(lasting=lasting) as db:
            assert db.connection().exec_driver_sql(asked).scalar() == (full if lasting else less)
    here.close()


def test_who_looks_sees_one_moment_whatever_is_written_meanwhile(url: str) -> None:
    """Found by the soak: blocks of an arrival were seen, and the arrival, which was asked for before, was not."""
    here = Catalog(url)
    with here.look() as db:
        assert db.get(WorkflowRecord, "w") is None
        with here.transaction() as other:
            other.add(WorkflowRecord(name="w"))
        assert db.exec(select(WorkflowRecord)).all() == []
    with here.look() as db:
        assert len(db.exec(select(WorkflowRecord)).all()) == 1
    here.close()


def test_writers_take_turns_so_that_what_one_read_still_holds_when_it_writes(url: str) -> None:
    """Eight threads each take the next number twenty times: none is taken twice."""
    with Catalog(url).transaction() as db:
        db.merge(WorkflowRecord(name="counted", planned_at=0))
    taken: list[int] = []

    def take() -> None:
        mine = Catalog(url)
        for _ in range(20):
            with mine.transaction() as db:
                record = db.get(WorkflowRecord, "counted")
                assert record is not None
                record.planned_at += 1
                taken.append(record.planned_at)
        mine.close()

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(1, 161))


def test_readers_do_not_wait_for_a_writer(url: str) -> None:
    here = Catalog(url)
    with here.transaction() as db:
        db.add(EventRecord(workflow="w", kind="arrival", about={"rows": 1}, happened_at=5))
        db.flush()
        with here.look() as other:
            assert other.exec(select(EventRecord).where(EventRecord.happened_at == 5)).all() == []
    here.close()


def test_two_processes_may_open_a_new_catalog_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    failures: list[BaseException] = []

    def open_it() -> None:
        try:
            Catalog(url).close()
        except CatalogError as error:
            failures.append(error)

    threads = [threading.Thread(target=open_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_catalog_of_a_newer_olston_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/catalog.db"
    Catalog(url).close()
    with create_engine(url).begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(CatalogError, match="newer olston"):
        Catalog(url)


def test_a_database_that_is_not_there_is_named() -> None:
    with pytest.raises(CatalogError, match=r"127\.0\.0\.1:1/nowhere: cannot be opened"):
        Catalog("postgresql+psycopg://nobody@127.0.0.1:1/nowhere")


def test_the_newest_migration_is_the_one_that_is_checked_for() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(catalog.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == catalog.LATEST


def test_a_catalog_without_room_says_so_and_stays_as_it_was(tmp_path: Path) -> None:
    full = Catalog(f"sqlite:///{tmp_path}/catalog.db")

    def fill() -> None:
        with full.transaction() as db:
            db.connection().exec_driver_sql("PRAGMA max_page_count = 1")
            db.add(WorkflowRecord(name="w" * 1_000_000))

    with pytest.raises(CatalogError, match=r"catalog\.db: could not be written: .*full.*Nothing of it was written"):
        fill()
    with full.look() as db:
        assert db.get(WorkflowRecord, "w" * 1_000_000) is None
    full.close()


@pytest.mark.parametrize("folder", ["plain", "b%41", "a b", "ä#?x", "a:b"])
def test_a_catalog_lies_in_its_home_whatever_that_is_called(folder: str, tmp_path: Path) -> None:
    Catalog(beside(str(tmp_path / folder))).close()
    assert (tmp_path / folder / "catalog.db").exists()
    Catalog(beside(f"file:{tmp_path}/{folder}1")).close()
    assert (tmp_path / f"{folder}1" / "catalog.db").exists()
    Catalog(beside(f"file://{tmp_path}/{folder}2")).close()
    assert (tmp_path / f"{folder}2" / "catalog.db").exists()


def test_a_home_on_an_object_store_needs_a_catalog_elsewhere() -> None:
    with pytest.raises(CatalogError, match=r"home s3a://bucket/lake: is no folder.*catalog='postgresql"):
        beside("s3a://bucket/lake")


def test_a_password_is_not_told(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"ann:\*\*\*@127\.0\.0\.1:1/nowhere: cannot be opened") as told:
        Catalog("postgresql+psycopg://ann:s3cr3t:@127.0.0.1:1/nowhere")
    assert "s3cr3t" not in str(told.value)


def test_what_is_no_database_is_told_from_one_that_cannot_be_reached() -> None:
    for url in ("foo://bar", "nonsense"):
        with pytest.raises(CatalogError, match=f"catalog {url}: is no URL of a database.*Give sqlite:///"):
            Catalog(url)


def test_a_file_that_is_damaged_is_told_from_a_database_that_cannot_be_reached(tmp_path: Path) -> None:
    file = tmp_path / "catalog.db"
    used = Catalog(f"sqlite:///{file}")
    with used.transaction() as db:
        db.add(WorkflowRecord(name="w"))
    used._engine.dispose()
    whole = file.read_bytes()
    with file.open("r+b") as under:  # the same file, as a disk that fails would leave it
        under.seek(4096)
        under.write(b"\xa5" * (len(whole) - 4096))
    for asked in (used.look, used.transaction):
        with pytest.raises(CatalogError, match=r"(?s)is damaged: .*olston recover") as damaged, asked() as db:
            db.get(WorkflowRecord, "w")
        assert damaged.value.code == "CATALOG_LOST", "it does not mend itself, and a server must end"
    used.close()
    file.write_text("no database at all")
    with pytest.raises(CatalogError, match=r"is damaged: .*olston recover") as damaged:
        Catalog(f"sqlite:///{file}")
    assert damaged.value.code == "CATALOG_LOST"
