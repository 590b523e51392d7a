"""Identity: which catalog a home belongs to, so that two engines with different catalogs cannot both write there.

    <home>/arrivals/<workflow>/catalog.json

The file says the identity that the catalog has for the workflow. It is written when an engine first opens the home, and
anew when the catalog was rebuilt from it: an older copy that still exists somewhere is not the home's any more.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlmodel import Session, func, select

from olston import arrivals, filesystem
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, WorkflowRecord
from olston.errors import CatalogError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "catalog.json"


def new() -> str:
    """One that no other catalog has."""
    return secrets.token_hex(8)


def check(catalog: Catalog, session: SparkSession, home: str, workflow: str) -> None:
    """Let the home be that of the catalog if it is nobody's; an error if it is another's."""
    path = f"{arrivals.place(home, workflow)}/{FILE}"
    with catalog.look() as db:
        mine = _of(db, workflow)
    if mine is not None and not filesystem.exists(session, path):
        try:
            filesystem.put(session, path, _said(mine))
        except StoreError as error:
            if not filesystem.exists(session, path):
                raise
            raise _foreign(catalog, home, workflow) from error
    if filesystem.exists(session, path) and filesystem.text(session, path) != _said(mine):
        raise _foreign(catalog, home, workflow)


def mark(session: SparkSession, home: str, workflow: str) -> str:
    """Let the home be that of a catalog that is about to be rebuilt, whosever it was; returns its identity."""
    path, mine = f"{arrivals.place(home, workflow)}/{FILE}", new()
    filesystem.drop(session, path)
    filesystem.put(session, path, _said(mine))
    return mine


def check_here(catalog: Catalog, home: str, workflow: str) -> None:
    """An error if the catalog is not that of the home, or older, as far as this can be seen without Spark."""
    split = urlsplit(home)
    folder = Path(arrivals.place(split.path, workflow))
    if split.scheme not in ("", "file") or not folder.is_dir():
        return
    # before the catalog is asked: whatever has a file was catalogued first
    stamps = [int(f.stem) for f in folder.iterdir() if f.stem.isdigit() and f.suffix == ".json"]
    marked = folder / FILE
    with catalog.look() as db:
        mine = _of(db, workflow)
        known = _newest(db, workflow)
    if unknown := [stamp for stamp in stamps if stamp > known]:
        raise arrivals.lost(catalog, home, workflow, unknown, bool(known))
    if marked.exists() and marked.read_text("utf-8") != _said(mine):
        raise _foreign(catalog, home, workflow)


def _of(db: Session, workflow: str) -> str | None:
    known = db.get(WorkflowRecord, workflow)
    return None if known is None else known.identity


def _said(identity: str | None) -> str:
    return json.dumps({"identity": identity})


def _newest(db: Session, workflow: str) -> int:
    return db.exec(select(func.max(ArrivalRecord.stamp)).where(ArrivalRecord.workflow == workflow)).one() or 0


def _foreign(catalog: Catalog, home: str, workflow: str) -> CatalogError:
    with catalog.look() as db:
        force = "force=True" if _newest(db, workflow) else ""
    return CatalogError(
        f"{workflow}: {home} is the home of another catalog than {catalog.url}. Name that one, give this one a home of "
        f"its own, or rebuild it from what lies there by Engine(…).recover({force}).",
        code="CATALOG_LOST",
    )
