"""Three waves of visits, and a cache that holds a list for each site: `python -m olston.examples.custom_weak_delta`."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import olston as ol
from olston.cli.show import console
from olston.cli.watch import watching
from olston.examples.custom_weak_delta.workflow import as_lists, best, wf

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Visit = tuple[str, str]

MANY: list[Visit] = [(f"site{s:02}", f"/{u}") for s in range(40) for u in range(9) for _ in range(1 + (s + u) % 9)]
FEW: list[Visit] = [("site07", "/new")] * 10 + [("site21", "/0")] * 9
QUIET: list[Visit] = [("site30", "/8")]
WAVES = {"many visits": MANY, "two sites change": FEW, "no list changes": QUIET}


def tell(home: str, spark: SparkSession | None = None) -> bool:
    """Let the waves arrive and print what travels; whether the cache holds in the end what a batch job gives."""
    cache: dict[str, list[str]] = {}
    cursor = 0
    with ol.Engine(wf, home, spark=spark) as engine:
        for name, visits in WAVES.items():
            engine.ingest("visits", engine.spark.createDataFrame(visits, "site string, url string"))
            console.print(f"\n[bold]{name}[/bold]: {len(visits):,} visits arrive")
            if visits is FEW:
                console.print(engine.plan())
            with watching(engine, quiet=not console.is_terminal):
                engine.refresh()
            for given in engine.feed("top").after(cursor):
                lists = given.rows.collect()
                cache |= {row["site"]: list(row["urls"]) for row in lists}
                cursor = given.number
                shown = "".join(f"; {row['site']} is now {' '.join(row['urls'])}" for row in sorted(lists)[:2])
                console.print(f"delivery {given.number}, {given.block.kind}: {len(lists)} lists{shown}", markup=False)
        counted = engine.spark.createDataFrame([v for w in WAVES.values() for v in w], "site string, url string")
        batch = as_lists(best(counted.groupBy("site", "url").count().withColumnRenamed("count", "visits")))
        equal = cache == {row["site"]: list(row["urls"]) for row in batch.collect()}
    console.print(f"\nthe cache {'equals' if equal else 'DIFFERS FROM'} the batch result: {len(cache)} sites")
    return equal


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="olston-toplist-") as folder:
        raise SystemExit(not tell(f"{folder}/lake"))
