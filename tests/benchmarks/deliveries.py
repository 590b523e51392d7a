"""What it costs to bring changes to a published table in each of the ways there are; part of `operators.py`."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import olston as ol
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, MONOTONE, Block
from olston.content import is_little
from olston.operators.operand import Operand
from olston.provenance import Provenance
from olston.published import Published
from olston.scheduler.cost import ENGINE
from olston.scheduler.ways import (
    APPEND,
    CHANGING,
    OVERWRITE,
    REWRITE,
    REWRITE_LITTLE,
    SUPERSEDE,
    UPSERT,
    DeliveryPriced,
    Way,
)
from olston.store import Store

T = Provenance.at


class Table:
    """A published table with a key, and deliveries to it."""

    def __init__(self, session: Any, home: str, name: str, rows: int) -> None:
        wf = ol.Workflow(name)
        wf.output(wf.source("rows", "k bigint, v string, w bigint", key="k").map("out", lambda df: df, key="k"))
        self.session, self.rows, self.number = session, rows, 0
        (self.by_key,) = (w.kind for w in wf.channels["out"].weak)
        self.price = DeliveryPriced("out", ENGINE, keyed=True, replacing={self.by_key: True})
        self.price.stand(rows, None)
        self.store = Store(session, f"{home}/{name}", wf)
        self.published = Published(self.store, "out")
        table = self.session.range(rows).selectExpr("id AS k", "concat('value ', id) AS v", "id % 7 AS w")
        self.deliver(BASE, table, rows, "overwrite")

    def deliver(self, kind: str, frame: Any, rows: int, way: Way) -> Block:
        self.number += 1
        source = None if kind == BASE else T(self.number - 1)
        block = Block("out", kind, T(self.number), source, rows)
        operand = Operand(frame, kind, rows * 50, "the delta")
        made = self.published.deliver(
            self.session, block, operand, T(self.number), self.number, new_attempt(), ways=(way,), held=self.rows
        )
        assert made.way == way
        return block

    def fold(self, delta: Any) -> float:
        """The seconds it takes to fold such a delta into a base of the same rows."""
        base = self.store.write_base("out", self.published.read(self.session), new_attempt(), {})
        _, over = self.store.write_delta("out", DELTA, delta, new_attempt(), {}, "the delta")
        started = time.perf_counter()
        self.store.fold(self.session, "out", base.then(over), new_attempt(), {})
        return time.perf_counter() - started

    def added(self, count: int) -> Any:
        """New keys, others at every call."""
        start = self.rows + self.number * count
        return self.session.range(start, start + count).selectExpr("1L AS _weight", "id AS k", "'new' AS v", "1L AS w")

    def changed(self, count: int) -> Any:
        """Scattered rows, as they are and as they will be."""
        held = self.published.read(self.session).where(f"k % {max(1, self.rows // count)} = 0 AND k < {self.rows}")
        old = held.selectExpr("-1L AS _weight", "k", "v", "w")
        return old.union(held.selectExpr("1L AS _weight", "k", "concat('v', v) AS v", "w")).localCheckpoint()


def publishing(session: Any, home: str, sizes: list[int], count: int, repeat: int) -> dict[str, float]:
    """The ways to bring changes to a published table, as ratios to rewriting it, and as the priors say; and folding.

    Returns the seconds for the smallest table to which each is done.
    """
    smallest = dict[str, float]()
    for rows_ in sizes:
        table = Table(session, home, f"publishing{rows_}", rows_)
        seconds, expected = dict[Way, float](), dict[Way, float]()
        for way in (*CHANGING, SUPERSEDE, APPEND, OVERWRITE):
            took = []
            for _ in range(repeat + 1):  # the first one warms up
                kind, given, rows = DELTA, table.changed(count), count
                if way == APPEND:
                    kind, given = MONOTONE, table.added(count)
                elif way == UPSERT:
                    given = given.unionByName(table.added(count)).localCheckpoint()
                elif way == SUPERSEDE:
                    new = given.where("_weight > 0")
                    kind, given = table.by_key, new.selectExpr("k", "v", "w", "false AS _deleted")
                elif way == OVERWRITE:
                    kind, given, rows = BASE, table.published.read(session).localCheckpoint(), rows_
                started = time.perf_counter()
                block = table.deliver(kind, given, rows, way)
                took.append(time.perf_counter() - started)
            seconds[way], expected[way] = median(took[1:]), table.price.cost(block, way)
        for way, found in seconds.items():
            smallest.setdefault(REWRITE_LITTLE if way == REWRITE and is_little(rows_, 0) else way, found)
        print(f"\nchanging {count:,} scattered rows of {rows_:,}: ratios to rewriting the table, and as expected")
        for way, found in seconds.items():
            of, should = found / seconds[REWRITE], expected[way] / expected[REWRITE]
            print(f"  {way:<9} {of:5.2f} {should:5.2f}   ({found:.2f} s)", flush=True)
        fold = median([table.fold(table.changed(count)) for _ in range(repeat + 1)][1:])
        print(f"  {'fold':<9} {fold / seconds[REWRITE]:5.2f}         ({fold:.2f} s)", flush=True)
    return smallest
