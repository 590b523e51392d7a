"""Temporal provenance: which snapshots of which inputs a block reflects [2.1].

`T = ⟨T[0], …, T[n-1]⟩` has one entry per pathway, the *set* of input snapshots reflected through it.
Everything here is a plain value: no clock, no timeline. What depends on them (`⁻`, consistency,
staleness) is asked of `olston.timeline.History`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from olston.errors import ProvenanceError

Stamp: TypeAlias = int | float
"""Microseconds since the epoch, UTC. Planning problems may use any number: a logical clock works the same."""

Entry: TypeAlias = frozenset[Stamp]

EMPTY: Entry = frozenset()


class Provenance(tuple[Entry, ...]):
    """`T`, immutable and hashable: a tuple of entries.

    `oldest[i]` and `newest[i]` are `min T[i]` and `max T[i]` = `T[i]⁺`, or `None` for an empty entry,
    which claims nothing and occurs in deltas only (a one-sided union).
    """

    oldest: tuple[Stamp | None, ...]
    newest: tuple[Stamp | None, ...]

    def __new__(cls, entries: Iterable[Iterable[Stamp]]) -> Provenance:
        made = super().__new__(cls, (_entry(i, e) for i, e in enumerate(entries)))
        if not made:
            raise ProvenanceError("provenance without entries: every channel has at least one pathway.")
        made.oldest = tuple(min(e) if e else None for e in made)
        made.newest = tuple(max(e) if e else None for e in made)
        return made

    @classmethod
    def _of(
        cls, entries: Iterable[Entry], oldest: tuple[Stamp | None, ...], newest: tuple[Stamp | None, ...]
    ) -> Provenance:
        made = tuple.__new__(cls, entries)
        made.oldest, made.newest = oldest, newest
        return made

    @classmethod
    def at(cls, *stamps: Stamp) -> Provenance:
        """One snapshot per pathway: `Provenance.at(3, 5)` is `⟨{3}, {5}⟩`."""
        return cls((s,) for s in stamps)

    @classmethod
    def unclaimed(cls, pathways: int) -> Provenance:
        """`⟨{}, …⟩`: what a one-sided union says of the side it does not propagate."""
        return cls(() for _ in range(pathways))

    def __add__(self, other: Provenance) -> Provenance:  # type: ignore[override]
        """`T₁ ⊕ T₂`: concatenation."""
        return Provenance._of(tuple.__add__(self, other), self.oldest + other.oldest, self.newest + other.newest)

    def part(self, positions: Iterable[int]) -> Provenance:
        """The entries at `positions`, in their order."""
        chosen = tuple(positions)
        return Provenance._of(
            tuple(self[i] for i in chosen),
            tuple(self.oldest[i] for i in chosen),
            tuple(self.newest[i] for i in chosen),
        )

    @property
    def has_empty_entry(self) -> bool:
        return None in self.newest

    @property
    def mixes(self) -> bool:
        """Whether some entry has several snapshots."""
        return self.oldest != self.newest

    def precedes(self, other: Provenance) -> bool:
        """`self ≺ other`: no entry of `other` is behind in either end, and some entry is ahead in one.

        Both ends count, so `{Mon,Tue,Wed} → {Wed}` (a repair) and `{Mon} → {Mon,Tue}` (an asynchronous
        step) are progress and `{Mon,Wed} → {Tue}` is not. `⁻` is strictly increasing over the arrivals
        of a timeline, so comparing `min` compares `T[i]⁻`. Empty against non-empty is incomparable.
        A strict partial order.
        """
        if self.oldest == other.oldest and self.newest == other.newest:
            return False
        if len(self) != len(other):
            raise ProvenanceError(f"{self} and {other} differ in pathways: they belong to different channels.")
        for low, low2, high, high2 in zip(self.oldest, other.oldest, self.newest, other.newest, strict=True):
            if low is None or low2 is None or high is None or high2 is None:
                if low is not low2:
                    return False
            elif low2 < low or high2 < high:
                return False
        return True

    def admits(self, source: Provenance, target: Provenance) -> bool:
        """Whether a delta `source ▷ target` applies to a base of this provenance, exactly or relaxed [2.4]:
        for each i, `T₁[i] = T₂[i]` or `T₂[i] = T₃[i]`."""
        if self == source:
            return True
        try:
            return all(own == old or old == new for own, old, new in zip(self, source, target, strict=True))
        except ValueError:
            raise ProvenanceError(
                f"delta {source} ▷ {target} and {self} differ in pathways: they belong to different channels."
            ) from None

    def apply(self, source: Provenance, target: Provenance) -> Provenance:
        """The provenance after a delta `source ▷ target` [2.4]: `(T₁[i] \\ T₂[i]) ∪ T₃[i]`."""
        if self == source:
            return target
        if not self.admits(source, target):
            raise ProvenanceError(
                f"delta {source} ▷ {target} does not apply to {self}: an entry that it advances differs."
            )
        entries, oldest, newest = list(target), list(target.oldest), list(target.newest)
        for i, own in enumerate(self):
            if own != source[i]:  # then the delta leaves this entry alone, and the base keeps what it had
                entries[i] = own | target[i]
                oldest[i] = min((s for s in (self.oldest[i], oldest[i]) if s is not None), default=None)
                newest[i] = max((s for s in (self.newest[i], newest[i]) if s is not None), default=None)
        return Provenance._of(entries, tuple(oldest), tuple(newest))

    def __repr__(self) -> str:
        return f"Provenance({[sorted(e) for e in self]})"

    def __str__(self) -> str:
        return "⟨" + ", ".join("{" + ",".join(str(s) for s in sorted(e)) + "}" for e in self) + "⟩"

    def to_json(self) -> list[list[Stamp]]:
        """A list of ascending lists of stamps, one per pathway."""
        return [sorted(e) for e in self]


def _entry(index: int, stamps: Iterable[Stamp]) -> Entry:
    entry = stamps if isinstance(stamps, frozenset) else frozenset(stamps)
    for stamp in entry:
        if isinstance(stamp, bool) or not isinstance(stamp, int | float):
            raise ProvenanceError(f"entry {index}: {stamp!r} is no timestamp; a timestamp is an int of microseconds.")
        if not stamp >= 0:
            raise ProvenanceError(f"entry {index}: timestamp {stamp!r} is before 0, the empty relation.")
    return entry
