"""Which types may meet in a join: those whose values Spark compares without loss.

Where types differ, Spark casts both sides to a third. If that merges values, as 2⁵³ and 2⁵³ + 1 are one double, rows of
one side that differ meet the same row of the other, and what is unique on one side is not so in the join.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
_EXACT = {"float": {"tinyint", "smallint", "double"}, "double": {"tinyint", "smallint", "int", "float"}}
"""Which numbers every value of which is also one of this type."""
_TIMES = {"timestamp", "timestamp_ntz"}
"""Where clocks are set ahead, two times without a zone are one moment."""
_MOST = 38
"""Digits of a decimal."""


def alike(one: DataType, other: DataType) -> bool:
    """Whether values of both types are equal only if they are the same."""
    from pyspark.sql.types import ArrayType, NumericType, StringType, StructType

    if isinstance(one, ArrayType) and isinstance(other, ArrayType):
        return alike(one.elementType, other.elementType)
    if isinstance(one, StructType) and isinstance(other, StructType):
        return all(alike(a.dataType, b.dataType) for a, b in zip(one.fields, other.fields, strict=False))
    if isinstance(one, NumericType) and isinstance(other, NumericType):
        return _same_number(one, other)
    if {one.simpleString(), other.simpleString()} == _TIMES:
        return False
    return isinstance(one, StringType) == isinstance(other, StringType)


def _same_number(one: DataType, other: DataType) -> bool:
    names = one.simpleString(), other.simpleString()
    if names[0] == names[1] or names[0] in _EXACT.get(names[1], ()) or names[1] in _EXACT.get(names[0], ()):
        return True
    sizes = [_decimal(one), _decimal(other)]
    if None in sizes:
        return False
    whole, after = (max(size[i] for size in sizes if size is not None) for i in (0, 1))
    return whole + after <= _MOST


def _decimal(kind: DataType) -> tuple[int, int] | None:
    """Digits before and after the point, of what is a decimal or an integer."""
    from pyspark.sql.types import DecimalType

    if isinstance(kind, DecimalType):
        return kind.precision - kind.scale, kind.scale
    digits = _DIGITS.get(kind.simpleString())
    return None if digits is None else (digits, 0)
