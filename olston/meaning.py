"""What a value means, as text that changes if the meaning does, and is the same in every process.

Functions count by their code, what they close over, and the functions and constants of their own package that they
name. Objects that are none of it count by what they print, without the address at which they lie.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from types import CodeType
from typing import Any

from olston.channel import Channel
from olston.operators.states import Aggregation

_PLAIN = (str, bytes, bool, int, float, complex, Decimal, date, time, timedelta)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def describe(value: Any, within: tuple[int, ...] = ()) -> str:
    """The meaning of `value`, which is part of the values whose ids are `within`."""
    if value is None or isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, Channel):
        return value.name
    if id(value) in within:
        return "itself"
    inside = (*within, id(value))
    if isinstance(value, Aggregation):
        return f"{value.function}({describe(value.argument, inside)})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k!r}: {describe(v, inside)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(describe(v, inside) for v in value) + "]"
    if isinstance(value, set | frozenset):  # in an order that is not another one in every process
        return "{" + ", ".join(sorted(describe(v, inside) for v in value)) + "}"
    if callable(value) and not isinstance(value, type):
        return _called(value, inside)
    return _ADDRESS.sub("", str(value))


def _called(value: Any, inside: tuple[int, ...]) -> str:
    """What calling `value` does."""
    wrapped = getattr(value, "func", None)
    if callable(wrapped):  # functools.partial, or a UDF
        given = [describe(getattr(value, name, None), inside) for name in ("args", "keywords")]
        return f"{describe(wrapped, inside)}({', '.join(given)})"
    bound = getattr(value, "__self__", None)
    if bound is not None and hasattr(value, "__func__"):
        return f"{describe(value.__func__, inside)} of {_state(bound, inside)}"
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType):
        defaults = describe((value.__defaults__, value.__kwdefaults__), inside)
        closed = [describe(c.cell_contents, inside) for c in value.__closure__ or () if _is_assigned(c)]
        return f"{_code(code)}|{defaults}|{closed}|{'; '.join(_named(value, code, inside))}"
    called = vars(type(value)).get("__call__")
    if isinstance(getattr(called, "__code__", None), CodeType):
        return f"{describe(called, inside)} of {_state(value, inside)}"
    return _ADDRESS.sub("", str(value))


def _state(value: Any, inside: tuple[int, ...]) -> str:
    return f"{type(value).__qualname__} {describe(getattr(value, '__dict__', {}), inside)}"


def _code(code: CodeType) -> str:
    """What the code does, instruction by instruction; positions in its tables, which a docstring shifts, are not it."""
    done = [
        f"{i.opname} {_code(i.argval) if isinstance(i.argval, CodeType) else describe(i.argval)}"
        for i in dis.get_instructions(code)
    ]
    return f"({', '.join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])}): {'; '.join(done)}"


def _named(function: Any, code: CodeType, inside: tuple[int, ...]) -> Iterator[str]:
    """The functions of its own package and the constants that a function uses by name."""
    for name in sorted(_names(code)):
        found = function.__globals__.get(name)
        own = _is_function(found) and _package(found) == _package(function)
        if own or _is_constant(found):
            yield f"{name}={describe(found, inside)}"


def _is_constant(value: Any) -> bool:
    return isinstance(value, _PLAIN) or (
        isinstance(value, tuple | frozenset) and all(isinstance(v, _PLAIN) for v in value)
    )


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _is_function(value: Any) -> bool:
    return callable(value) and isinstance(getattr(value, "__code__", None), CodeType)


def _package(function: Any) -> str:
    return str(function.__module__).partition(".")[0]


def _is_assigned(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
