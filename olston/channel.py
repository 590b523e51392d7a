"""Channels: named tables of a workflow, and the words with which a user derives one from another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olston.caller import caller
from olston.errors import OptionError, WorkflowError
from olston.operators.states import Aggregation
from olston.operators.weak import WeakDelta
from olston.pathway import Pathway
from olston.widgets.aggregate import Aggregate, Distinct
from olston.widgets.extract import Extract
from olston.widgets.join import Join
from olston.widgets.map import Filter, FlatMap, Map, Split
from olston.widgets.union import Union
from olston.widgets.widget import Policy, names

if TYPE_CHECKING:
    from olston.workflow import Workflow

Columns = str | Sequence[str]


@dataclass(eq=False)
class Channel:
    """A channel of `workflow`. Derived channels are made by the methods below, each of which places a widget.

    All methods take `policy="auto" | "incremental" | "incremental_strict" | "full"` and `keep=True`, which pins the
    channel as a table of its own; those with a user function take `version=`, which stands for its code.
    """

    name: str
    workflow: Workflow = field(repr=False)
    widget: str | None = None
    key: tuple[str, ...] | None = None
    weak: tuple[WeakDelta, ...] = ()
    internal: bool = False
    schema: str | None = None
    pathways: tuple[Pathway, ...] = field(default=(), repr=False)
    declared_at: str = field(default_factory=caller, repr=False)
    """`FILE:LINE` of the user's code."""

    @property
    def is_source(self) -> bool:
        return self.widget is None

    @property
    def knows_arrival(self) -> bool:
        """Whether it can be told when each row arrived.

        filter and split keep that; functions do not, and of equal rows from two sides of a union nobody could tell
        which one a deletion leaves.
        """
        if self.widget is None:
            return True
        placed = self.workflow.widgets[self.widget]
        return isinstance(placed, Filter | Split) and placed.inputs[0].knows_arrival

    def map(self, name: str, f: Callable[[Any], Any], *, key: Columns | None = None, **options: Any) -> Channel:
        """Rows by a stateless function of a DataFrame: `f(a ⊎ b) = f(a) ⊎ f(b)`. Tell `key` if the result has one.

        What replaces rows by that key passes as such where Spark's plan shows that `f` passes the key as it is.
        """
        return self._place(Map, name, (self,), f, options, key=None if key is None else names(key))

    def flat_map(self, name: str, f: Callable[[Any], Any], *, key: Columns | None = None, **options: Any) -> Channel:
        """Like `map`, any number of rows for each."""
        return self._place(FlatMap, name, (self,), f, options, key=None if key is None else names(key))

    def filter(self, name: str, condition: Any, **options: Any) -> Channel:
        """The rows that meet `condition`: SQL text, a Column, or a function such as `lambda df: df.x > 1`.

        A Column can be made only where a Spark session runs. Keeps the key.
        """
        return self._place(Filter, name, (self,), condition, options)

    def split(self, conditions: Mapping[str, Any], *, rest: str | None = None, **options: Any) -> tuple[Channel, ...]:
        """One channel per condition, as `filter` takes them, `rest` last; the first match wins and null is no match."""
        outputs = (*conditions, *((rest,) if rest is not None else ()))
        name = f"split({','.join(outputs)})"
        widget = Split(name, (self,), outputs=outputs, function=dict(conditions), **_options(name, options))
        return self.workflow.place(widget)

    def extract(
        self, name: str, f: Callable[[Any], Any], *, key: Columns, order_by: str | None = None, **options: Any
    ) -> Channel:
        """`f` of the newest row of each key; its rows supersede what the key gave before."""
        return self._place(Extract, name, (self,), f, options, key=names(key), order_by=order_by)

    def aggregate(
        self, name: str, *, by: Columns = (), policy: str = "auto", keep: bool = False, **columns: Aggregation
    ) -> Channel:
        """One row per group of `by`, with `columns` such as `clicks=ol.count()`; `by=[]` is one global row."""
        options = {"policy": policy, "keep": keep}
        return self._place(Aggregate, name, (self,), None, options, by=names(by), columns=tuple(columns.items()))

    def distinct(self, name: str, **options: Any) -> Channel:
        """Every row once."""
        return self._place(Distinct, name, (self,), None, options)

    def join(self, name: str, other: Channel, *, on: Columns, how: str = "inner", **options: Any) -> Channel:
        """Rows of this channel with the rows of `other` that are equal in `on`; `how` is `inner` or `left`."""
        return self._place(Join, name, (self, other), None, options, on=names(on), how=how)

    def union(self, name: str, *others: Channel, **options: Any) -> Channel:
        """All rows of this channel and the others, as often as they occur."""
        return self._place(Union, name, (self, *others), None, options)

    def _place(
        self,
        widget: Any,
        name: str,
        inputs: tuple[Channel, ...],
        function: Any,
        options: dict[str, Any],
        **parameters: Any,
    ) -> Channel:
        if widget in _CALLS and not callable(function):
            raise WorkflowError(f"{name}: {function!r} is no function; give a function of a DataFrame.")
        placed = widget(name, inputs, function=function, **_options(name, options), **parameters)
        return self.workflow.place(placed)[-1]

    def __str__(self) -> str:
        return self.name


_CALLS = (Map, FlatMap, Extract)
"""The widgets that call a function of the user."""

_KNOWN = ("policy", "version", "keep")


def _options(name: str, options: dict[str, Any]) -> dict[str, Any]:
    for option in options:
        if option not in _KNOWN:
            raise OptionError(f"{name}: unexpected option {option!r}; known: {', '.join(_KNOWN)}.")
    return {**options, "policy": Policy.of(options.get("policy", "auto"), name)}
