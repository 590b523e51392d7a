"""Dropping the files of blocks that left planning, and of attempts that came to nothing (DESIGN 4)."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olston import table
from olston.attempt import made_at
from olston.operators.columns import BLOCK, col
from olston.store import Store, folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = 24 * 3600.0


@dataclass(frozen=True)
class Vacuumed:
    """What was dropped: attempts by channel."""

    channel: str
    attempt: str


def vacuum(
    store: Store, session: SparkSession, keep: Collection[str], *, older_than: float = DAY, dry_run: bool = False
) -> list[Vacuumed]:
    """Drop what no attempt of `keep` wrote, if it was begun more than `older_than` seconds ago.

    Younger attempts are spared, since some scheduler may still be writing them.
    """
    before = time.time() - older_than
    kept = set(keep)

    def dead(attempt: str) -> bool:
        return attempt not in kept and made_at(attempt) < before

    dropped = []
    for channel in store.workflow.channels:
        place = store.path(folder(channel))
        for attempt in filter(dead, table.folders(session, f"{place}/anchors")):
            if not dry_run:
                table.drop(session, f"{place}/anchors/{attempt}")
            dropped.append(Vacuumed(channel, attempt))
        for path in _tables_of_deltas(session, place):
            gone = sorted(filter(dead, _attempts(session, path)))
            if gone and not dry_run:
                _drop_blocks(session, path, gone, older_than)
            dropped += [Vacuumed(channel, attempt) for attempt in gone]
    return dropped


def _tables_of_deltas(session: SparkSession, place: str) -> Iterator[str]:
    for name in table.folders(session, place):
        if name != "anchors" and table.exists(session, f"{place}/{name}"):
            yield f"{place}/{name}"


def _attempts(session: SparkSession, path: str) -> list[str]:
    blocks = session.read.format("delta").load(path).select(col(BLOCK)).distinct()
    return [row[0] for row in blocks.collect()]


def _drop_blocks(session: SparkSession, path: str, attempts: list[str], older_than: float) -> None:
    from delta.tables import DeltaTable

    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    blocks = DeltaTable.forPath(session, path)
    blocks.delete(col(BLOCK).isin(attempts))
    session.conf.set(check, "false")  # what nobody names is not read, so no reader needs the week that Delta keeps
    try:
        blocks.vacuum(older_than / 3600)
    finally:
        session.conf.unset(check)
