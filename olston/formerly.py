"""Pathways as they were: what was made by a definition is told by its pathways, not by those of another.

The catalog knows the definition that something was last done by. Of older ones it knows no more than the digests.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session, select

from olston.catalog.records import ChannelRecord
from olston.pathway import Pathway, pathways_of


def pathways(db: Session, workflow: str, channel: str, digest: str) -> tuple[Pathway, ...]:
    """The pathways that `channel` had by the definition of that digest; none if the catalog does not know it."""
    known = {r.name: r for r in db.exec(select(ChannelRecord).where(ChannelRecord.workflow == workflow))}
    if channel not in known or known[channel].digest != digest:
        return ()
    return _pathways({name: r.definition for name, r in known.items() if r.definition is not None}, channel)


def _pathways(definitions: Mapping[str, Mapping[str, Any]], channel: str) -> tuple[Pathway, ...]:
    said = definitions.get(channel)
    if said is None:
        return ()
    if said["is"] == "source":
        return (Pathway(0, channel, channel, ()),)
    parents = [(name, _pathways(definitions, name)) for name in said["inputs"]]
    return pathways_of(channel, parents) if all(ways for _, ways in parents) else ()
