"""Weak delta representations [2.2, 2.4].

A representation supplies `c^{Δδ}` or `c^{Bδ}`, and `c^{δB}` or `c^{δΔ}`; the missing converters are
composed from those given and the two that are built in. `replace` and `increment` are shipped; what they
do with rows is in `olston.operators.replace` and `olston.operators.increment`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from olston.block import Kind, weak
from olston.errors import WeakDeltaError
from olston.operators import bag
from olston.operators import increment as increments
from olston.operators import replace as replacements
from olston.operators.columns import PART
from olston.operators.operand import Operand

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Converter: TypeAlias = "Callable[..., DataFrame]"
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
    it. One of each pair is needed. All are functions of DataFrames; a strong delta has a column `_weight`.
    `expand` is the prior for rows of the strong delta per row of the weak.
    """

    name: str
    from_delta: Converter | None = None
    from_bases: Converter | None = None
    to_base: Converter | None = None
    to_delta: Converter | None = None
    expand: float = 1.0
    key: tuple[str, ...] = ()
    rows_of_channel: ClassVar[bool] = False
    """Whether its rows have the columns of the channel; otherwise those that its converters give them."""
    chains: ClassVar[bool] = False
    """Whether abutting blocks can be put together as such; otherwise they act as one on a base only."""
    arrives: ClassVar[bool] = False
    """Whether arrivals or operators make it, so that it can do without converters from other kinds."""

    @property
    def plain(self) -> bool:
        """Whether it can be applied by who has the public columns only."""
        return True

    def __post_init__(self) -> None:
        pairs = ((TO_BASE, TO_DELTA),) if self.arrives else ((FROM_DELTA, FROM_BASES), (TO_BASE, TO_DELTA))
        for made, readable in pairs:
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
        return frozenset(name for name, converter in given.items() if converter is not None)

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

    def weakened(self, delta: Operand) -> DataFrame:
        """`c^{Δδ}`."""
        assert self.from_delta is not None
        return self.from_delta(delta.rows)

    def compared(self, old: DataFrame, new: DataFrame) -> DataFrame:
        """`c^{Bδ}`."""
        if self.from_bases is not None:
            return self.from_bases(old, new)
        assert self.from_delta is not None
        return self.from_delta(bag.difference(old, new))

    def applied(self, base: DataFrame, weak: Operand) -> DataFrame:
        """`c^{δB}`."""
        if self.to_base is not None:
            return self.to_base(base, weak.rows)
        return bag.apply(base, self.strengthened(base, weak), small=weak.small, label=weak.label)

    def strengthened(self, base: DataFrame, weak: Operand) -> DataFrame:
        """`c^{δΔ}`, netted."""
        if self.to_delta is not None:
            return bag.net(self.to_delta(base, weak.rows))
        return bag.difference(base, self.applied(base, weak))

    def chained(self, chain: DataFrame) -> DataFrame | None:
        """Abutting blocks, told apart by `__part`, as one; `None` if that can be done on a base only."""
        return None


@dataclass(frozen=True)
class Replace(WeakDelta):
    """`replace(key, order)`: see the function of that name.

    `unique`: no two rows of the channel have the key in common. `by`: the column that tells late rows, which may be a
    hidden one.
    """

    order: str | None = None
    by: str | None = None
    unique: bool = True
    rows_of_channel = chains = arrives = True

    @property
    def plain(self) -> bool:
        return self.by is None

    @property
    def supplied(self) -> frozenset[str]:
        if self.by is not None:  # a deletion may bring back a row of lesser order, which a replacement would refuse
            return frozenset({TO_BASE, TO_DELTA})
        return frozenset({TO_BASE, TO_DELTA, FROM_BASES} | ({FROM_DELTA} if self.unique else set()))

    def weakened(self, delta: Operand) -> DataFrame:
        return replacements.weaken(delta.rows, self.key)

    def compared(self, old: DataFrame, new: DataFrame) -> DataFrame:
        return replacements.from_bases(old, new, self.key)

    def applied(self, base: DataFrame, weak: Operand) -> DataFrame:
        return replacements.apply(base, weak.rows, self.key, self.by, small=weak.small)

    def strengthened(self, base: DataFrame, weak: Operand) -> DataFrame:
        return replacements.strengthen(base, weak.rows, self.key, self.by, small=weak.small)

    def chained(self, chain: DataFrame) -> DataFrame | None:
        return replacements.latest(chain, self.key, self.by)


@dataclass(frozen=True)
class Increment(WeakDelta):
    """`increment(key, columns)`: see the function of that name."""

    columns: tuple[str, ...] = ()
    rows_of_channel = chains = arrives = True
    plain = False

    @property
    def supplied(self) -> frozenset[str]:
        return frozenset({TO_BASE, TO_DELTA, FROM_BASES, FROM_DELTA})

    def weakened(self, delta: Operand) -> DataFrame:
        return increments.weaken(delta.rows, self.key)

    def compared(self, old: DataFrame, new: DataFrame) -> DataFrame:
        return increments.weaken(bag.difference(old, new), self.key)

    def applied(self, base: DataFrame, weak: Operand) -> DataFrame:
        return increments.apply(base, weak.rows, self.key, small=weak.small, label=weak.label)

    def added_up(self, pieces: DataFrame, label: str) -> DataFrame:
        """`c^{δB}` of the rows of a base and of increments to it, any number of them, side by side."""
        return increments.added_up(pieces, self.key, label=label)

    def strengthened(self, base: DataFrame, weak: Operand, *, among: str = "") -> DataFrame:
        """With `among`, the rows of `base` have increments among them, called so, that are not added up yet."""
        return increments.strengthen(base, weak.rows, self.key, small=weak.small, label=weak.label, among=among)

    def chained(self, chain: DataFrame) -> DataFrame | None:
        return increments.total(chain.drop(PART), self.key)


def replace(key: Sequence[str], order: str | None = None, unique: bool = True, by: str | None = None) -> Replace:
    """All rows of a key are superseded by the rows given; a key given with no rows is dropped.

    Covers upserts, and "the new links of a page supersede its old ones". With `order`, a late older row
    loses. A strong delta shows all rows of a key only where the key is `unique`.
    """
    name = f"replace({','.join(key)}{f'; {order}' if order else ''})"
    return Replace(name, key=tuple(key), order=order, by=by or order, unique=unique)


def increment(key: Sequence[str], columns: Sequence[str]) -> Increment:
    """Amounts to be added to `columns` by `key`, with creation and retirement of groups by a hidden count."""
    return Increment(f"increment({','.join(key)})", key=tuple(key), columns=tuple(columns), expand=2.0)
