"""Spark's physical plans, as far as tests look at them: what is scanned, and whether it is sent away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MEETING = ("BroadcastHashJoin Inner", "BroadcastHashJoin LeftSemi", "BroadcastNestedLoopJoin LeftSemi")
"""Joins that leave only what a delta meets; the last, without a condition, all of the one row of a global aggregate."""


def walk(plan: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each scan with the operators above it, the nearest first; an exchange that is reused does not scan again."""
    name = str(plan.nodeName())
    if name.startswith("Scan parquet"):
        yield str(plan.relation().location().rootPaths().head().toString()), above
    children = plan.children()
    own = f"{name} {plan.joinType()}" if name.endswith("Join") else name
    if name.endswith("Aggregate") and plan.groupingExpressions().isEmpty():
        own += " of everything"
    for i in range(children.size()):
        yield from walk(children.apply(i), (own, *above))


def shuffled(above: tuple[str, ...]) -> bool:
    """Whether rows are sent away before most of them were left out."""
    for name in above:
        if name in ("Exchange", "BroadcastExchange"):
            return True
        if name in MEETING or name.endswith("of everything"):
            return False
    return False
