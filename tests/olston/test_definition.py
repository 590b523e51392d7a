"""DESIGN 7: what counts as a change of a definition, and what it touches."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import olston as ol
from olston.definition import digests, own


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


def module(text: str) -> dict[str, Any]:
    """The names that a module of that text defines."""
    names: dict[str, Any] = {"__name__": "jobs"}
    exec(text, names)
    return names


NAMED = """
LIMIT, SITES = {limit}, ("a", "b")
def helper(df):
    return df.where(f"v < {{LIMIT}}")
def function(df):
    return [helper(df) for _ in SITES][0]
"""


def test_functions_and_constants_that_a_function_names_are_part_of_it() -> None:
    before, same, after = (module(NAMED.format(limit=n))["function"] for n in (5, 5, 6))
    assert changed(workflow(before), workflow(same)) == set()
    assert changed(workflow(before), workflow(after)) == {"mapped", "counts"}


def test_a_default_that_is_given_by_keyword_only_is_part_of_a_function() -> None:
    def times(n: int) -> Callable[[Any], Any]:
        def function(df: Any, *, by: int = n) -> Any:
            return df.selectExpr("k", f"v * {by} AS v")

        return function

    assert changed(workflow(times(2)), workflow(times(3))) == {"mapped", "counts"}


def test_what_is_none_is_part_of_a_function_too() -> None:
    def between(low: int | None, high: int | None) -> Callable[[Any], Any]:
        return lambda df: (df, low, high)

    assert changed(workflow(between(None, 5)), workflow(between(5, None))) == {"mapped", "counts"}


class Times:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, df: Any) -> Any:
        return df.selectExpr("k", f"v * {self.n} AS v")

    def method(self, df: Any) -> Any:
        return self(df)


def test_the_state_of_an_object_that_is_called_is_part_of_it() -> None:
    for two, again, three in ((Times(2), Times(2), Times(3)), (Times(2).method, Times(2).method, Times(3).method)):
        assert changed(workflow(two), workflow(again)) == set()
        assert changed(workflow(two), workflow(three)) == {"mapped", "counts"}


def test_a_function_may_call_itself() -> None:
    def deep(df: Any, levels: int = 3) -> Any:
        return deep(df, levels - 1) if levels else df

    assert changed(workflow(deep), workflow(deep)) == set()


SETS = """
import olston as ol
from olston.definition import digests, own
class Session: pass
def function(session, names):
    return lambda df: df.where(str(session) in {"ab", "cd", "ef", "gh", "ij"} or bool(names))
wf = ol.Workflow("w")
wf.source("rows", "k int").map("mapped", function(Session(), {"kl", "mn", "op", "qr"}))
print(digests(wf)["mapped"])
"""


def test_digests_are_the_same_in_every_process() -> None:
    def digest(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.check_output([sys.executable, "-c", SETS], env=environment, text=True)

    assert digest("1") == digest("2") == digest("3")


def test_digests_are_those_that_homes_already_have() -> None:
    """Another way to digest would refuse every source at which data has arrived."""
    wf = ol.Workflow("w")
    wf.source("rows", "k int, v int", key="k").aggregate("sums", by="k", total=ol.sum("v"))
    assert own(wf) == {"rows": "50916f325029391b", "sums": "e588c377f53eb0aa"}
