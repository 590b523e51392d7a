"""Dropping the files of blocks that left planning, and of attempts that came to nothing (DESIGN 4)."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from olston import filesystem, table
from olston.attempt import is_attempt, made_at
from olston.faults import point
from olston.operators.columns import BLOCK, col
from olston.store import BLOCKS, Store, folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY = 24 * 3600.0
_PARTITION = f"{BLOCK}="
"""How the folder of a block in a table of deltas begins."""


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

    def dead(name: str) -> bool:
        attempt = name.removeprefix(_PARTITION)
        return is_attempt(attempt) and attempt not in kept and made_at(attempt) < before

    dropped = []
    known = {folder(channel): channel for channel in store.workflow.channels}
    for channel_folder in filesystem.folders(session, store.path(BLOCKS)):  # also of channels that are no more
        channel, place = known.get(channel_folder, channel_folder), store.path(f"{BLOCKS}/{channel_folder}")
        for name in filesystem.folders(session, place):
            path = f"{place}/{name}"
            gone = list(filter(dead, filesystem.folders(session, path)))
            attempts = [g.removeprefix(_PARTITION) for g in gone]
            if gone and not dry_run:
                if name != "anchors" and table.exists(session, path):
                    if not _forget(session, path, attempts):
                        continue
                    point("vacuum-forgotten")
                for old in gone:
                    filesystem.drop(session, f"{path}/{old}")
            dropped += [Vacuumed(channel, attempt) for attempt in attempts]
    return dropped


def _forget(session: SparkSession, path: str, attempts: list[str]) -> bool:
    """Take the blocks of `attempts` out of a table of deltas; false if somebody else is about to.

    Delta would keep their files, for readers of old versions, but what nobody names is not read.
    """
    from delta.exceptions import DeltaConcurrentModificationException
    from delta.tables import DeltaTable

    try:
        DeltaTable.forPath(session, path).delete(col(BLOCK).isin(attempts))
    except DeltaConcurrentModificationException:
        return False
    return True
