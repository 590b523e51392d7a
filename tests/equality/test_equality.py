"""The content of every block equals an independent evaluation on the snapshots that it names (DESIGN 3).

`OLSTON_EQUALITY_EXAMPLES=100` looks at so many random workflows, different ones each time, and lets all workflows
written by hand go through Delta, not only some of them.
"""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from contextlib import nullcontext
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import olston.operators
from olston.scheduler.compile import compile_workflow
from olston.store import Store
from tests.equality.conftest import Tally
from tests.equality.driver import Driver, either, shuffling
from tests.equality.handwritten import WRITTEN, Written
from tests.equality.laboratory import Laboratory
from tests.equality.rows import history
from tests.equality.shelf import Shelf
from tests.equality.spec import build
from tests.equality.workflows import workflow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = [
    pytest.param(case, id=case.name, marks=[] if case.delta or i % 2 else [pytest.mark.long])
    for i, case in enumerate(WRITTEN)
]
"""Every second one of those in memory is left to `make test-long`."""
ASKED = os.environ.get("OLSTON_EQUALITY_EXAMPLES")
STEPS = 16
MIXED = 8
"""Steps to results in which several snapshots of one input mix, after the others."""


@pytest.mark.parametrize("case", CASES)
def test_every_variant_agrees_with_the_evaluator(
    case: Written, spark: SparkSession, tmp_path: Path, tally: Tally
) -> None:
    kept_in = Store if case.delta or ASKED else Shelf
    laboratory = Laboratory(spark, str(tmp_path), case.spec, case.arrivals(), kept_in=kept_in)
    driver = Driver(laboratory, Random(case.name))
    with either(Random(case.name)):
        assert driver.cover() == set()
        if case.mixing:
            driver.mix(MIXED)
            if laboratory.compared["B mixed"] < 2:  # the steps led to deltas
                driver.mix(MIXED)
            assert laboratory.compared["B mixed"] > 1
    tally(driver)


def test_the_workflows_written_by_hand_use_every_operator() -> None:
    used = {
        type(v.operator) for case in WRITTEN for v in compile_workflow(build(case.spec), drifting=("sums",)).variants
    }
    known = set()
    for module in pkgutil.iter_modules(olston.operators.__path__):
        loaded = importlib.import_module(f"olston.operators.{module.name}")
        known |= {c for _, c in inspect.getmembers(loaded, inspect.isclass) if hasattr(c, "signature")}
    abstract = {c for c in known if c.__name__ == "Operator"}
    assert known - abstract == used


@settings(
    max_examples=int(ASKED or 5),
    derandomize=ASKED is None,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # an example takes long: its report is cut to one case and one block instead
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**64 - 1))
def test_random_workflows_agree_with_the_evaluator(spark: SparkSession, tally: Tally, seed: int) -> None:
    random = Random(seed)
    spec = workflow(random, fewest=3)
    laboratory = Laboratory(spark, "", spec, history(random, spec, fewest=2), kept_in=Shelf)
    driver = Driver(laboratory, random)
    with shuffling(laboratory) if random.random() < 0.5 else nullcontext(), either(random):
        driver.run(STEPS)
        driver.mix(MIXED)
    tally(driver)
