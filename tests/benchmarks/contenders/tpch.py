"""TPC-H: revenue and items by the day of the order, over orders joined with their items; orders come and go."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import olston as ol
from tests.benchmarks.contenders.scenario import WEIGHT, Frames, Scenario, Source, Wave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFRESH = "inserts and deletes"
WAVE = 0.001
HELD_BACK = 20
"""Waves for which there are new orders."""
ITEMS_AT_SCALE_1 = 6_000_000


def revenue(joined: Any) -> Any:
    return joined.selectExpr(
        "o_orderdate", "cast(l_extendedprice * (1 - l_discount) AS decimal(18,4)) AS amount", "l_quantity AS quantity"
    )


def batch(frames: Frames) -> Any:
    from pyspark.sql import functions as F

    joined = frames["lineitem"].join(frames["orders"], "orderkey")
    return (
        revenue(joined)
        .groupBy("o_orderdate")
        .agg(F.sum("amount").alias("revenue"), F.sum("quantity").alias("quantity"), F.count("*").alias("items"))
    )


def workflow(strict: bool) -> ol.Workflow:
    wf = ol.Workflow("tpch")
    orders = wf.source("orders", SOURCES["orders"].columns)
    items = wf.source("lineitem", SOURCES["lineitem"].columns)
    amounts = items.join("joined", orders, on="orderkey").map("amounts", revenue)
    output = amounts.aggregate(
        "output", by="o_orderdate", revenue=ol.sum("amount"), quantity=ol.sum("quantity"), items=ol.count()
    )
    wf.output(output)
    wf.bound_staleness(output, 0, 0)
    wf.bound_staleness(output, 1, 0)
    if strict:
        wf.bound_inconsistency(output, 0)
    return wf


class Tpch:
    """`size` items, that is, a scale of `size` / 6 million; a wave deletes as many orders as it adds."""

    def __init__(self, session: SparkSession, folder: Path, size: int) -> None:
        self._session, self._folder, self._waves = session, folder, 0
        where = folder / "generated"
        program = Path(sys.executable).parent / "tpchgen-cli"
        scale = size / ITEMS_AT_SCALE_1
        command: list[str | Path] = [
            program,
            "parquet",
            "-s",
            str(scale),
            "--tables",
            "orders,lineitem",
            "--output-dir",
            where,
        ]
        subprocess.run(command, check=True, capture_output=True)
        self._orders = session.read.parquet(str(where / "orders.parquet")).selectExpr(
            "o_orderkey AS orderkey", "o_custkey", "cast(o_totalprice AS decimal(15,2)) AS o_totalprice", "o_orderdate"
        )
        self._items = session.read.parquet(str(where / "lineitem.parquet")).selectExpr(
            "l_orderkey AS orderkey", "cast(l_linenumber AS int) AS l_linenumber",
            "cast(l_quantity AS decimal(15,2)) AS l_quantity",
            "cast(l_extendedprice AS decimal(15,2)) AS l_extendedprice",
            "cast(l_discount AS decimal(15,2)) AS l_discount",
        )  # fmt: skip
        self._of_wave = "pmod(hash(orderkey), 1000)"

    def first(self) -> Wave:
        return self._written({1: f"{self._of_wave} >= {HELD_BACK}"})

    def wave(self, phase: str) -> Wave:
        number = self._waves - 1
        assert number < HELD_BACK, "there are no new orders left"
        return self._written({1: f"{self._of_wave} = {number}", -1: f"{self._of_wave} = {HELD_BACK + number}"})

    def _written(self, parts: dict[int, str]) -> Wave:
        found: dict[str, Path] = {}
        for name, rows in (("orders", self._orders), ("lineitem", self._items)):
            found[name] = self._folder / f"{self._waves}" / name
            for weight, condition in parts.items():
                weighted = rows.where(condition).selectExpr(f"bigint({weight}) AS {WEIGHT}", "*")
                weighted.write.mode("append").parquet(str(found[name]))
        self._waves += 1
        return found


SOURCES = {
    "orders": Source("orderkey bigint, o_custkey bigint, o_totalprice decimal(15,2), o_orderdate date", "orderkey"),
    "lineitem": Source(
        "orderkey bigint, l_linenumber int, l_quantity decimal(15,2), l_extendedprice decimal(15,2), "
        "l_discount decimal(15,2)",
        "orderkey",
    ),
}
TPCH = Scenario(
    "tpch", SOURCES, (REFRESH,), batch, workflow,
    loose=("o_orderdate", "revenue", "quantity", "items"), data=Tpch, exact=(REFRESH,),
)  # fmt: skip
