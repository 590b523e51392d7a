"""What a home tells without its catalog: the blocks that commits describe, as far as each can be proved.

A commit says which block it made, by which definition, of which provenance. It counts if the definition is the present
one, every snapshot it names has arrived, and all of its files are there. Bases that are an overlay, and runs of deltas
put together, were in the catalog only; plans put them together again at no cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olston import filesystem, table
from olston.block import BASE, Block
from olston.catalog.records import BlockRecord
from olston.content import Content
from olston.errors import OlstonError
from olston.held import fits
from olston.lost import Place, gone, places
from olston.provenance import Provenance
from olston.report import called
from olston.scheduler.network import Network
from olston.state import pack
from olston.step import labelled
from olston.store import Store, anchored, changed
from olston.timeline import Timeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Survey:
    """What was found so far. `newest` is the newest stamp, or `now` of a plan, that anything names."""

    store: Store
    network: Network
    timelines: Mapping[str, Timeline]
    newest: int = 0
    ignored: list[tuple[str, str]] = field(default_factory=list)

    def blocks(self, session: SparkSession, arrived: Iterable[str], clock: int) -> list[BlockRecord]:
        """The derived blocks that can be proved, the newest where one was made twice.

        `arrived` are the attempts by which what arrived was written.
        """
        known, found = set(arrived), dict[object, BlockRecord]()
        described = list(self._described(session, known))
        missing = gone(self.store, session, {p for _, content, _ in described for p in places(content)})
        for block, content, said in sorted(described, key=lambda d: str(d[0].id)):
            if self._is_there(block, content, missing):
                found[block.key] = self._record(block, content, said, clock)
        return list(found.values())

    def _described(
        self, session: SparkSession, arrived: set[str]
    ) -> Iterator[tuple[Block, Content, Mapping[str, Any]]]:
        for channel in self.store.workflow.channels:
            for name, commit in _commits(self.store, session, channel):
                said = commit.metadata
                if said.get("workflow") != self.store.workflow.name or "attempt" not in said:
                    continue
                self.newest = max(self.newest, said.get("now", 0))
                if "arrival" in said:
                    if said["attempt"] not in arrived:
                        self.ignored.append(
                            (f"a wave of {channel}, {said['attempt']}", "it never arrived, or was let go")
                        )
                    continue
                if said["attempt"] in arrived:  # a base that stands for what was let go
                    continue
                if "target" not in said:
                    self.ignored.append((f"{channel}, {said['attempt']}", "it does not say which block it is"))
                    continue
                try:
                    found = self._block(channel, name, commit)
                except OlstonError as error:
                    self.ignored.append((f"{channel}, {said['attempt']}", str(error)))
                    continue
                if found is not None:
                    yield *found, said

    def _block(self, channel: str, name: str, commit: table.Commit) -> tuple[Block, Content] | None:
        said, inputs = commit.metadata, self.network.inputs[channel]
        source = None if said["source"] is None else Provenance(map(frozenset, said["source"]))
        target = Provenance(map(frozenset, said["target"]))
        self.newest = max(self.newest, *(int(s) for p in (source, target) if p is not None for e in p for s in e), 0)
        planned = Block(channel, said["kind"], target, source, commit.rows, said["relaxed"], said["block"])
        if said.get("digest") != self.store.digests[channel]:
            self.ignored.append((called(planned), "it was made by another definition"))
            return None
        if not all(fits(p, self.timelines, inputs) for p in (source, target) if p is not None):
            self.ignored.append((called(planned), "it reflects a snapshot that is not known to have arrived"))
            return None
        if planned.kind == BASE:
            return planned, anchored(name, said["attempt"], commit)
        label = labelled(planned, said["producer"])
        kind, content = changed(channel, name, said["attempt"], planned.kind, commit, label)
        return Block(channel, kind, target, source, commit.rows, planned.relaxed, planned.id), content

    def _is_there(self, block: Block, content: Content, missing: set[Place]) -> bool:
        lost = [p for p in places(content) if p in missing]
        for p in lost:
            self.ignored.append((f"{called(block)} ({self.store.path(p.table)}, {p.attempt})", "its files are gone"))
        return not lost

    def _record(self, block: Block, content: Content, said: Mapping[str, Any], clock: int) -> BlockRecord:
        inputs = self.network.inputs[block.channel]
        return BlockRecord(
            id=block.id,
            workflow=self.store.workflow.name,
            channel=block.channel,
            kind=block.kind,
            source=None if block.source is None else pack(self.timelines, inputs, block.source),
            target=pack(self.timelines, inputs, block.target),
            rows=block.rows,
            relaxed=block.relaxed,
            content=content.to_dict(),
            producer=said["producer"],
            digest=said["digest"],
            made_at=said.get("made_at", clock),
        )


def _commits(store: Store, session: SparkSession, channel: str) -> Iterator[tuple[str, table.Commit]]:
    """The commits to the tables of a channel, as far back as their logs go."""
    place = store.place(channel)
    for name in filesystem.folders(session, store.path(place)):
        inner = filesystem.folders(session, store.path(f"{place}/{name}")) if name == "anchors" else [""]
        for found in (f"{place}/{name}/{i}".rstrip("/") for i in inner):
            if table.exists(session, store.path(found)):
                yield from ((found, commit) for commit in table.history(session, store.path(found)))
