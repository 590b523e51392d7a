"""The columns of every channel, found by asking Spark what each widget makes of rows like those of its inputs.

Nothing is run: Spark resolves the columns of an empty relation; but what a consumer of deltas alone begins with is
looked at (`olston.nothing`). A user's function that does not fit is found here, with the name of its widget, before any
data is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from olston.alike import alike
from olston.errors import SchemaError, meant
from olston.failure import place, reason
from olston.nothing import refuse_rows_of_nothing
from olston.operators.columns import ARRIVAL, DELETED, ORDER, View, is_hidden, is_reserved, key_columns, see
from olston.operators.operand import Operand
from olston.operators.states import ALGEBRAIC, drifts
from olston.operators.weak import Replace
from olston.origin import origins
from olston.widgets.aggregate import Aggregate
from olston.widgets.batch import Batch
from olston.widgets.expression import aggregations
from olston.widgets.extract import Extract
from olston.widgets.join import Join
from olston.widgets.map import Map
from olston.widgets.widget import Operation, Widget

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

    from olston.channel import Channel
    from olston.workflow import Workflow


_UNSTORED = re.compile(r"[ ,;{}()\n\t=]")
"""What Delta does not take in the name of a column."""
_MOST_CLUSTERED = 4
"""Columns that Delta clusters a table by at most."""


@dataclass(frozen=True)
class Schemas:
    """The stored columns of each channel, and the widgets of which some variant would not be exact.

    These are aggregates whose sums do not add up, and maps that are told to have a key of which it is not known that
    they pass it as it is.
    """

    stored: Mapping[str, StructType]
    drifting: frozenset[str]

    def public(self, channel: str) -> StructType:
        """The columns that users see."""
        return _public(self.stored[channel])


def resolve(session: SparkSession, workflow: Workflow, discovered: Mapping[str, StructType] | None = None) -> Schemas:
    """The columns of all channels of `workflow`; an error that names the widget if they cannot be found.

    Of sources declared without columns, those `discovered`. What else is wrong, except behind what is, comes as notes.
    """
    empty: dict[str, DataFrame] = {}
    drifting: set[str] = set()
    faults: list[SchemaError] = []
    for channel in workflow.channels.values():
        if channel.is_source:
            with _gathered(faults, channel.declared_at):
                stored = _source(channel, channel.name in workflow.arrivals, (discovered or {}).get(channel.name))
                empty[channel.name] = session.createDataFrame([], stored)
    for widget in workflow.widgets.values():
        if all(c.name in empty for c in widget.inputs):
            with _gathered(faults, workflow.channels[widget.makes()[-1].name].declared_at):
                _derive(session, workflow, widget, empty, drifting)
    made = Schemas({name: rows.schema for name, rows in empty.items()}, frozenset(drifting))
    for output in workflow.outputs.values():
        if output.channel in empty:
            with _gathered(faults, output.declared_at):
                _refuse_odd_clustering(output.channel, made.public(output.channel), output.cluster_by)
    if faults:
        for other in faults[1:]:
            faults[0].add_note(str(other))
        raise faults[0]
    refuse_rows_of_nothing(workflow, empty)
    return made


@contextmanager
def _gathered(faults: list[SchemaError], declared_at: str) -> Iterator[None]:
    """What is wrong with what is declared there is put to `faults`, and keeps nobody from looking at the rest."""
    try:
        yield
    except SchemaError as error:
        if declared_at:
            error.message += f" It is declared at {declared_at}."
        faults.append(error)


def _derive(
    session: SparkSession, workflow: Workflow, widget: Widget, empty: dict[str, DataFrame], drifting: set[str]
) -> None:
    """Find the columns of what `widget` makes, and whether some variant of it would not be exact."""
    if isinstance(widget, Aggregate) and widget.functions <= ALGEBRAIC:
        rows = see(empty[widget.inputs[0].name], widget.operations()[0].operators[0].view)
        if _asked(widget, lambda: drifts(rows, aggregations(widget.columns, rows)), rows):
            drifting.add(widget.name)
            widget.refuse_impossible_policy(drifting)
    for operation in widget.operations(drifting):
        for name, made in zip(operation.outputs, _batch(widget, operation, empty), strict=True):
            if isinstance(widget, Map) and not _passes_key(widget, made, empty[operation.inputs[0]]):
                drifting.add(widget.name)
            found = nullable(made.schema)
            _refuse_odd_columns(name, found, _olstons(widget))
            _refuse_other_names(name, found, "key", key_columns(workflow.channels[name].key or (), found.names))
            empty[name] = session.createDataFrame([], found)


def _source(channel: Channel, arrival: bool, found: StructType | None) -> StructType:
    from pyspark.sql.types import BooleanType, LongType, StructType

    use_found = channel.schema is None and found is not None
    declared: StructType = nullable(found if use_found else _declared(channel))
    _refuse_odd_columns(channel.name, declared, lambda name: False)
    for weak in channel.weak:
        for column in (*weak.key, *((weak.by,) if isinstance(weak, Replace) and weak.by else ())):
            if column not in declared.names:
                raise SchemaError(
                    f"{channel.name}: key or order {column!r} is no column of it: {declared.simpleString()}"
                    f"{_or_meant(column, declared.names)}"
                )
        if isinstance(weak, Replace) and weak.by is not None:
            declared = StructType([*declared.fields]).add(DELETED, BooleanType())
    return declared.add(ARRIVAL, LongType()) if arrival else declared


def _declared(channel: Channel) -> StructType:
    from pyspark.sql.types import StructType

    if channel.schema is None:
        raise SchemaError(
            f"{channel.name}: a source without columns; declare them, as in wf.source({channel.name!r}, 'url string')."
        )
    try:
        parsed = StructType.fromDDL(channel.schema)
    except Exception as error:
        raise SchemaError(f"{channel.name}: columns {channel.schema!r} cannot be read: {reason(error)}") from error
    assert isinstance(parsed, StructType)
    return parsed


def _batch(widget: Widget, operation: Operation, empty: Mapping[str, DataFrame]) -> tuple[DataFrame, ...]:
    """What the batch variant makes of rows like those of the inputs."""
    from pyspark.sql import DataFrame

    batch = next(o for o in operation.operators if not o.signature.incremental)
    inputs = [see(empty[name], batch.view) for name in operation.inputs]
    if isinstance(widget, Join):
        _refuse_odd_join(widget, *inputs)
    if isinstance(widget, Extract) and widget.order_by is not None:
        _refuse_other_names(widget.name, inputs[0].schema, "order_by", (widget.order_by,))
    made = _asked(widget, lambda: batch.run([Operand(rows) for rows in inputs]), *inputs)
    for rows in made:
        if not isinstance(rows, DataFrame):
            raise SchemaError(f"{widget.name}: its function returns {rows!r}, and not a DataFrame.")
    if isinstance(widget, Extract):
        _refuse_other_keys(widget, made[0], inputs[0])
    return made  # type: ignore[no-any-return]


def _passes_key(widget: Map, made: DataFrame, given: DataFrame) -> bool:
    """Whether it is known that rows have the key that the widget is told to have from those they were made of."""
    passed = origins(made, given) if widget.key else {}
    return all(passed.get(column) == column for column in widget.key or ())


def _refuse_other_keys(widget: Extract, made: DataFrame, rows: DataFrame) -> None:
    """An error unless the function gives the key of its rows, as it is: by it new rows supersede old ones."""
    given = see(rows, View.PUBLIC)
    passed = origins(widget.function(given), given)
    for column in widget.key:
        if column not in made.columns:
            raise SchemaError(
                f"{widget.name}: the function drops the key column {column!r}, by which new rows supersede old "
                f"ones; keep it in the result, and drop it in a map afterwards. It returns {made.columns}."
            )
        if passed.get(column, column) != column:
            raise SchemaError(
                f"{widget.name}: the function gives the key column {column!r} other values than its rows have, and new "
                "rows supersede old ones by it; keep it as it is, and give what is computed another name."
            )


def _asked(widget: Widget, question: Any, *inputs: DataFrame) -> Any:
    """The answer to `question`, or an error that says which widget failed on which columns."""
    try:
        return question()
    except SchemaError:
        raise
    except Exception as error:
        columns = "; ".join(_shown(rows.schema) for rows in inputs)
        at = place(error)
        where = f"It was raised at {at}; correct it there" if at else f"Correct what {widget.name} is given"
        raise SchemaError(
            f"{widget.name}: fails on rows of {columns}: {reason(error)} {where}, and run again; nothing was begun."
        ) from error


def _olstons(widget: Widget) -> Callable[[str], bool]:
    """Which reserved columns a widget adds itself; any other has been named by the user."""
    if isinstance(widget, Map | Batch):
        return lambda name: False
    if isinstance(widget, Extract):
        return lambda name: name in (ORDER, DELETED)
    if isinstance(widget, Aggregate):
        return lambda name: name not in dict(widget.columns)
    return lambda name: True


def _refuse_odd_columns(channel: str, schema: StructType, of_olston: Callable[[str], bool]) -> None:
    if not schema.fields:
        raise SchemaError(f"{channel}: has no columns; declare or return one at least.")
    seen: set[str] = set()
    for field in schema.fields:
        if is_reserved(field.name) and not of_olston(field.name):
            raise SchemaError(f"{channel}: column {field.name!r} is kept for olston; choose another name.")
        if _UNSTORED.search(field.name):
            raise SchemaError(
                f"{channel}: column {field.name!r} cannot be stored under its name; choose one without blanks and "
                "without any of ,;{}()=."
            )
        if field.name.lower() in seen:
            raise SchemaError(
                f"{channel}: has column {field.name!r} twice; names are told apart without regard to case."
            )
        seen.add(field.name.lower())
        if _collated(field.dataType):
            raise SchemaError(
                f"{channel}: column {field.name!r} is of type {field.dataType.simpleString()}, in which texts that "
                "differ count as equal, so rows with it cannot be told apart; cast it to string, and compare under a "
                "collation inside conditions and functions."
            )
        if not _comparable(field.dataType):
            raise SchemaError(
                f"{channel}: column {field.name!r} is of type {field.dataType.simpleString()}, which Spark cannot "
                "compare, so rows with it cannot be told apart; use an array of structs, or text."
            )
        if not _storable(field.dataType):
            raise SchemaError(
                f"{channel}: column {field.name!r} is of type {field.dataType.simpleString()}, which Delta cannot "
                "store; cast it, to text or a number for example."
            )


def _refuse_other_names(channel: str, schema: StructType, what: str, names: Sequence[str]) -> None:
    """An error unless all of `names` are columns, spelt alike: by another spelling rows would be looked for in vain."""
    for name in names:
        if name not in schema.names:
            raise SchemaError(
                f"{channel}: {what} names {name!r}, and its columns are {_shown(schema)}; name one of them, "
                f"spelt as it is there{_or_meant(name, schema.names)}"
            )


def _public(schema: StructType) -> StructType:
    from pyspark.sql.types import StructType

    return StructType([f for f in schema.fields if not is_hidden(f.name)])


def _shown(schema: StructType) -> str:
    return str(_public(schema).simpleString())


def _or_meant(name: str, columns: Sequence[str]) -> str:
    """The end of a sentence about `name`, which is none of `columns`."""
    asked = meant(name, [c for c in columns if not is_hidden(c)])
    return f"; {asked}" if asked else "."


def _refuse_odd_clustering(channel: str, schema: StructType, cluster_by: Sequence[str]) -> None:
    """An error for what Delta would refuse at the first delivery, when all has been computed."""
    from pyspark.sql import types as t

    _refuse_other_names(channel, schema, "cluster_by", cluster_by)
    if len(cluster_by) > _MOST_CLUSTERED or len(set(cluster_by)) < len(cluster_by):
        raise SchemaError(
            f"{channel}: cluster_by names {', '.join(cluster_by)}, and Delta takes up to {_MOST_CLUSTERED} columns, "
            "each once; leave some out."
        )
    for name in cluster_by:
        kind = schema[name].dataType
        if not isinstance(kind, t.NumericType | t.DateType | t.TimestampType | t.TimestampNTZType | t.StringType):
            raise SchemaError(
                f"{channel}: cluster_by names {name!r}, which is {kind.simpleString()}, and Delta clusters by numbers, "
                "texts, dates and times only; name others."
            )


def _refuse_odd_join(widget: Join, left: DataFrame, right: DataFrame) -> None:
    for side, rows in (("left", left), ("right", right)):
        for column in widget.on:
            if column not in rows.columns:
                raise SchemaError(
                    f"{widget.name}: joins on {column!r}, which its {side} does not have: {rows.columns}"
                    f"{_or_meant(column, rows.columns)}"
                )
    # Spark would make both the same: texts numbers or dates, great numbers doubles. Rows that differ would meet one row
    for column in widget.on:
        kinds = [rows.schema[column].dataType for rows in (left, right)]
        if not alike(*kinds):
            raise SchemaError(
                f"{widget.name}: joins on {column!r}, which is {kinds[0].simpleString()} on its left and "
                f"{kinds[1].simpleString()} on its right; cast one of them in a map before the join."
            )
    shared = [c for c in left.columns if c in right.columns and c not in widget.on]
    if shared:
        raise SchemaError(
            f"{widget.name}: both sides have {', '.join(shared)}, and only columns of on= may be shared; "
            "rename or drop them in a map before the join."
        )


def _comparable(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    if isinstance(kind, ArrayType):
        return _comparable(kind.elementType)
    if isinstance(kind, StructType):
        return all(_comparable(f.dataType) for f in kind.fields)
    return not isinstance(kind, MapType | VariantType)


def _collated(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, StringType, StructType

    if isinstance(kind, ArrayType):
        return _collated(kind.elementType)
    if isinstance(kind, StructType):
        return any(_collated(f.dataType) for f in kind.fields)
    return isinstance(kind, StringType) and not kind.isUTF8BinaryCollation()


def _storable(kind: DataType) -> bool:
    from pyspark.sql import types as t

    if isinstance(kind, t.ArrayType):
        return _storable(kind.elementType)
    if isinstance(kind, t.StructType):
        once = len({f.name.lower() for f in kind.fields}) == len(kind.fields)
        return bool(kind.fields) and once and all(_storable(f.dataType) and not _UNSTORED.search(f.name) for f in kind)
    intervals = t.AnsiIntervalType | t.CalendarIntervalType
    return not isinstance(kind, t.NullType | t.CharType | t.VarcharType | t.AnyTimeType | t.SpatialType | intervals)


def nullable(kind: Any) -> Any:
    """A type, or the columns of a table, with nulls allowed everywhere: what may be null is data, not type."""
    from pyspark.sql.types import ArrayType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(f.name, nullable(f.dataType), True) for f in kind.fields])
    return ArrayType(nullable(kind.elementType), True) if isinstance(kind, ArrayType) else kind
