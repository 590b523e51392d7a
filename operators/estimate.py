"""What an invocation is expected to do: rows read, shuffled and written.

An operator estimates its work from the sizes of its operands and the statistics of its widget; a cost
model (`olston.scheduler.cost`) turns work into cost. Both are priors until runs were recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from olston.block import BASE, MONOTONE, Block

TASKS = 4
"""Tasks that each meet most of the groups; of fewer rows than that many times the groups, all are shuffled."""


@dataclass(slots=True)
class Work:
    """Rows read from bases and from deltas, rows shuffled, and rows written to each result.

    `overlay` is what reading bases with an overlay costs beyond that, in rows; see `olston.content`. `starts` is how
    many times as long as a plain step it takes to start, however few the rows are.
    """

    base: float = 0.0
    delta: float = 0.0
    shuffled: float = 0.0
    written: tuple[float, ...] = (0.0,)
    overlay: float = 0.0
    starts: float = 1.0

    @classmethod
    def of_each(cls, operands: Sequence[Block], shuffled: float, written: tuple[float, ...]) -> Work:
        """Every row of `operands` is read once; those that are only added as plainly as those of a base."""
        rows = sum(b.rows for b in operands)
        plain = sum(b.rows for b in operands if b.kind in (BASE, MONOTONE))
        return cls(plain, rows - plain, shuffled, written)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the data that a widget makes.

    `rows`: rows out per row in (of a join: per row on the left). `shares`: the same per output of a split.
    `groups`: how many distinct groups or keys there are altogether; the number seen saturates there.
    `keys`: distinct join keys on the right. `growth`: net rows per row of a delta with deletions.
    `limit`: at most so many rows (top-k).
    """

    rows: float = 1.0
    shares: tuple[float, ...] = ()
    groups: float | None = None
    keys: float | None = None
    growth: float = 0.0
    limit: float | None = None

    def out(self, rows: float) -> float:
        """Rows made from `rows` rows by a stateless function."""
        made = rows * self.rows
        return made if self.limit is None else min(made, self.limit)

    def distinct(self, rows: float) -> float:
        """Groups met in `rows` rows: `G (1 − e^(−n/G))`, the expectation for rows that fall at random."""
        met = rows * self.rows
        return met if self.groups is None else self.groups * (1 - exp(-met / self.groups))

    def combined(self, rows: float) -> float:
        """What is left to shuffle of `rows` to be grouped, once every task has put together those of a group it met."""
        return min(rows, TASKS * self.distinct(rows))

    def known(self, base: float) -> float:
        """The part of the groups met next that a base of `base` rows has already."""
        return 0.5 if self.groups is None else min(1.0, base / self.groups)


UNKNOWN = Statistics()
