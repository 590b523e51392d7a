"""Hypothesis strategies for the values of the model, shared by all tests.

Stamps are few and small, so that entries often coincide, touch and overlap.
"""

from __future__ import annotations

from hypothesis import strategies as st

from olston.block import BASE, DELTA, MONOTONE, Block, weak
from olston.provenance import Entry, Provenance, Stamp
from olston.timeline import History, Timeline

LATEST = 6
"""The largest stamp drawn by default."""

KINDS = (BASE, DELTA, MONOTONE, weak("replace(k)"), weak("increment(k)"))


def stamps(latest: int = LATEST) -> st.SearchStrategy[Stamp]:
    return st.integers(0, latest)


def entries(*, empty: bool = True, latest: int = LATEST) -> st.SearchStrategy[Entry]:
    """Sets of snapshots, often with several elements, sometimes empty."""
    return st.frozensets(stamps(latest), min_size=0 if empty else 1, max_size=4)


def widths(most: int = 3) -> st.SearchStrategy[int]:
    return st.integers(1, most)


@st.composite
def provenances(
    draw: st.DrawFn, pathways: int | None = None, *, empty: bool = True, latest: int = LATEST
) -> Provenance:
    """Provenance of `pathways` entries, or of any small number of them."""
    width = draw(widths()) if pathways is None else pathways
    return Provenance(draw(st.lists(entries(empty=empty, latest=latest), min_size=width, max_size=width)))


@st.composite
def same_width(draw: st.DrawFn, count: int, *, empty: bool = True, latest: int = LATEST) -> tuple[Provenance, ...]:
    """`count` provenances of one channel."""
    width = draw(widths())
    return tuple(draw(provenances(width, empty=empty, latest=latest)) for _ in range(count))


@st.composite
def _entry_not_behind(draw: st.DrawFn, entry: Entry) -> Entry:
    if not entry:
        return entry
    low = draw(st.integers(0, 2)) + min(entry)
    high = draw(st.integers(0, 2)) + max(low, max(entry))
    between = draw(st.frozensets(st.sampled_from([low, (low + high) / 2, high])))
    return between | {low, high}


@st.composite
def ascending(draw: st.DrawFn, count: int, *, empty: bool = True) -> tuple[Provenance, ...]:
    """`count` provenances, each not behind the one before in either end of any entry, and ahead of it in one."""
    chain = [draw(provenances(empty=empty).filter(lambda t: any(t)))]
    while len(chain) < count:
        following = [draw(_entry_not_behind(e)) for e in chain[-1]]
        ends = [(min(e), max(e)) for e in following if e]
        if ends == [(min(e), max(e)) for e in chain[-1] if e]:
            claimed = draw(st.sampled_from([i for i, e in enumerate(following) if e]))
            following[claimed] = following[claimed] | {max(following[claimed]) + 1}
        chain.append(Provenance(following))
    return tuple(chain)


@st.composite
def applications(draw: st.DrawFn) -> tuple[Provenance, Provenance, Provenance]:
    """A base `T₁` and a delta `T₂ ▷ T₃` that applies to it: each entry is equal in base and source, or idle."""
    base, source, target = [], [], []
    for _ in range(draw(widths(4))):
        own = draw(entries(empty=False))
        if draw(st.booleans()):
            old, new = own, draw(entries(empty=False))
        else:
            old = new = draw(entries())
        base.append(own)
        source.append(old)
        target.append(new)
    return Provenance(base), Provenance(source), Provenance(target)


@st.composite
def timelines(draw: st.DrawFn, channel: str = "in", latest: int = 30) -> Timeline:
    """A timeline with some arrivals; the empty relation at 0 is always there."""
    return Timeline(channel, sorted(draw(st.frozensets(st.integers(1, latest), max_size=12))))


@st.composite
def timelines_with_entries(draw: st.DrawFn) -> tuple[Timeline, Entry]:
    """A timeline and a set of its snapshots."""
    line = draw(timelines())
    return line, draw(st.frozensets(st.sampled_from(line.arrivals)))


@st.composite
def histories(
    draw: st.DrawFn, count: int = 2, *, empty: bool = True
) -> tuple[History, tuple[str, ...], tuple[Provenance, ...]]:
    """A history, the inputs of a channel's pathways, and `count` provenances that its timelines allow."""
    lines = {name: draw(timelines(name, 10)) for name in ("a", "b")}
    now = draw(st.integers(max(line.newest for line in lines.values()) + 1, 15))  # type: ignore[arg-type]
    inputs = tuple(draw(st.lists(st.sampled_from(("a", "b")), min_size=1, max_size=3)))
    least = 0 if empty else 1
    found = tuple(
        Provenance(draw(st.frozensets(st.sampled_from(lines[i].arrivals), min_size=least, max_size=3)) for i in inputs)
        for _ in range(count)
    )
    return History(lines, now), inputs, found


@st.composite
def blocks(draw: st.DrawFn, channel: str = "c") -> Block:
    """Sound blocks of every kind."""
    kind = draw(st.sampled_from(KINDS))
    rows = draw(st.integers(0, 1_000))
    if kind == BASE:
        return Block(channel, kind, draw(provenances(empty=False)), rows=rows)
    source, target = draw(ascending(2))
    return Block(channel, kind, target, source, rows, draw(st.booleans()))
