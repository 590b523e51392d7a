"""Pathways: the paths from input channels to a channel [2.1].

One for each path through *operations*; variants, internal channels and converters are no separate
paths. Order: the pathways of the first input, then of the second, and so on; a channel used twice
gives its pathways twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from olston.errors import WorkflowError, unknown

LIMIT = 256
"""Paths multiply in deep diamonds; a channel with more pathways than this is refused."""


@dataclass(frozen=True)
class Pathway:
    """Pathway `index` of a channel, from `input` through `through`, named by the channels on it.

    The name lists the channels from the input up to, not including, the channel itself; a source's is
    its own name. Repeated names get `#0`, `#1`, ….
    """

    index: int
    name: str
    input: str
    through: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.index}: {self.name}"


def pathways_of(channel: str, parents: Sequence[tuple[str, Sequence[Pathway]]]) -> tuple[Pathway, ...]:
    """The pathways of `channel`, computed from `parents`; an empty name marks an internal channel, which adds none."""
    paths = [(p.input, (*p.through, name) if name else p.through) for name, ways in parents for p in ways]
    if len(paths) > LIMIT:
        raise WorkflowError(
            f"{channel}: {len(paths)} pathways, the limit is {LIMIT}; paths multiply where channels that share inputs "
            "are combined again and again. Combine them once, or publish and re-ingest an intermediate channel.",
            code="TOO_MANY_PATHWAYS",
        )
    names = [">".join(through) for _, through in paths]
    repeated = Counter(names)
    seen: Counter[str] = Counter()
    made = []
    for index, ((source, through), name) in enumerate(zip(paths, names, strict=True)):
        label = name if repeated[name] == 1 else f"{name}#{seen[name]}"
        seen[name] += 1
        made.append(Pathway(index, label, source, through))
    return tuple(made)


def resolve(channel: str, pathways: Sequence[Pathway], which: int | str) -> Pathway:
    """The pathway of `channel` that `which`, an index or a name, stands for."""
    if isinstance(which, int) and not isinstance(which, bool):
        if 0 <= which < len(pathways):
            return pathways[which]
    else:
        for pathway in pathways:
            if pathway.name == which:
                return pathway
    known = [str(i) for i in range(len(pathways))] if isinstance(which, int) else [p.name for p in pathways]
    error = unknown("pathway", which, known, f"channel {channel!r}")
    error.message += " Its pathways are " + "; ".join(str(p) for p in pathways) + "."
    raise error
