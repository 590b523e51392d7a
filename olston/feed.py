"""Feeds: an output handed over as blocks of the kinds a consumer accepts, in order (DESIGN 4).

A feed is a Delta table of what was delivered, one row and one commit for each block, numbered like the deliveries
to a published table. The blocks themselves stay where they are. A consumer keeps a cursor, the number of the last
block it took.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston import table
from olston.block import Block, fits, is_strong, is_weak
from olston.content import Content
from olston.errors import OlstonError, StoreError
from olston.failure import failed, raise_if_full
from olston.operators import bag
from olston.operators.columns import View, see
from olston.provenance import Provenance
from olston.report import called, reached
from olston.step import Stored
from olston.store import Store, folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_COLUMNS = (
    "number bigint, kind string, source string, target string, content string, held string, block string, "
    "relaxed boolean, digest string, now bigint, delivered_at bigint"
)


@dataclass(frozen=True)
class Fed:
    """Block number `number` of a feed; with it the consumer holds `content`.

    `digest` is that of the definition it was made by, `now` that of the plan, `delivered_at` by the clock.
    """

    number: int
    stored: Stored
    content: Provenance
    digest: str = ""
    now: int = 0
    delivered_at: int = 0


class Feed:
    """The feed of one output."""

    def __init__(self, store: Store, output: str) -> None:
        self._store, self._output = store, output
        self._path = store.path(f"feeds/{folder(output)}")
        self._series = f"olston:{store.workflow.name}:{output}"
        accepted = store.workflow.outputs[output].accepts
        hidden = any(w.kind in accepted and not w.plain for w in store.workflow.channels[output].weak)
        self._view = View.STORED if hidden else View.PUBLIC

    @property
    def place(self) -> str:
        """Where it lies."""
        return self._path

    def last(self, session: SparkSession) -> int:
        """The number of the last block delivered, 0 before the first."""
        return table.last_number(session, self._path, self._series) if table.exists(session, self._path) else 0

    def deliver(
        self,
        session: SparkSession,
        stored: Stored,
        content: Provenance,
        number: int,
        attempt: str,
        digest: str = "",
        said: Mapping[str, int] | None = None,
    ) -> Fed:
        """Add a block as delivery `number`. Fails without a trace if another delivery has that number."""
        block, accepted = stored.block, self._store.workflow.outputs[self._output].accepts
        if not any(fits(block.kind, kind) for kind in accepted):
            raise StoreError(
                f"{self._output}: {called(block)} is none of what its feed accepts: "
                f"{', '.join(sorted(accepted))}; convert it."
            )
        fed = Fed(number, stored, content, digest, **(said or {}))
        row = (
            number, block.kind, _text(block.source), _text(block.target), json.dumps(stored.content.to_dict()),
            _text(content), block.id, block.relaxed, fed.digest, fed.now, fed.delivered_at,
        )  # fmt: skip
        metadata = {"output": self._output, "block": block.id}
        try:
            with table.numbered(session, self._path, self._series, number, attempt, metadata) as made:
                made.append(session.createDataFrame([row], _COLUMNS))
        except OlstonError:
            raise
        except Exception as error:
            raise_if_full(self._path, error)
            raise failed(f"{self._output}: delivery {number}, of {reached(block)}, failed", error) from error
        return fed

    def after(self, session: SparkSession, cursor: int = 0) -> Iterator[Fed]:
        """The blocks delivered after number `cursor`, in order."""
        if not table.exists(session, self._path):
            return
        found = session.read.format("delta").load(self._path).where(f"number > {int(cursor)}").orderBy("number")
        for row in found.collect():
            source = None if row["source"] is None else _provenance(row["source"])
            content = Content.from_dict(json.loads(row["content"]))
            target, rows = _provenance(row["target"]), content.rows
            block = Block(self._output, row["kind"], target, source, rows, row["relaxed"], row["block"])
            held, times = _provenance(row["held"]), (row["now"], row["delivered_at"])
            yield Fed(row["number"], Stored(block, content), held, row["digest"], *times)

    def content(self, session: SparkSession, number: int) -> Content:
        """What the consumer holds after block `number`, as a base."""
        made = Content()
        for fed in self.after(session):
            if fed.number <= number:
                given = fed.stored.content
                made = given if fed.stored.block.is_base else made.then(given)
        return made

    def rows(self, session: SparkSession, fed: Fed) -> DataFrame:
        """What a block says, in the form of its kind: a strong delta, which has a column `_weight`, is netted.

        Where a kind that is accepted cannot be applied without what is hidden, every block shows that.
        """
        block = fed.stored.block
        stored = self._store.read(session, block.channel, block.kind, fed.stored.content)
        shown = see(stored, self._view, tombstones=is_weak(block.kind))
        # rows that differ in what is hidden only cancel out
        return bag.net(shown) if is_strong(block.kind) and shown.columns != stored.columns else shown


def _text(provenance: Provenance | None) -> str | None:
    return None if provenance is None else json.dumps([sorted(e) for e in provenance])


def _provenance(text: str) -> Provenance:
    found: list[Any] = json.loads(text)
    return Provenance(frozenset(e) for e in found)
