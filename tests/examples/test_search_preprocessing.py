"""The demo, in a small size: what it tells is true, and ends at the batch result."""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from olston.duration import microseconds
from olston.examples.search_preprocessing.demo import tell
from olston.examples.search_preprocessing.recompute import differing
from olston.examples.search_preprocessing.waves import DEMO, SMALL, rows, waves
from olston.examples.search_preprocessing.workflow import wf
from olston.scheduler.cost import ENGINE
from olston.scheduler.decide import Decision, decide
from olston.scheduler.explain import explain
from olston.scheduler.problem import Problem
from olston.scheduler.simulate.rates import Arrivals, RatesFile
from olston.scheduler.simulate.run import simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_waves_come_in_order_over_two_weeks() -> None:
    moments = [wave.at for wave in waves(SMALL)]
    assert moments == sorted(set(moments))
    assert timedelta(days=7) < moments[-1] - moments[0] < timedelta(days=14)


def test_a_wave_is_the_same_whenever_it_is_made_and_unlike_the_others(spark: SparkSession) -> None:
    first, second, *_ = (wave for wave in waves(SMALL) if "pages" in wave.rows)
    assert rows(spark, first, "pages", SMALL).collect() == rows(spark, first, "pages", SMALL).collect()
    urls = [row["url"] for wave in (first, second) for row in rows(spark, wave, "pages", SMALL).collect()]
    assert max(Counter(urls).values()) == 1


def test_what_differs_is_counted_with_multiplicity(spark: SparkSession) -> None:
    left = spark.createDataFrame([("a", 1), ("a", 1), ("b", 2)], "x string, y int")
    right = spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "y int, x string")
    assert differing(left, left) == 0
    assert differing(left, right) == 2


def test_at_the_size_of_the_demo_scores_wait_for_a_week_and_the_repair_says_which_bound_would_break() -> None:
    day = microseconds("1 day")
    pages = Arrivals(DEMO.new_pages, every=day, offset=day, initial=DEMO.pages)
    clicks = Arrivals(DEMO.new_clicks, every=14 * day, offset=2 * day + day // 2, initial=DEMO.clicks)
    repairs: list[tuple[float, set[str]]] = []

    def watched(problem: Problem, **options: Any) -> Decision:
        decision = decide(problem, **options)
        if any(str(step.operator) == "output.batch" for step in decision.work):
            rejected = {a.reason for a in explain(problem, decision).alternatives if "output.async_left" in a.steps}
            repairs.append((problem.history.now / day, rejected))
        return decision

    simulate(wf, RatesFile({"pages": pages, "clicks": clicks}, ENGINE), 13 * day, policy=watched, noise=0)
    ((when, rejected),) = repairs
    assert 9 < when < 11
    assert "breaks bound_inconsistency(output, 1 week)" in rejected


def test_the_demo_keeps_its_promises_and_ends_at_the_batch_result(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spent = tell(str(tmp_path), spark, SMALL)
    told, errors = capsys.readouterr()
    assert spent.equal
    apart = [float(days) for days in re.findall(r"([\d.]+) days apart, 7 allowed", told)]
    assert max(apart, default=0) <= 7  # on tables this small it may be cheaper to repair every day
    assert "equals the batch result on the snapshots it names" in told
    assert not errors
    crawls = len([wave for wave in waves(SMALL) if "pages" in wave.rows])
    assert len(spent.refreshing) == told.count("output reflects pages of") == crawls
    assert len(spent.recomputing) == told.count("recomputing everything takes") == (crawls + 1) // 2
    assert crawls % 2, "the last crawl is recomputed, to be compared"
