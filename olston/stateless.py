"""A check for users' own tests: whether a function of a DataFrame is stateless, as map and extract need it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from olston.errors import WorkflowError
from olston.operators import bag
from olston.operators.columns import WEIGHT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_stateless(function: Callable[[Any], DataFrame], rows: DataFrame, *, splits: int = 4) -> None:
    """Raise unless `f(a ⊎ b) = f(a) ⊎ f(b)` for some ways to split `rows` in two, one of them into all and nothing.

    A function that aggregates, ranks, numbers, samples, removes duplicates or limits fails if `rows` let it show: give
    few rows, with duplicates, and several for each key.
    """
    given, schema, session = rows.collect(), rows.schema, rows.sparkSession
    whole = function(session.createDataFrame(given, schema))
    for seed in range(splits):
        chance = Random(seed)
        sides: tuple[list[Any], list[Any]] = (list(given), []) if seed == 0 else ([], [])
        for row in given if seed else ():
            sides[chance.random() < 0.5].append(row)
        parts = [function(session.createDataFrame(side, schema)) for side in sides]
        if whole.columns != parts[0].columns:
            raise WorkflowError(f"the function returns other columns each time: {whole.columns}.", code="NOT_STATELESS")
        off = bag.difference(bag.union(*parts), whole).limit(3).collect()
        if off:
            shown = "; ".join(_show(row.asDict()) for row in off)
            raise WorkflowError(
                f"the function is not stateless: applied to all rows at once and to two parts of them it differs in "
                f"{shown}. Use an aggregate, distinct or batch for what looks at several rows.",
                code="NOT_STATELESS",
            )


def _show(row: dict[str, Any]) -> str:
    weight = row.pop(WEIGHT)
    return f"{row} ({abs(weight)} {'more' if weight > 0 else 'fewer'} at once)"
