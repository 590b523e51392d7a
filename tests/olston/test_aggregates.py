from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import olston as ol
from olston.operators.states import Aggregation


def test_count_needs_no_column() -> None:
    assert ol.count() == Aggregation("count")


OF_COLUMN: list[tuple[str, Callable[[Any], Aggregation]]] = [
    ("sum", ol.sum),
    ("avg", ol.avg),
    ("min", ol.min),
    ("max", ol.max),
    ("var", ol.var),
    ("stddev", ol.stddev),
    ("agg", ol.agg),
]


@pytest.mark.parametrize(("name", "make"), OF_COLUMN)
def test_each_aggregate_says_which_function_of_what(name: str, make: Callable[[Any], Aggregation]) -> None:
    assert make("price") == Aggregation(name, "price")


@pytest.mark.parametrize(("name", "make"), OF_COLUMN)
def test_every_aggregate_can_be_placed(name: str, make: Callable[[Any], Aggregation]) -> None:
    made = ol.Workflow("w").source("s").aggregate("a", by="k", x=make("price"))
    assert made.key == ("k",)
