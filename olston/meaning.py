"""What a value means, as text that changes if the meaning does, and is the same in every process.

Functions count by their code, what they close over, and the functions and constants of their own package that they
name, also as members of its modules and classes. Objects that are none of it count by what they print, without the
address at which they lie; those of the own package that print such an address count by their attributes too. Nothing
that is described is called.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from types import CodeType, MethodType, ModuleType
from typing import Any

from olston import shipped
from olston.channel import Channel
from olston.operators.states import Aggregation

_PLAIN = (str, bytes, bool, int, float, complex, Decimal, date, time, timedelta)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_DECLARED = ("returnType", "_returnType", "evalType")
"""What a UDF is declared with, as PySpark keeps it."""


@dataclass(frozen=True)
class Within:
    """What a value is part of: the values with these `ids`, for a function of `package`, a method of class `owner`.

    `told` are the members that were described: however many ways lead there, once is enough.
    """

    ids: tuple[int, ...] = ()
    package: str | None = None
    owner: type | None = None
    told: set[int] = field(default_factory=set)


def describe(value: Any, within: Within | None = None) -> str:
    """The meaning of `value`, which is part of what `within` says."""
    if value is None or isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, Channel):
        return value.name
    within = within or Within()
    if id(value) in within.ids:
        return "itself"
    inside = replace(within, ids=(*within.ids, id(value)))
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
    return _printed(value, inside)


def _printed(value: Any, inside: Within) -> str:
    """What an object prints, and where that says no more than where it lies, what it consists of."""
    printed = str(value)
    said = _ADDRESS.sub("", printed)
    consists = _attributes(value) if said != printed and _package(type(value)) == inside.package else {}
    return f"{said} {describe(consists, inside)}" if consists else said


def _called(value: Any, inside: Within) -> str:
    """What calling `value` does."""
    inside = replace(inside, package=_package(_function(value) or type(value)))
    wrapped = getattr(value, "func", None)
    if callable(wrapped):  # functools.partial, or a UDF
        given = [describe(getattr(value, name, None), inside) for name in ("args", "keywords")]
        declared = [describe(v, inside) for name, v in _attributes(value).items() if name in _DECLARED]
        return f"{describe(wrapped, inside)}({', '.join(given)}){' → '.join(('', *declared))}"
    bound = getattr(value, "__self__", None)
    if bound is not None and hasattr(value, "__func__"):
        owned = replace(inside, owner=bound if isinstance(bound, type) else type(bound))
        return f"{describe(value.__func__, owned)} of {_state(bound, inside)}"
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType):
        defaults = describe((value.__defaults__, value.__kwdefaults__), inside)
        closed = [describe(c.cell_contents, inside) for c in value.__closure__ or () if _is_assigned(c)]
        return f"{_code(code)}|{defaults}|{closed}|{'; '.join(_named(value, code, inside))}"
    called = vars(type(value)).get("__call__")
    if isinstance(getattr(called, "__code__", None), CodeType):
        return f"{describe(called, replace(inside, owner=type(value)))} of {_state(value, inside)}"
    function = _function(value)
    return _printed(value, inside) if function is None else describe(function, inside)


def _state(value: Any, inside: Within) -> str:
    return f"{type(value).__qualname__} {describe(_attributes(value), inside)}"


def _attributes(value: Any) -> Mapping[str, Any]:
    """What an object consists of, in its `__dict__` and in slots."""
    known: Mapping[str, Any] = getattr(value, "__dict__", {})
    slotted = [one for one in type(value).__mro__ if "__slots__" in vars(one)]
    slots = {name: slot for one in slotted for name, slot in vars(one).items() if inspect.ismemberdescriptor(slot)}
    filled = {name: slot.__get__(value) for name, slot in slots.items() if _is_filled(slot, value)}
    return {**known, **filled} if filled else known


def _code(code: CodeType) -> str:
    """What the code does, instruction by instruction; positions in its tables, which a docstring shifts, are not it."""
    done = [
        f"{i.opname} {_code(i.argval) if isinstance(i.argval, CodeType) else describe(i.argval)}"
        for i in dis.get_instructions(code)
    ]
    return f"({', '.join(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])}): {'; '.join(done)}"


def _named(function: Any, code: CodeType, inside: Within) -> Iterator[str]:
    """The functions of its own package and the constants that a function uses by name.

    They are globals, or members of modules and classes: of those it names, of the classes of objects it closes over,
    and of its own class.
    """
    names = _names(code)
    for name in sorted(names):
        found = function.__globals__.get(name)
        if _counts(found, inside):
            yield f"{name}={describe(found, replace(inside, owner=None))}"
        else:
            yield from _members(name, found, names, inside)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=False):
        if _is_assigned(cell):
            yield from _members(name, cell.cell_contents, names, inside)
    if inside.owner is not None:
        yield from _taken(inside.owner.__qualname__, inside.owner, names, inside)


def _members(name: str, value: Any, names: set[str], inside: Within, path: tuple[int, ...] = ()) -> Iterator[str]:
    """What `names` mean as members of an own module or class, or of the class of an object.

    The special methods of a class that is named count as well, since they are called without being named.
    """
    if isinstance(value, type):
        special = {n for c in value.__mro__ for n in vars(c) if n.startswith("__") and _function(vars(c)[n])}
        yield from _taken(name, value, names | special, inside, path)
    else:
        yield from _taken(name, value if isinstance(value, ModuleType) else type(value), names, inside, path)


def _taken(
    name: str, place: ModuleType | type, names: Iterable[str], inside: Within, path: tuple[int, ...] = ()
) -> Iterator[str]:
    if _package(place) != inside.package or id(place) in path:
        return
    within = replace(inside, owner=place if isinstance(place, type) else None)
    for member in sorted(names):
        found = _unbound(inspect.getattr_static(place, member, None))
        if not _counts(found, inside):
            yield from _members(f"{name}.{member}", found, set(names), inside, (*path, id(place)))
        elif _is_constant(found) or id(found) not in inside.told:
            inside.told.add(id(found))
            yield f"{name}.{member}={describe(found, within)}"


def _counts(value: Any, inside: Within) -> bool:
    function = _function(value)
    return _is_constant(value) or (function is not None and _package(function) == inside.package)


def _unbound(member: Any) -> Any:
    """What a member of a class is, other than a way to get at it."""
    if isinstance(member, staticmethod | classmethod):
        return member.__func__
    if isinstance(member, property):
        return member.fget
    if isinstance(member, functools.cached_property):
        return member.func
    return member._value_ if isinstance(member, Enum) else member


def _function(value: Any) -> Any:
    """The function that is run in the end when `value` is called, if it is one written in Python."""
    if callable(value) and isinstance(getattr(value, "__code__", None), CodeType):
        return value
    if isinstance(value, functools.partial):
        return _function(value.func)
    if isinstance(value, MethodType):
        return _function(value.__func__)
    wrapped = None if isinstance(value, type) else getattr(value, "__dict__", {}).get("__wrapped__")
    return None if wrapped is None else _function(wrapped)


def _is_constant(value: Any) -> bool:
    return isinstance(value, _PLAIN) or (
        isinstance(value, tuple | frozenset) and all(v is None or _is_constant(v) for v in value)
    )


def _names(code: CodeType) -> set[str]:
    inner = (c for c in code.co_consts if isinstance(c, CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _package(value: Any) -> str:
    """The package of a function, a class or a module; what lies in one folder is of one, however it was imported."""
    name = str(value.__name__ if isinstance(value, ModuleType) else value.__module__).partition(".")[0]
    return str(shipped.folder_of(name) or name)


def _is_filled(slot: Any, value: Any) -> bool:
    try:
        slot.__get__(value)
    except AttributeError:
        return False
    return True


def _is_assigned(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
