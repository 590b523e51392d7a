"""One Spark session per test process, started by the first test that asks for it.

A test that takes the fixture `spark` carries the marker `spark`, so `-m "not spark"` runs all that needs no Java.
`--hypothesis-profile=thorough` looks at ten times as many examples.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings as hypothesis_settings

from tests import postgresql

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from olston.catalog import Catalog

# how long an example takes says nothing about it where Spark runs beside
hypothesis_settings.register_profile("usual", deadline=None)
hypothesis_settings.register_profile("thorough", max_examples=1_000, deadline=None)
hypothesis_settings.load_profile("usual")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from olston import session

    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "2g",
        # tests end before the optimizing compiler pays; without it the room for compiled code shrinks to 48 MB, is full
        # after two minutes, and all that follows is interpreted
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m",
        "spark.sql.warehouse.dir": tmp_path_factory.mktemp("warehouse").as_uri(),  # xdist's workers skip atexit
    }
    running = session.start(settings, app="olston tests")
    yield running
    running.stop()


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """What stores keep in the memory of the session goes with the module that made them."""
    yield
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.SparkContext._active_spark_context is not None:
        pyspark.sql.SparkSession.active().catalog.clearCache()


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[str]:
    with postgresql.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new catalog may be, on each kind of database in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/deep/catalog.db"
    return postgresql.database(request.getfixturevalue("postgresql_server"))


@pytest.fixture
def catalog(url: str) -> Iterator[Catalog]:
    from olston.catalog import Catalog

    made = Catalog(url)
    yield made
    made.close()
