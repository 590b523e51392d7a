"""Workflows written by hand in which every operator has its use, with histories that let every variant run."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.equality.catalogue import (
    ARRAY,
    DECIMAL,
    DOUBLES,
    Column,
    Expression,
    Rowwise,
    arrays,
    conditions,
    kept,
    missing,
    top,
)
from tests.equality.rows import Waves
from tests.equality.snapshots import APPEND, BASE, DELTA, REPLACE, Arrival, Arrivals, Wave
from tests.equality.spec import (
    CASE,
    Aggregate,
    Batch,
    Distinct,
    Extract,
    Filter,
    Join,
    Map,
    Measure,
    Node,
    Source,
    Spec,
    Split,
    Union,
)  # fmt: skip

K, V, S, G = Column("k", "int"), Column("v", "int"), Column("s", "string"), Column("g", "string")
M, Y, D, A = Column("m", DECIMAL), Column("y", "double", coarse=True), Column("d", "date"), Column("a", ARRAY)
ITEMS = Source("items", (CASE, K, V, Y))
TAGGED = Source("tagged", (CASE, K, S, A))
NAMES = Source("names", (CASE, K, S))
KEYED = Source("keyed", (CASE, K, V), key=("c", "k"))
TITLES = Source("titles", (CASE, K, G), key=("c", "k"))
OTHERS = Source("others", (CASE, G, K), key=("c", "g"))
BYTES, F, Q = Column("o", "binary"), Column("f", "float", coarse=True), Column("q", DOUBLES)
ODD = Source("odd", (CASE, BYTES, F, Column("u", "timestamp_ntz"), Column("i", "tinyint"), Q), key=("c", "o"))
LATE = Source("late", (CASE, K, V, D), key=("c", "k"), order="v")

STRONG = (APPEND, DELTA, APPEND, BASE)
UPSERTS = (REPLACE, REPLACE, DELTA, REPLACE)
GROWING = (APPEND, APPEND, APPEND)


def select(*columns: Column, **changed: Expression) -> Rowwise:
    """Those columns as they are, and `changed` ones under their names."""
    return Rowwise((*((c.name, kept(c)) for c in columns), *changed.items()))


@dataclass(frozen=True)
class Written:
    """A workflow, and the kinds of the waves on each of its sources."""

    name: str
    spec: Spec
    kinds: tuple[tuple[str, ...], ...]
    mixing: bool = False
    """Whether it is worth making contents in which several snapshots of one input mix."""
    delta: bool = False
    """Whether its blocks go through Delta also where time counts."""

    def arrivals(self, cases: int = 30) -> Arrivals:
        """All sources arrive at 10, then the first at 20, 40 and so on, and the others at 30, 50 and so on."""
        random = Random(self.name)
        found: dict[int, dict[str, Wave]] = {}
        for source, kinds in zip(self.spec.sources, self.kinds, strict=True):
            drawn = Waves(random, source, cases)
            for i, kind in enumerate(kinds):
                stamp = 10 if i == 0 else 20 * i if source == self.spec.sources[0] else 20 * i + 10
                wave = found.setdefault(stamp, {})[source.name] = drawn.wave(kind)
                drawn.content.take(wave, stamp)
        return Arrivals(tuple(Arrival(stamp, found[stamp]) for stamp in sorted(found)))


def written(name: str, *nodes: Node, kinds: tuple[tuple[str, ...], ...], **options: bool) -> Written:
    return Written(name, Spec(nodes, feeds=True), kinds, **options)


ALL = select(CASE, K, V)
EXPLODED = Rowwise(
    (("c", kept(CASE)), ("k", kept(K)), ("e", kept(Column("e", "int")))), each=("e", arrays(A)[0][0])
)  # fmt: skip

WRITTEN = (
    written(
        "stateless operators on deltas with deletions",
        TAGGED, Map("mapped", "tagged", select(CASE, S)), Map("exploded", "tagged", EXPLODED, flat=True),
        Split(("short", "other", "rest"), "tagged", (conditions(S)[0], conditions(K)[0])),
        kinds=(STRONG,),
    ),
    written(
        "replacements cross map, filter and split",
        KEYED, Map("mapped", "keyed", ALL, ("c", "k")), Filter("high", "mapped", conditions(V)[0]),
        Split(("even", "odd"), "keyed", (conditions(V)[1],)),
        kinds=(UPSERTS,),
    ),
    written(
        "late rows lose, also after filter and split",
        LATE, Filter("high", "late", conditions(V)[0]), Split(("old", "young"), "late", (conditions(D)[0],)),
        kinds=((REPLACE, REPLACE, DELTA, REPLACE),), delta=True,
    ),
    written(
        "the newest row of a key by arrival, and by order",
        ITEMS, Extract("newest", "items", ALL, ("c", "k")),
        Filter("some", "items", conditions(V)[0]), Extract("greatest", "some", select(CASE, K, V, Y), ("c", "k"), "y"),
        Map("plain", "items", ALL), Extract("unknown", "plain", select(CASE, K, V), ("c", "k")),
        kinds=((APPEND, APPEND, DELTA, APPEND),), delta=True,
    ),
    written(
        "counts, sums, means and spreads, by increments and by the groups touched",
        Source("items", (CASE, K, V, Y, M)),
        Aggregate("counts", "items", ("c",), (("n", Measure("count")), ("t", Measure("sum", "m")))),
        Aggregate("spreads", "items", ("c", "k"), (("a", Measure("avg", "m")), ("w", Measure("stddev", "v")))),
        Aggregate("sums", "items", ("c", "k"), (("t", Measure("sum", "y")), ("a", Measure("avg", "y")))),
        Aggregate("ends", "items", ("c", "k"), (("l", Measure("min", "v")), ("u", Measure("count_distinct", "y")))),
        Distinct("rows", "items"),
        kinds=((APPEND, DELTA, APPEND),),
    ),
    written(
        "one global row",
        ITEMS, Aggregate("all", "items", (), (("n", Measure("count")), ("t", Measure("sum", "v")))),
        Aggregate("end", "items", (), (("h", Measure("max", "v")),)), kinds=((APPEND, DELTA, BASE),),
    ),
    written(
        "changes on the right of an inner join, where a key has one row",
        NAMES, ITEMS, Aggregate("counts", "items", ("c", "k"), (("n", Measure("count")),)),
        Join("out", "names", "counts", ("c", "k")), kinds=((APPEND, DELTA), STRONG),
    ),
    written(
        "an inner join of strong deltas",
        ITEMS, NAMES, Join("out", "items", "names", ("c", "k")), kinds=(STRONG, (APPEND, DELTA)),
    ),
    written(
        "a left join of strong deltas",
        ITEMS, NAMES, Join("out", "items", "names", ("c", "k"), "left"), kinds=((APPEND, DELTA, APPEND), STRONG),
        delta=True,
    ),
    written(
        "joins of what only grows, applied relaxed",
        ITEMS, NAMES, Join("out", "items", "names", ("c", "k")), Map("after", "out", select(CASE, K, S)),
        kinds=(GROWING, GROWING), mixing=True,
    ),
    written(
        "joins of replacements by a key of either side",
        KEYED, OTHERS, Join("out", "keyed", "others", ("c", "k")), Filter("some", "out", conditions(V)[0]),
        kinds=(UPSERTS, (REPLACE, REPLACE, REPLACE)), mixing=True,
    ),
    written(
        "a left join of replacements, whose key is the left one's",
        KEYED, TITLES, Join("out", "keyed", "titles", ("c", "k"), "left"),
        Map("after", "out", select(CASE, K, G), ("c", "k")), kinds=(UPSERTS, (REPLACE, DELTA, REPLACE)), mixing=True,
    ),
    written(
        "a union of three, and what is counted after it",
        ITEMS, Source("more", (CASE, K, V, Y)), Union("out", ("items", "more", "items")), Distinct("rows", "out"),
        Aggregate("counts", "out", ("c", "k"), (("n", Measure("count")),)), Map("after", "out", ALL),
        kinds=((APPEND, DELTA), (APPEND, DELTA)), mixing=True,
    ),
    written(
        "jobs on whole tables",
        ITEMS, NAMES, Batch("best", ("items",), top(2, "v")), Batch("lost", ("items", "names"), missing(("c", "k"))),
        Batch("lost_then", ("items", "names"), missing(("c", "k")), True), kinds=((APPEND, DELTA), (APPEND, BASE)),
    ),
    written(
        "bytes, times without a zone and short numbers, as Delta stores them",
        ODD, Filter("some", "odd", conditions(BYTES)[0]),
        Aggregate("by_float", "odd", ("c", "f"), (("n", Measure("count")), ("t", Measure("sum", "i")))),
        Aggregate("by_array", "odd", ("c", "q"), (("l", Measure("min", "o")), ("h", Measure("max", "u")))),
        kinds=((REPLACE, DELTA, REPLACE),), delta=True,
    ),
)  # fmt: skip
