"""Random workflows and histories show all that the equality is to hold for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

from tests.equality.rows import history
from tests.equality.snapshots import APPEND, BASE, DELTA, REPLACE, Arrivals, Wave
from tests.equality.spec import Aggregate, Batch, Join, Map, Node, Source, Spec
from tests.equality.workflows import POOL, workflow

WORKFLOWS = 150
WIDGETS = {
    "Map", "flat Map", "keyed Map", "Filter", "Split", "Extract", "Aggregate", "Distinct", "inner Join", "left Join",
    "Union", "Batch", "sync Batch",
}  # fmt: skip
MEASURES = {"count", "sum", "avg", "var", "stddev", "min", "max", "count_values", "count_distinct"}
SHAPES = {"several pathways", "a source on several pathways", "feeds", "several sources", "ordered source"}
WAVES = {
    *(APPEND, DELTA, REPLACE, BASE), *(f"empty {kind}" for kind in (APPEND, DELTA, REPLACE, BASE)), "deletions",
    "tombstones", "several under one stamp", "a row again", "a key that is null", "skew",
}  # fmt: skip


def test_every_widget_type_and_kind_of_arrival_is_drawn_again_and_again() -> None:
    seen: Counter[str] = Counter()
    for seed in range(WORKFLOWS):
        random = Random(seed)
        spec = workflow(random, fewest=3)
        seen.update(set(shown(spec)))
        seen.update(set(arrived(spec, history(random, spec, cases=20, fewest=2))))
    wanted = WIDGETS | MEASURES | SHAPES | WAVES | {c.type for c in POOL} | {f"key of {c.type}" for c in POOL}
    assert {w: seen[w] for w in wanted if seen[w] < 3} == {}


def shown(spec: Spec) -> Iterator[str]:
    """What a workflow has."""
    pathways = [spec.pathways(c) for c in spec.channels]
    yield from ["several pathways"] * any(len(p) > 1 for p in pathways)
    yield from ["a source on several pathways"] * any(len(set(p)) < len(p) for p in pathways)
    yield from ["feeds"] * spec.feeds
    yield from ["several sources"] * (len(spec.sources) > 1)
    for node in spec.nodes:
        yield from _shown(node)


def _shown(node: Node) -> Iterator[str]:
    match node:
        case Source():
            yield from (c.type for c in node.columns)
            yield from (f"key of {c.type}" for c in node.columns[1:] if c.name in (node.key or ()))
            yield from ["ordered source"] * (node.order is not None)
        case Map():
            yield f"{'flat ' if node.flat else 'keyed ' if node.key else ''}Map"
        case Join():
            yield f"{node.how} Join"
        case Batch():
            yield "sync Batch" if node.sync else "Batch"
        case _:
            yield type(node).__name__
    if isinstance(node, Aggregate):
        yield from (measure.function for _, measure in node.columns)


def arrived(spec: Spec, arrivals: Arrivals) -> Iterator[str]:
    """What a history has."""
    for arrival in arrivals.all:
        yield from ["several under one stamp"] * (len(arrival.waves) > 1)
        for name, wave in arrival.waves.items():
            source = spec.node(name)
            assert isinstance(source, Source)
            yield from _arrived(source, wave)


def _arrived(source: Source, wave: Wave) -> Iterator[str]:
    yield wave.kind if wave.rows or wave.deleted else f"empty {wave.kind}"
    if wave.deleted:
        yield "tombstones" if wave.kind == REPLACE else "deletions"
    rows = Counter(wave.rows)
    yield from ["a row again"] * any(n > 1 for n in rows.values())
    place = [i for i, c in enumerate(source.columns) if c.name in (source.key or ())[1:]]
    yield from ["a key that is null"] * any(row[i] is None for row in rows for i in place)
    values = Counter((i, v) for row in wave.rows for i, v in enumerate(row[1:]) if v is not None)
    yield from ["skew"] * any(n > len(wave.rows) / 2 > 5 for n in values.values())
