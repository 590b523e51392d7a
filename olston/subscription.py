"""What the consumer of a feed takes: blocks in order, after a cursor (DESIGN 4).

A consumer keeps its cursor, the number of the last block it took, beside what it made of the blocks, or lets the
catalog keep it under a name: what was given and not acknowledged is given again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from olston.block import Block
from olston.catalog import Catalog
from olston.catalog.records import CursorRecord
from olston.errors import StoreError
from olston.feed import Feed
from olston.provenance import Provenance

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Given:
    """Block `number` of a feed, with its rows in the form of its kind; with it the consumer holds `content`."""

    number: int
    block: Block
    content: Provenance
    rows: DataFrame = field(repr=False, compare=False)


class Subscription:
    """The feed of one output, for whoever takes it."""

    def __init__(self, feed: Feed, session: SparkSession, catalog: Catalog, workflow: str, output: str) -> None:
        self._feed, self._session, self._catalog = feed, session, catalog
        self._workflow, self._output = workflow, output

    def after(self, cursor: int | str = 0) -> Iterator[Given]:
        """The blocks after number `cursor`, in order; a text names a consumer, and means its `cursor`."""
        number = self.cursor(cursor) if isinstance(cursor, str) else cursor
        for fed in self._feed.after(self._session, number):
            yield Given(fed.number, fed.stored.block, fed.content, self._feed.rows(self._session, fed))

    def cursor(self, consumer: str) -> int:
        """The number of the last block that `consumer` has acknowledged, 0 before the first."""
        with self._catalog.look() as db:
            known = db.get(CursorRecord, (self._workflow, self._output, consumer))
            return known.number if known else 0

    def acknowledge(self, consumer: str, number: int) -> None:
        """`consumer` has taken all up to `number`, and need not be given them again.

        A number that was not delivered yet is refused: the blocks up to it would never be given.
        """
        last = self._feed.last(self._session)
        if number > last:
            raise StoreError(
                f"{self._output}: consumer {consumer!r} acknowledges block {number}, and the last of its feed is "
                f"{last}; acknowledge the number of a block that was given."
            )
        with self._catalog.transaction() as db:
            known = db.get(CursorRecord, (self._workflow, self._output, consumer))
            if known is None:
                known = CursorRecord(workflow=self._workflow, output=self._output, consumer=consumer, number=0)
                db.add(known)
            known.number = max(known.number, number)
