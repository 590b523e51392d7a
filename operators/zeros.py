"""Zero has no sign: −0.0 is stored as 0.0.

To Spark the two are equal wherever rows are compared or grouped, so that rows which differ in that sign alone are one
row of a bag. A function that could still tell them apart, such as a cast to text, would see now the one, now the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olston.operators.columns import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_ELEMENT = "__element"


def unsigned(rows: DataFrame) -> DataFrame:
    """`rows` with 0.0 for −0.0, also within arrays and structs."""
    columns = {quoted(f.name): _unsigned(quoted(f.name), f.dataType) for f in rows.schema.fields}
    if all(name == made for name, made in columns.items()):
        return rows
    return rows.selectExpr(*[f"{made} AS {name}" for name, made in columns.items()])


def _unsigned(value: str, kind: DataType) -> str:
    """SQL text for `value`, the same text where it cannot be −0.0."""
    from pyspark.sql.types import ArrayType, DoubleType, FloatType, StructType

    if isinstance(kind, DoubleType | FloatType):
        return f"{value} + {'0D' if isinstance(kind, DoubleType) else '0F'}"  # −0.0 + 0.0 is 0.0
    if isinstance(kind, ArrayType):
        made = _unsigned(_ELEMENT, kind.elementType)
        return value if made == _ELEMENT else f"transform({value}, {_ELEMENT} -> {made})"
    if isinstance(kind, StructType):
        parts = {quoted(f.name): _unsigned(f"{value}.{quoted(f.name)}", f.dataType) for f in kind.fields}
        if all(made == f"{value}.{name}" for name, made in parts.items()):
            return value
        return f"if({value} IS NULL, NULL, struct({', '.join(f'{made} AS {name}' for name, made in parts.items())}))"
    return value
