"""The benchmark itself, small: contenders agree, and what is stored can be shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.contenders import page, results
from tests.benchmarks.contenders.expert import FeedbackAsync
from tests.benchmarks.contenders.feedback import FEEDBACK, SEARCHES
from tests.benchmarks.contenders.measure import Course, Measured, contents
from tests.benchmarks.contenders.ours import MODES, Ours, seed
from tests.benchmarks.contenders.raw import Raw, copied
from tests.benchmarks.contenders.recompute import Recompute
from tests.benchmarks.contenders.results import Claim
from tests.benchmarks.contenders.scenario import Contender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_contenders_go_through_the_same_waves_and_agree_after_a_repair(spark: SparkSession, tmp_path: Path) -> None:
    data, stored = FEEDBACK.data(spark, tmp_path / "data", 100), tmp_path / "results.json"
    first = data.first()
    Raw(spark, FEEDBACK, tmp_path / "raw").take(first)
    seed(spark, FEEDBACK, tmp_path / "home", first)
    for name in ("recompute", "expert"):
        copied(tmp_path / "raw", tmp_path / name / "raw")
    contenders: list[Contender] = [
        Recompute(spark, FEEDBACK, tmp_path / "recompute"),
        FeedbackAsync(spark, FEEDBACK, tmp_path / "expert"),
        Ours(spark, FEEDBACK, tmp_path / "home", MODES[0]),
    ]

    def keep(found: Measured) -> None:
        results.keep("feedback 100", results.measured("feedback", 100, "2g", found), stored)

    course = Course(spark, FEEDBACK, data, contenders, keep)
    course.begin()
    course.rounds(SEARCHES, 1)
    assert contents(contenders[0].output())[0] == 120
    assert contents(contenders[2].output())[0] < 120, "what is not about news may wait"
    course.repair()
    course.close()
    (run,) = results.load(stored).values()
    assert set(run["times"][SEARCHES]) == {c.name for c in contenders}
    assert any(line.startswith("| olston, Async/Incr | ") for line in page.table(run))


def test_outputs_that_differ_are_told_apart(spark: SparkSession) -> None:
    assert contents(spark.range(3)) == contents(spark.range(2, -1, -1))
    assert contents(spark.range(3)) != contents(spark.range(1, 4))
    assert contents(spark.range(3).union(spark.range(1))) != contents(spark.range(3))


@pytest.mark.parametrize(("found", "more", "reached"), [(2.0, True, False), (3.0, True, True), (2.0, False, True)])
def test_a_claim_is_reached_on_the_right_side_of_its_limit(found: float, more: bool, reached: bool) -> None:
    assert Claim("", found, 3.0, more).reached is reached
