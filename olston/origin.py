"""Where the values of a column come from, as far as Spark's plan of it tells.

A key crosses a function only with its values: what replaces rows by other values of the same name would leave the old
rows where they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def origins(made: DataFrame, given: DataFrame) -> Mapping[str, str | None]:
    """Of the columns of `made`, which a function made of `given`, the column whose values each passes as they are.

    `None` for one that is computed. Of one that is not named, a plan does not tell: a function of Python made it, or
    rows of several were put together, which may each have it from elsewhere.
    """
    known = {_id(a): str(a.name()) for a in _all(_plan(given).output())}
    renamed: dict[str, str | None] = {}
    nodes = list(_nodes(_plan(made)))
    if any(_is(node, kind) for node in nodes for kind in _PUT_TOGETHER):
        return {}
    for expression in (e for node in nodes if _is(node, "Project") for e in _all(node.projectList())):
        if _is(expression, "Alias"):
            renamed[_id(expression)] = _id(expression.child()) if _is(expression.child(), _ATTRIBUTE) else None
    found: dict[str, str | None] = {}
    for attribute in _all(_plan(made).output()):
        origin: str | None = _id(attribute)
        while origin in renamed:
            origin = renamed[origin]
        if origin is None or origin in known:
            found[str(attribute.name())] = None if origin is None else known[origin]
    return found


_ATTRIBUTE = "AttributeReference"
_PUT_TOGETHER = ("Union", "Intersect", "Except")


def _plan(rows: DataFrame) -> Any:
    return rows._jdf.queryExecution().analyzed()


def _nodes(plan: Any) -> Iterator[Any]:
    """All parts of a plan."""
    yield plan
    for child in _all(plan.children()):
        yield from _nodes(child)


def _all(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(i) for i in range(sequence.length()))


def _is(node: Any, name: str) -> bool:
    return bool(node.getClass().getSimpleName() == name)


def _id(expression: Any) -> str:
    return str(expression.exprId().toString())
