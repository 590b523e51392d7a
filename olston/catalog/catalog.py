"""The catalog of one or more workflows, on SQLite beside the tables or on any database that SQLAlchemy speaks to.

Everything that must hold together is written in one transaction, and there is one that writes at a time, so that what
it reads cannot change under it: SQLite is told so when it begins, PostgreSQL by a lock that ends with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, inspect, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError, OperationalError
from sqlmodel import Session

from olston.errors import CatalogError

_LOCK = 0x6F6C73746F6E
LATEST = "0011"
"""The newest migration; a test checks that it is."""


class Catalog:
    """A database, brought up to date when it is opened."""

    def __init__(self, url: str) -> None:
        self.url, self._closed = re.sub(r"(?<=://)([^/@:]*):[^@]*@", r"\1:***@", url), False
        """Where it is, without the password: errors and logs say it."""
        try:
            self._engine = _engine(url)
            self._bring_up_to_date()
            self._file = _file(url)
            self._identity = _identity(self._file)
        except CatalogError:
            raise
        except (ArgumentError, NoSuchModuleError, ModuleNotFoundError) as error:
            raise CatalogError(
                f"catalog {self.url}: is no URL of a database that can be used here: {_first_line(error)}. Give "
                "sqlite:///folder/catalog.db, or postgresql+psycopg://user@host/olston."
            ) from error
        except Exception as error:
            self._raise_if_damaged(error)
            raise CatalogError(
                f"catalog {self.url}: cannot be opened: {_first_line(error)}. Check that the database runs and may be "
                "written."
            ) from error

    @contextmanager
    def transaction(self, *, lasting: bool = True) -> Iterator[Session]:
        """All of it or nothing, and nobody else writes meanwhile.

        What is `lasting` survives a loss of power, with all that was written before; the rest survives the end of any
        process, and does not wait for the disk. What would be found out or done again need not last.
        """
        self._refuse_gone()
        try:
            with Session(self._engine, expire_on_commit=False) as session, session.begin():
                # it begins here, before anything else is locked
                connection = session.connection(execution_options={"olston_lasting": lasting})
                if self._engine.dialect.name == "postgresql":
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                    if not lasting:
                        connection.exec_driver_sql("SET LOCAL synchronous_commit TO off")
                yield session
        except OperationalError as error:
            raise CatalogError(
                f"catalog {self.url}: could not be written: {_first_line(error.orig or error)}. Nothing of it was "
                "written; see that the database runs and has room, and run again."
            ) from error
        except DatabaseError as error:
            self._raise_if_damaged(error)
            raise

    @contextmanager
    def look(self) -> Iterator[Session]:
        """Reading only: waits for nobody, and sees the catalog as it was at one moment."""
        self._refuse_gone()
        one_moment = {"isolation_level": "REPEATABLE READ"}
        options = {"olston_reads": True} if self._engine.dialect.name == "sqlite" else one_moment
        try:
            with Session(self._engine, expire_on_commit=False) as session:
                session.connection(execution_options=options)
                yield session
        except OperationalError as error:
            raise CatalogError(
                f"catalog {self.url}: could not be read: {_first_line(error.orig or error)}. See that the database "
                "runs, and run again."
            ) from error
        except DatabaseError as error:
            self._raise_if_damaged(error)
            raise

    def _raise_if_damaged(self, error: Exception) -> None:
        """An error that says so if a file of SQLite is none any more, which does not mend itself."""
        if type(error) is DatabaseError and self.url.startswith("sqlite"):  # the others of its kind are subclasses
            raise CatalogError(
                f"catalog {self.url}: its file is damaged: {_first_line(error.orig or error)}. Bring back a copy, or "
                "move it away, with those beside it that end in -wal and -shm, and rebuild it from what lies in the "
                "home by `olston recover`.",
                code="CATALOG_LOST",
            ) from error

    def close(self) -> None:
        """Let go of the database. Nothing is read or written after that."""
        self._closed = True
        self._engine.dispose()

    def _refuse_gone(self) -> None:
        """An error if it was closed, or its file deleted, which could be read and written for as long as it is open."""
        if self._closed:
            raise CatalogError(f"catalog {self.url}: was closed; open it again, by a new Engine(…).")
        if _identity(self._file) != self._identity:
            raise CatalogError(
                f"catalog {self.url}: its file was deleted, or replaced by another, while it was in use. Bring it "
                "back, or rebuild it from what lies in the home by `olston recover`; then start again.",
                code="CATALOG_LOST",
            )

    def _bring_up_to_date(self) -> None:
        with self._engine.connect() as connection:
            there = inspect(connection).has_table("alembic_version")
            if there:
                found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
                if found == LATEST:
                    return
                if found is not None and found > LATEST:
                    raise CatalogError(
                        f"catalog {self.url}: was made by a newer olston (its version is {found}, ours {LATEST}); "
                        "upgrade olston."
                    )
        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        with self._engine.begin() as connection:
            if self._engine.dialect.name == "postgresql":
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


def beside(home: str) -> str:
    """The URL of a SQLite catalog in `home`, which must be a folder of this machine."""
    scheme, colon, rest = home.partition(":")
    if colon and scheme != "file" and re.fullmatch(r"[a-z][a-z0-9+.-]+", scheme):
        raise CatalogError(
            f"home {home}: is no folder of this machine, so its catalog must lie elsewhere; give "
            "catalog='postgresql+psycopg://user@host/olston', or catalog='sqlite:///folder/catalog.db'."
        )
    folder = re.sub(r"^//(?=/)", "", rest) if scheme == "file" and colon else home
    return URL.create("sqlite", database=f"{folder}/catalog.db").render_as_string()


def _file(url: str) -> Path | None:
    """The file of a SQLite database."""
    path = make_url(url).database if url.startswith("sqlite") else None
    return Path(path) if path and path != ":memory:" else None


def _identity(file: Path | None) -> tuple[int, int] | None:
    """Which file it is, whatever is written to it; none if it is not there."""
    with suppress(FileNotFoundError):
        found = None if file is None else file.stat()
        return None if found is None else (found.st_dev, found.st_ino)
    return None


def _engine(url: str) -> Engine:
    if not url.startswith("sqlite"):
        return create_engine(url, pool_pre_ping=True)
    if (file := _file(url)) is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
    made = create_engine(url, connect_args={"timeout": 60})

    @event.listens_for(made, "connect")
    def configure(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, not by the driver
        connection.execute("PRAGMA journal_mode=WAL")

    @event.listens_for(made, "begin")
    def begin(connection: Any) -> None:
        options = connection.get_execution_options()
        if not options.get("olston_reads"):
            lasting = options.get("olston_lasting", True)
            connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if lasting else 'NORMAL'}")
        connection.exec_driver_sql("BEGIN" if options.get("olston_reads") else "BEGIN IMMEDIATE")

    return made
