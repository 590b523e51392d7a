"""A process is killed at each fault point, and another goes on: nothing is lost, nothing doubled, and what is readable
is right before and after (issue: survival)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.engine import Engine
from olston.faults import POINTS
from tests.survival.shop import START, arrive, lose_catalog, sales_of, shop, sold_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
TOLD = {
    "wave-written": [],
    "wave-written:2": [],
    "arrival-catalogued": [],
    "block-committed": ["arrived"],
    "delivery-committed": ["arrived"],
    "delivery-committed:2": ["arrived"],
    "fold-written": ["arrived"],
    "input-let-go": ["arrived", "refreshed"],
    "vacuum-forgotten": ["arrived", "refreshed"],
    "vacuum-dropped": ["arrived", "refreshed"],
    "recovery-read": [],
    "recovery-catalogued": [],
}
"""Where to kill, and what the process has said by then."""
WITH_A_JVM_OF_ITS_OWN = ("delivery-committed",)
"""Where Spark dies too; elsewhere the process uses the JVM of the tests."""
ALSO_LOST = (
    "wave-written:2", "arrival-catalogued", "delivery-committed", "fold-written", "input-let-go",
    "vacuum-forgotten", "vacuum-dropped",
)  # fmt: skip
"""Where the catalog is then deleted too."""


class Shop:
    """The shop in a home, seen by a process that did not work there before."""

    def __init__(self, home: Path, spark: SparkSession) -> None:
        self.home, clock = home, ol.ManualClock(START)
        clock.advance("3 hours")
        self.engine = Engine(shop(), str(home), clock=clock, spark=spark)

    def rows(self, channel: str) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(r) for r in self.engine.read(channel).collect())

    def check_what_is_held(self, stamps: list[int]) -> None:
        """What is published is of one moment, and is what the batch evaluation gives of the snapshots it names."""
        held = self.engine.provenance("sold").to_dict()
        assert held["consistent"]
        ((one,), (other,)) = (p["snapshots"] for p in held["pathways"])
        assert one == other
        assert self.rows("sold") == sold_of(stamps.index(one) + 1 if one in stamps else 3)

    def go_on(self, told: list[str]) -> None:
        """Offer what was not acknowledged and is not there, refresh, and be at the batch result."""
        arrived = self.rows("sales")
        assert arrived in ([sales_of(3)] if "arrived" in told else [sales_of(2), sales_of(3)])
        if arrived == sales_of(2):
            arrive(self.engine, 2)
        self.engine.refresh()
        assert self.rows("sales") == sales_of(3)
        assert self.rows("sold") == sold_of(3)
        assert self.rows("large") == Counter({sale: n for sale, n in sales_of(3).items() if sale[1] > 1})
        given = list(self.engine.feed("large").after())
        assert [f.number for f in given] == list(range(1, len(given) + 1))
        assert not self.engine.plan().due


@contextmanager
def opened(home: Path, spark: SparkSession) -> Iterator[Shop]:
    found = Shop(home, spark)
    try:
        yield found
    finally:
        found.engine.close()


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A home in which two waves arrived and one was refused, and their stamps."""
    home = tmp_path_factory.mktemp("shop") / "home"
    engine = Engine(shop(), str(home), clock=ol.ManualClock(START), spark=spark)
    twice = spark.createDataFrame([("a", "x"), ("a", "y")], "k string, name string")
    with pytest.raises(ol.IngestError, match="several rows of one key"):
        engine.ingest("items", twice)
    stamps = []
    for wave in (0, 1):
        stamps.append(arrive(engine, wave))
        engine.refresh()
    engine.close()
    return home, stamps


def test_every_fault_point_is_tried() -> None:
    assert {said.partition(":")[0] for said in TOLD} == set(POINTS)


@pytest.mark.long
@pytest.mark.parametrize("fault", TOLD)
def test_a_process_killed_there_loses_nothing(
    fault: str, prepared: tuple[Path, list[int]], spark: SparkSession, tmp_path: Path
) -> None:
    original, stamps = prepared
    home = tmp_path / "home"
    shutil.copytree(original, home)
    environment = {**os.environ, "OLSTON_FAULT": fault}
    if fault not in WITH_A_JVM_OF_ITS_OWN:
        parameters = spark.sparkContext._gateway.java_parameters  # type: ignore[union-attr]
        environment["PYSPARK_GATEWAY_PORT"] = str(parameters.port)
        environment["PYSPARK_GATEWAY_SECRET"] = parameters.auth_token
    command = [sys.executable, "-m", "tests.survival.child", str(home)]
    command += ["--lost"] if fault.startswith("recovery") else []
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == -signal.SIGKILL, run.stderr
    told = run.stdout.split()
    assert told == TOLD[fault]
    if fault in ALSO_LOST:
        without = tmp_path / "without catalog"
        shutil.copytree(home, without)
        lose_catalog(without)
        with opened(without, spark) as again:
            again.engine.recover()
            again.check_what_is_held(stamps)
            again.go_on(told)
    with opened(home, spark) as again:
        if fault == "recovery-read":
            with pytest.raises(ol.CatalogError, match=r"rebuild this one by Engine\(…\).recover\(\)"):
                again.engine.read("sales")
            again.engine.recover()
        again.check_what_is_held(stamps)
        again.go_on(told)
