"""The files of a Delta table, read from the end of its log without a job.

Delta notes all files in the checksum of a version while they are few. What came since is in the commits after it, and
to read these takes a few milliseconds each, where Delta would compute the state of the whole table in several jobs.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from olston import filesystem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW = 50
"""Files up to which Delta notes all of them in a checksum, unless it is set otherwise."""
FAR = 200
"""Commits that are read at most: to read more would take as long as to let Delta compute the state."""

File = tuple[str, str | None, str | None]
"""A file as the log tells it from others: its path, and which of its rows are deleted."""


def listed(session: SparkSession, path: str, version: int, count: int) -> list[dict[str, Any]] | None:
    """What the log says of each of the `count` files that the table at `path` has at `version`.

    `None` if that takes reading far back, or if the log is not whole, or tells of another number of files.
    """
    there: dict[File, dict[str, Any]] = {}
    gone, left = set[File](), count
    for earlier in range(version, max(-1, version - FAR), -1):
        noted = _noted(session, path, earlier) if left <= FEW else None
        actions = _actions(session, path, earlier) if noted is None else [{"add": file} for file in noted]
        if actions is None:
            return None
        for action in actions:  # the newest word on a file counts, and comes first
            if "add" in action:
                left -= 1
                if (file := _file(action["add"])) not in gone:
                    there.setdefault(file, action["add"])
            elif "remove" in action:
                left += 1
                if (file := _file(action["remove"])) not in there:
                    gone.add(file)
        if noted is not None or earlier == 0:
            return list(there.values()) if len(there) == count else None
    return None


def _noted(session: SparkSession, path: str, version: int) -> list[dict[str, Any]] | None:
    """All files that the table has at a version, if its checksum lists them."""
    place = f"{path}/_delta_log/{version:020d}.crc"
    return json.loads(filesystem.text(session, place)).get("allFiles") if filesystem.exists(session, place) else None


def _actions(session: SparkSession, path: str, version: int) -> list[dict[str, Any]] | None:
    """What a commit says, unless Delta has tidied it up."""
    place = f"{path}/_delta_log/{version:020d}.json"
    if not filesystem.exists(session, place):
        return None
    return [json.loads(line) for line in filesystem.text(session, place).splitlines()]


def _file(action: dict[str, Any]) -> File:
    vector = action.get("deletionVector") or {}
    return action["path"], vector.get("pathOrInlineDv"), str(vector.get("offset"))
