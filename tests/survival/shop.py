"""A small shop in which every kind of step occurs, the waves that arrive there, and what they come to by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import olston as ol

if TYPE_CHECKING:
    from olston.engine import Engine

START = 1_700_000_000_000_000
Sale = tuple[str, int]
WAVES: list[tuple[dict[str, str], list[Sale]]] = [
    ({"a": "apple", "b": "bread"}, [("a", 1), ("b", 2), ("a", 1)]),
    ({"b": "beer"}, [("b", 3)]),
    ({"c": "cheese", "a": "ale"}, [("c", 5), ("a", 7)]),
]


def shop() -> ol.Workflow:
    """Items are replaced by key, sales added up; what is published shows both as of one moment. Sales are fed on."""
    wf = ol.Workflow("shop")
    items = wf.source("items", "k string, name string", key="k")
    sales = wf.source("sales", "k string, n int")
    totals = sales.aggregate("totals", by="k", n=ol.sum("n"), policy="incremental", keep=True)
    sold = items.join("sold", totals, on="k")
    wf.output(sold)
    wf.output(sales.filter("large", "n > 1"), feed={"B", "Δ"})
    wf.bound_inconsistency(sold, 0)
    for pathway in (0, 1):
        wf.bound_staleness(sold, pathway, 0)
    wf.bound_staleness("large", 0, 0)
    return wf


def arrive(engine: Engine, wave: int) -> int:
    """Let a wave arrive on both sources under one stamp."""
    items, sales = WAVES[wave]
    with engine.arrival() as together:
        together.ingest("items", engine.spark.createDataFrame(list(items.items()), "k string, name string"))
        together.ingest("sales", engine.spark.createDataFrame(sales, "k string, n int"))
    stamp = together.blocks[0].stamp
    assert stamp is not None
    return int(stamp)


def sales_of(waves: int) -> Counter[Sale]:
    return Counter(sale for _, sales in WAVES[:waves] for sale in sales)


def sold_of(waves: int) -> Counter[tuple[str, str, int]]:
    """What is published, computed by hand, after the first `waves`."""
    names: dict[str, str] = {}
    totals: Counter[str] = Counter()
    for items, sales in WAVES[:waves]:
        names |= items
        for k, n in sales:
            totals[k] += n
    return Counter((k, name, totals[k]) for k, name in names.items() if k in totals)


def lose_catalog(home: Path) -> None:
    for file in home.glob("catalog.db*"):
        file.unlink()
