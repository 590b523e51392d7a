"""Identity: which catalog a home belongs to, so that two engines with different catalogs cannot both write there.

    <home>/arrivals/<workflow>/catalog

The file says the identity that the catalog has for the workflow. It is written when an engine first opens the home, and
anew when the catalog was rebuilt from it: an older copy that still exists somewhere is not the home's any more.
"""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from sqlmodel import Session, func, select

from olston import arrivals, filesystem
from olston.catalog import Catalog
from olston.catalog.records import ArrivalRecord, WorkflowRecord
from olston.errors import CatalogError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILE = "catalog"


def new() -> str:
    """One that no other catalog has."""
    return secrets.token_hex(8)


def check(catalog: Catalog, session: SparkSession, home: str, workflow: str) -> None:
    """An error if the home is that of another catalog."""
    with catalog.look() as db:
        mine = _of(db, workflow)
    marked = _marked(session, home, workflow)
    if marked is not None and marked != _said(mine):
        raise _foreign(catalog, home, workflow)


def claim(catalog: Catalog, session: SparkSession, home: str, workflow: str) -> None:
    """Let the home be that of the catalog if it is nobody's; an error if it is another's."""
    with catalog.look() as db:
        mine = _of(db, workflow)
    if mine is not None and _marked(session, home, workflow) is None:
        with suppress(Exception):  # another was faster; or the arrival's own file cannot be written either, and says so
            filesystem.put(session, _path(home, workflow), _said(mine))
    check(catalog, session, home, workflow)


def refuse_strange(catalog: Catalog, session: SparkSession, home: str, workflow: str) -> None:
    """An error if the catalog knows of arrivals, and there is nothing in the home."""
    with catalog.look() as db:
        known = _newest(db, workflow)
    place = arrivals.place(home, workflow)
    if known and _marked(session, home, workflow) is None and not arrivals.stamps(session, place):
        raise CatalogError(
            f"{workflow}: nothing of what the catalog {catalog.url} knows lies in {home}. Is that the right home? If "
            f"all that was there is lost, empty the catalog too by {arrivals.rebuilding(True)}.",
            code="HOME_EMPTY",
        )


def mark(session: SparkSession, home: str, workflow: str, mine: str) -> None:
    """Let the home be that of the catalog with the identity `mine`, whosever it was."""
    path = _path(home, workflow)
    filesystem.drop(session, path)
    filesystem.put(session, path, _said(mine))


def check_here(catalog: Catalog, home: str, workflow: str, *, marks_only: bool) -> None:
    """An error if the catalog is not that of the home, as far as this can be seen without Spark.

    Also if it is older, unless `marks_only` are looked at.
    """
    folder = _here(arrivals.place(home, workflow))
    if folder is None or not folder.is_dir():
        return
    # before the catalog is asked: whatever has a file was catalogued first
    names = () if marks_only else folder.iterdir()
    stamps = [int(f.stem) for f in names if f.stem.isdigit() and f.suffix == ".json"]
    marked = _read(folder / FILE)
    with catalog.look() as db:
        mine, known = _of(db, workflow), _newest(db, workflow)
    if unknown := [stamp for stamp in stamps if stamp > known]:
        raise arrivals.lost(catalog, home, workflow, unknown, bool(known))
    if marked is not None and marked != _said(mine):
        raise _foreign(catalog, home, workflow)


def _path(home: str, workflow: str) -> str:
    return f"{arrivals.place(home, workflow)}/{FILE}"


def _marked(session: SparkSession, home: str, workflow: str) -> str | None:
    """What the file says, if there is one."""
    path = _path(home, workflow)
    here = _here(path)
    if here is not None:
        return _read(here)
    return filesystem.text(session, path) if filesystem.exists(session, path) else None


def _here(path: str) -> Path | None:
    """A path of this machine."""
    split = urlsplit(path)
    return Path(split.path) if split.scheme in ("", "file") else None


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.exists() else None


def _of(db: Session, workflow: str) -> str | None:
    known = db.get(WorkflowRecord, workflow)
    return None if known is None else known.identity


def _said(identity: str | None) -> str:
    return json.dumps({"identity": identity})


def _newest(db: Session, workflow: str) -> int:
    return db.exec(select(func.max(ArrivalRecord.stamp)).where(ArrivalRecord.workflow == workflow)).one() or 0


def _foreign(catalog: Catalog, home: str, workflow: str) -> CatalogError:
    with catalog.look() as db:
        knows = bool(_newest(db, workflow))
    return CatalogError(
        f"{workflow}: {home} is the home of another catalog than {catalog.url}. Name that one, give this one a home of "
        f"its own, or rebuild it from what lies there by {arrivals.rebuilding(knows)}.",
        code="CATALOG_LOST",
    )
