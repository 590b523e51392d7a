"""Pathways as they were: what was made by a definition is told by its pathways, not by those of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlmodel import Session

from olston.catalog.records import PathwaysRecord
from olston.pathway import Pathway

if TYPE_CHECKING:
    from olston.channel import Channel


def remember(db: Session, workflow: str, channel: Channel, digest: str) -> None:
    """Let the catalog know the pathways that `channel` has by the definition of that digest."""
    if db.get(PathwaysRecord, (workflow, channel.name, digest)) is None:
        said = [[p.index, p.name, p.input, list(p.through)] for p in channel.pathways]
        db.add(PathwaysRecord(workflow=workflow, channel=channel.name, digest=digest, pathways=said))


def pathways(db: Session, workflow: str, channel: str, digest: str) -> tuple[Pathway, ...]:
    """The pathways that `channel` had by the definition of that digest; none if the catalog does not know it."""
    known = db.get(PathwaysRecord, (workflow, channel, digest))
    said = [] if known is None else known.pathways
    return tuple(Pathway(index, name, source, tuple(through)) for index, name, source, through in said)
