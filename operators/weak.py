"""Weak delta representations [2.2, 2.4].

A representation supplies `c^{Δδ}` or `c^{Bδ}`, and `c^{δB}` or `c^{δΔ}`; the missing converters are
composed from those given and the two that are built in. `replace` and `increment` are shipped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from olston.block import Kind, weak
from olston.errors import WeakDeltaError

Converter: TypeAlias = Callable[..., Any]
"""A function of DataFrames: the old base first where it reads one, then the delta or the new base."""

FROM_DELTA, FROM_BASES, TO_BASE, TO_DELTA = "Δδ", "Bδ", "δB", "δΔ"
_APPLY, _DIFFERENCE = "ΔB", "BΔ"

_COMPOSITIONS: dict[str, tuple[str, ...]] = {
    FROM_BASES: (_DIFFERENCE, FROM_DELTA),
    FROM_DELTA: (_APPLY, FROM_BASES),
    TO_BASE: (TO_DELTA, _APPLY),
    TO_DELTA: (TO_BASE, _DIFFERENCE),
}


@dataclass(frozen=True)
class WeakDelta:
    """A weak representation `δ_name` and the converters supplied with it.

    `from_delta(delta)`, `from_bases(old, new)` make it; `to_base(old, weak)`, `to_delta(old, weak)` read
    it. One of each pair is needed. `expand` is the prior for rows of the strong delta per row of the weak.
    """

    name: str
    from_delta: Converter | None = None
    from_bases: Converter | None = None
    to_base: Converter | None = None
    to_delta: Converter | None = None
    expand: float = 1.0
    key: tuple[str, ...] = ()
    order: str | None = None
    columns: tuple[str, ...] = ()
    builtin: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        for made, readable in ((FROM_DELTA, FROM_BASES), (TO_BASE, TO_DELTA)):
            if not self.supplied & {made, readable}:
                arguments = {FROM_DELTA: "from_delta= or from_bases=", TO_BASE: "to_base= or to_delta="}[made]
                raise WeakDeltaError(
                    f"weak delta {self.name!r}: neither c^{{{made}}} nor c^{{{readable}}} is given; pass {arguments}."
                )
        if not self.name:
            raise WeakDeltaError("a weak delta needs a name.")
        if not self.expand > 0:
            raise WeakDeltaError(f"weak delta {self.name!r}: expand is {self.expand}; it is a ratio above 0.")

    @property
    def kind(self) -> Kind:
        return weak(self.name)

    @property
    def supplied(self) -> frozenset[str]:
        """The converters given, by their superscript: `Δδ`, `Bδ`, `δB`, `δΔ`."""
        given = {
            FROM_DELTA: self.from_delta,
            FROM_BASES: self.from_bases,
            TO_BASE: self.to_base,
            TO_DELTA: self.to_delta,
        }
        return self.builtin | {name for name, converter in given.items() if converter is not None}

    def route(self, converter: str) -> tuple[str, ...]:
        """How `converter` is carried out: itself where it is given, else the two it is composed of.

        The planner needs no composed converters: it finds the two steps by itself.
        """
        if converter in self.supplied:
            return (converter,)
        try:
            return _COMPOSITIONS[converter]
        except KeyError:
            raise WeakDeltaError(
                f"weak delta {self.name!r}: {converter!r} is no converter; known: {', '.join(_COMPOSITIONS)}."
            ) from None


def replace(key: Sequence[str], order: str | None = None, unique: bool = True) -> WeakDelta:
    """All rows of a key are superseded by the rows given; a key given with no rows is dropped.

    Covers upserts, and "the new links of a page supersede its old ones". With `order`, a late older row
    loses. A strong delta shows all rows of a key only where the key is `unique`.
    """
    name = f"replace({','.join(key)}{f'; {order}' if order else ''})"
    made = {FROM_DELTA, FROM_BASES} if unique else {FROM_BASES}
    return WeakDelta(name, key=tuple(key), order=order, builtin=frozenset({TO_BASE, TO_DELTA} | made))


def increment(key: Sequence[str], columns: Sequence[str]) -> WeakDelta:
    """Amounts to be added to `columns` by `key`, with creation and retirement of groups by a hidden count."""
    return WeakDelta(
        f"increment({','.join(key)})",
        key=tuple(key),
        columns=tuple(columns),
        expand=2.0,
        builtin=frozenset({FROM_DELTA, FROM_BASES, TO_BASE, TO_DELTA}),
    )
