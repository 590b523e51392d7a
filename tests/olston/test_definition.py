"""DESIGN 7: what counts as a change of a definition, and what it touches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import olston as ol
from olston.definition import digests


def workflow(
    function: Callable[[Any], Any], *, version: str | None = None, condition: str = "v > 1", **options: Any
) -> ol.Workflow:
    wf = ol.Workflow("w")
    rows = wf.source("rows", "k int, v int")
    mapped = rows.map("mapped", function, version=version, **options)
    mapped.aggregate("counts", by="k", n=ol.count())
    rows.filter("kept", condition)
    return wf


def changed(before: ol.Workflow, after: ol.Workflow) -> set[str]:
    old, new = digests(before), digests(after)
    return {name for name in old | new if old.get(name) != new.get(name)}


def twice(df: Any) -> Any:
    return df.selectExpr("k", "v * 2 AS v")


def test_the_same_definition_has_the_same_digests() -> None:
    assert changed(workflow(twice), workflow(twice)) == set()


def test_formatting_comments_and_docstrings_are_no_change() -> None:
    def other(df: Any) -> Any:
        """It doubles."""
        # twice as much
        return df.selectExpr(
            "k",
            "v * 2 AS v",
        )

    assert changed(workflow(twice), workflow(other)) == set()


def test_a_changed_function_changes_its_channel_and_all_downstream_and_nothing_else() -> None:
    def thrice(df: Any) -> Any:
        return df.selectExpr("k", "v * 3 AS v")

    assert changed(workflow(twice), workflow(thrice)) == {"mapped", "counts"}


def test_what_a_function_closes_over_is_part_of_it() -> None:
    def times(n: int) -> Callable[[Any], Any]:
        return lambda df: df.selectExpr("k", f"v * {n} AS v")

    assert changed(workflow(times(2)), workflow(times(2))) == set()
    assert changed(workflow(times(2)), workflow(times(3))) == {"mapped", "counts"}


def test_a_version_stands_for_the_code() -> None:
    def thrice(df: Any) -> Any:
        return df.selectExpr("k", "v * 3 AS v")

    assert changed(workflow(twice, version="1"), workflow(thrice, version="1")) == set()
    assert changed(workflow(twice, version="1"), workflow(twice, version="2")) == {"mapped", "counts"}


def test_a_changed_condition_is_a_change() -> None:
    assert changed(workflow(twice), workflow(twice, condition="v > 2")) == {"kept"}


@pytest.mark.parametrize("options", [{"policy": "full"}, {"keep": True}])
def test_how_it_is_run_is_no_change(options: dict[str, Any]) -> None:
    assert changed(workflow(twice), workflow(twice, **options)) == set()


def test_bounds_and_outputs_are_no_change() -> None:
    bounded = workflow(twice)
    bounded.output("counts")
    bounded.bound_staleness("counts", 0, "1 day")
    assert changed(workflow(twice), bounded) == set()


def test_a_source_with_other_columns_changes_everything_downstream() -> None:
    other = ol.Workflow("w")
    rows = other.source("rows", "k int, v bigint")
    rows.map("mapped", twice).aggregate("counts", by="k", n=ol.count())
    rows.filter("kept", "v > 1")
    assert changed(workflow(twice), other) == {"rows", "mapped", "counts", "kept"}
