"""The ways to hand a block to a consumer, each with its price (DESIGN 4).

A base takes the place of what a table holds, and rows that are only added are appended. A delta with deletions is
brought to a table by a MERGE that only changes and deletes, by one that also inserts, or by rewriting the table without
what changed; rows that supersede all of their keys also by marking those as deleted, and appending. Of the ways that
the data allow the one is taken that is cheapest for the size of the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from olston.block import BASE, MONOTONE, Block, Kind
from olston.content import MANY, is_little
from olston.operators.estimate import Work
from olston.provenance import Provenance
from olston.scheduler.cost import CostModel, Rates

Way: TypeAlias = Literal["overwrite", "append", "supersede", "merge", "upsert", "rewrite", "feed"]

OVERWRITE: Way = "overwrite"
APPEND: Way = "append"
SUPERSEDE: Way = "supersede"
MERGE: Way = "merge"
UPSERT: Way = "upsert"
REWRITE: Way = "rewrite"
FEED: Way = "feed"
REWRITE_LITTLE = "rewrite little"
"""What rewriting a table is called, as to how long it takes to start, that is so small that one task counts it."""

CHANGING: tuple[Way, ...] = (MERGE, UPSERT, REWRITE)
"""How a delta with deletions can be brought to a table: what allows one of these also allows those after it."""
MOST_KEYS = 20_000
"""Keys whose rows are looked for by value, in every row of a table; to send more along with a query takes its time."""
AGAIN = 16
"""What the data allow is looked for at every so many deliveries although the last look found that it would not pay."""


class DeliveryPriced:
    """The price of handing blocks to the consumer of `output`: that of the cheapest way.

    `held` is about how many rows the table has, `allows` what was possible when a delta with deletions was last looked
    at, `supersedes` whether rows could be superseded when that was last tried. `replacing` are the kinds by which rows
    supersede those of their keys, and of each whether a key has one row.
    """

    __slots__ = ("_model", "_rates", "allows", "feed", "held", "keyed", "output", "replacing", "supersedes")

    def __init__(
        self,
        output: str,
        model: CostModel,
        *,
        keyed: bool = False,
        feed: bool = False,
        replacing: Mapping[Kind, bool] | None = None,
    ) -> None:
        self.output, self.keyed, self.feed, self.replacing = output, keyed, feed, replacing or {}
        self.stand(0.0, None)
        self.follow(model)

    def __call__(self, block: Block) -> float:
        return min(self.cost(block, way) for way in self._possible(block))

    def ways(self, block: Block, *, afresh: bool = False) -> tuple[Way, ...]:
        """The ways to hand over `block`, the cheapest first; `afresh` also those that the last look did not allow."""
        possible = self._possible(block, afresh=afresh)
        return tuple(sorted(possible, key=lambda way: self.cost(block, way)))

    def cost(self, block: Block, way: Way) -> float:
        return self.rates(way).cost(self.work(block, way))

    def lines(self, channel: str, kind: Kind) -> list[tuple[float, float, float]]:
        """Of each way to hand over a block of `kind`: its cost, and that of a row and of a row of overlay more."""

        def cost(way: Way, rows: float, overlay: float) -> float:
            return self.cost(Block.planned((channel, kind, None, Provenance.at(1)), rows, True, overlay), way)

        ways = self._possible(Block.planned((channel, kind, None, Provenance.at(1)), 0, True))
        bare = [(way, cost(way, 0, 0)) for way in ways]
        return [(c, (cost(w, MANY, 0) - c) / MANY, (cost(w, 0, 1e6) - c) / 1e6) for w, c in bare]

    def rates(self, way: Way) -> Rates:
        found = self._rates.get(way)
        if found is None:
            found = self._rates[way] = self._model.delivering(self.output, way)
        return found

    def work(self, block: Block, way: Way) -> Work:
        """What is to be done to hand over `block`; MERGEs look at what the table has of the keys before.

        Superseding reads one column of the table, and of the block one before the rest.
        """
        rows, held, starts = block.rows, self.held, self._model.starting(way)
        if way == OVERWRITE:
            return Work(base=rows, written=(rows,), overlay=block.overlay, starts=starts)
        if way == SUPERSEDE:
            return Work(base=held, delta=rows, written=(rows,), starts=starts)
        many = held * (rows > MANY)  # the table is shuffled then, for a MERGE once more, to look
        if way == MERGE:
            return Work(base=3 * held, delta=rows, shuffled=7 * many, written=(rows,), starts=starts)
        if way == UPSERT:
            return Work(base=3 * held, delta=rows, shuffled=held + 7 * many, written=(rows,), starts=starts)
        if way == REWRITE:
            starts = self._model.starting(REWRITE_LITTLE) if is_little(held, 0) else starts
            return Work(base=2 * held, delta=rows, shuffled=6 * many, written=(held + rows,), starts=starts)
        # rows that are only added are read as plainly as those of a base
        return Work(base=rows, written=(rows,), starts=starts) if way == APPEND else Work(starts=starts)

    def stand(self, held: float, allows: str | None, supersedes: bool | None = None) -> None:
        """Take it that the table has `held` rows, and that its data allow what they did when last looked at."""
        self.held, self.supersedes = held, supersedes is not False
        self.allows = next((way for way in CHANGING if way == allows), MERGE)

    def follow(self, model: CostModel) -> None:
        """Take the rates of `model` from now on."""
        self._model = model
        self._rates: dict[Way, Rates] = {}

    def _possible(self, block: Block, *, afresh: bool = False) -> tuple[Way, ...]:
        if self.feed:
            return (FEED,)
        if block.kind == BASE:
            return (OVERWRITE,)
        if block.kind == MONOTONE:
            return (APPEND,)
        changing = CHANGING[CHANGING.index(MERGE if afresh else self.allows) :] if self.keyed else (REWRITE,)
        unique = self.replacing.get(block.kind)
        few = unique is not None and not (unique and block.rows > MOST_KEYS)
        return (SUPERSEDE, *changing) if few and (afresh or self.supersedes) else changing
