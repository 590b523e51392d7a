"""The evaluator against examples computed by hand, and the data that it is given."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.equality import rows as data
from tests.equality import workflows
from tests.equality.bags import Bag, Row, differences, plain, rank
from tests.equality.catalogue import ARRAY, Column, Expression, Rowwise, arrays, conditions, kept, missing, top
from tests.equality.evaluate import Evaluator, measure
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
    build,
)
from tests.equality.workflows import POOL

K, V, S = Column("k", "int"), Column("v", "int"), Column("s", "string")
ITEMS = Source("items", (CASE, K, V))
UPSERTS = Source("upserts", (CASE, K, V), key=("c", "k"))
ORDERED = Source("ordered", (CASE, K, V), key=("c", "k"), order="v")
NAMES = Source("names", (CASE, K, S))
ABOVE_ONE = conditions(V)[0]


def arrived(*waves: dict[str, Wave]) -> Arrivals:
    """Waves at the stamps 1, 2, …"""
    return Arrivals(tuple(Arrival(i, wave) for i, wave in enumerate(waves, 1)))


def bag(*rows: Row) -> Bag:
    return Counter(rows)


def rows(*given: Row, kind: str = APPEND, deleted: tuple[Row, ...] = ()) -> Wave:
    """Rows of case 0."""
    return Wave(kind, tuple((0, *r) for r in given), tuple((0, *r) for r in deleted))


def content(
    node: Node, arrivals: Arrivals, *stamps: int, channel: str = "out", sources: tuple[Source, ...]
) -> set[Any]:
    """The rows of `channel`, case left out, as pairs of row and count."""
    found = Evaluator(Spec((*sources, node)), arrivals)(channel, stamps)
    return {(row[1:], n) for row, n in found.items()}


def items(node: Node, *given: Row, channel: str = "out") -> set[Any]:
    """What `node` makes of one wave of items."""
    return content(node, arrived({"items": rows(*given)}), 1, channel=channel, sources=(ITEMS,))


def snapshot(source: Source, *waves: Wave) -> set[Row]:
    """The rows that `source` holds after `waves`, none of them twice."""
    found = arrived(*({source.name: w} for w in waves)).snapshot(source, len(waves)).rows
    assert set(found.values()) <= {1}
    return {row[1:] for row in found}


def test_a_snapshot_is_empty_at_0_and_adds_up_appends_and_deltas() -> None:
    arrivals = arrived(
        {"items": rows((1, 1), (1, 1))}, {"names": rows()}, {"items": rows((2, 2), kind=DELTA, deleted=((1, 1),))}
    )
    assert arrivals.stamps("items") == (0, 1, 3)
    assert not arrivals.snapshot(ITEMS, 0).rows
    assert arrivals.snapshot(ITEMS, 2).rows == bag((0, 1, 1), (0, 1, 1))
    assert arrivals.snapshot(ITEMS, 3).rows == bag((0, 1, 1), (0, 2, 2))
    assert arrivals.snapshot(ITEMS, 3).arrivals == {(0, 1, 1): 1, (0, 2, 2): 3}


def test_a_base_is_all_there_is() -> None:
    assert snapshot(ITEMS, rows((1, 1)), rows((2, 2), kind=BASE)) == {(2, 2)}


def test_a_replacement_supersedes_by_key_and_null_keys_are_equal() -> None:
    second = rows((None, 5), kind=REPLACE, deleted=((1, None), (7, None)))
    assert snapshot(UPSERTS, rows((None, 1), (1, 1), (2, 2), kind=REPLACE), second) == {(None, 5), (2, 2)}


@pytest.mark.parametrize(
    ("late", "left"),
    [
        (rows((1, 4), kind=REPLACE), {(1, 5)}),
        (rows((1, None), kind=REPLACE), {(1, 5)}),
        (rows((1, 6), kind=REPLACE), {(1, 6)}),
        (rows(kind=REPLACE, deleted=((1, 4),)), {(1, 5)}),
        (rows(kind=REPLACE, deleted=((1, 5),)), set()),
    ],
)
def test_with_an_order_a_late_older_row_loses(late: Wave, left: set[Row]) -> None:
    assert snapshot(ORDERED, rows((1, 5), kind=REPLACE), late) == left


def test_a_deleted_key_is_remembered_with_its_order() -> None:
    deleted = rows(kind=REPLACE, deleted=((1, 7),))
    assert snapshot(ORDERED, deleted, rows((1, 6), kind=REPLACE)) == set()
    assert snapshot(ORDERED, deleted, rows((1, 7), kind=REPLACE)) == {(1, 7)}


def test_map_and_flat_map_count_every_copy() -> None:
    halved = Rowwise((("c", kept(CASE)), ("w", Expression("v div 2", "bigint", lambda r: r["v"] // 2))))
    assert items(Map("out", "items", halved), (1, 2), (2, 3), (3, 4)) == {((1,), 2), ((2,), 1)}
    array = Source("items", (CASE, Column("a", ARRAY)))
    (each, _), *_ = arrays(array.columns[1])
    exploded = Rowwise((("c", kept(CASE)), ("e", kept(Column("e", "int")))), each=("e", each))
    wave = {"items": rows(((1, None, 1),), (None,), ((),), ((1,),))}
    assert content(Map("out", "items", exploded, flat=True), arrived(wave), 1, sources=(array,)) == {
        ((1,), 3), ((None,), 1),
    }  # fmt: skip


def test_null_is_no_match_in_filter_and_split_and_the_first_match_wins() -> None:
    given = (1, 5), (1, None), (1, 0)
    assert items(Filter("out", "items", ABOVE_ONE), *given) == {((1, 5), 1)}
    even = conditions(V)[1]
    split = Split(("high", "even", "rest"), "items", (ABOVE_ONE, even))
    found = [items(split, *given, (1, 2), channel=name) for name in split.names]
    assert found == [{((1, 5), 1), ((1, 2), 1)}, {((1, 0), 1)}, {((1, None), 1)}]


def newest(order_by: str | None = None, where: Expression | None = None) -> Extract:
    everything = tuple((c.name, kept(c)) for c in ITEMS.columns)
    return Extract("out", "items", Rowwise(everything, where), ("c", "k"), order_by)


def test_extract_takes_the_greatest_order_then_the_latest_arrival_then_the_greatest_row() -> None:
    history = arrived({"items": rows((1, 9), (1, None), (2, 5))}, {"items": rows((1, 3), (1, 4), (2, 5))})
    assert content(newest(), history, 2, sources=(ITEMS,)) == {((1, 4), 1), ((2, 5), 1)}
    assert content(newest("v"), history, 2, sources=(ITEMS,)) == {((1, 9), 1), ((2, 5), 1)}
    assert content(newest(where=ABOVE_ONE), history, 1, sources=(ITEMS,)) == {((1, 9), 1), ((2, 5), 1)}
    assert items(newest(where=ABOVE_ONE), (1, 1), (1, 0)) == set()


def test_extract_knows_arrival_through_filter_but_not_through_union_and_map() -> None:
    history = arrived({"items": rows((1, 9))}, {"items": rows((1, 3))})
    same = Rowwise(tuple((c.name, kept(c)) for c in ITEMS.columns))
    always = Expression("true", "boolean", lambda _: True)
    extract = Extract("out", "between", same, ("c", "k"))

    def found(between: Node, *stamps: int) -> Bag:
        return Evaluator(Spec((ITEMS, between, extract)), history)("out", stamps)

    assert found(Filter("between", "items", always), 2) == bag((0, 1, 3))
    assert found(Union("between", ("items", "items")), 2, 1) == bag((0, 1, 9))
    assert found(Map("between", "items", same), 2) == bag((0, 1, 9))


def test_extract_counts_equal_rows_as_newest_when_one_came_again_or_went() -> None:
    history = arrived(
        {"items": rows((1, 1))}, {"items": rows((1, 2))}, {"items": rows((1, 1))},
        {"items": rows(kind=DELTA, deleted=((1, 1),))},
    )  # fmt: skip
    winners = [content(newest(), history, stamp, sources=(ITEMS,)) for stamp in (1, 2, 3, 4)]
    assert winners == [{((1, 1), 1)}, {((1, 2), 1)}, {((1, 1), 1)}, {((1, 1), 1)}]


def test_aggregate_groups_nulls_and_ignores_null_values() -> None:
    measures = ("n", Measure("count")), ("s", Measure("sum", "v")), ("u", Measure("count_distinct", "v"))
    node = Aggregate("out", "items", ("c", "k"), measures)
    assert items(node, (None, 1), (None, 2), (None, 2), (1, None)) == {((None, 3, 5, 2), 1), ((1, 1, None, 0), 1)}
    assert items(node) == set()


def test_a_global_aggregate_always_has_one_row() -> None:
    node = Aggregate("out", "items", (), (("n", Measure("count")), ("s", Measure("sum", "v"))))
    assert Evaluator(Spec((ITEMS, node)), arrived())("out", (0,)) == bag((0, None))


@pytest.mark.parametrize(
    ("function", "values", "kind", "result"),
    [
        ("avg", [1, 2], "double", 1.5),
        ("avg", [Decimal("0.01"), Decimal("0.01"), Decimal("0.02")], "decimal(14,6)", Decimal("0.013333")),
        ("avg", [Decimal("-0.01"), Decimal("0.00"), Decimal("-0.01")], "decimal(14,6)", Decimal("-0.006667")),
        ("var", [1, 2, 4], "double", 7 / 3),
        ("stddev", [2**53 + 1, 2**53 + 3], "double", math.sqrt(2)),
        ("var", [1], "double", None),
        ("sum", [], "bigint", None),
        ("max", [0.5, math.nan], "double", math.nan),
        ("min", ["b", "B", ""], "string", ""),
        ("sum", [0.1] * 10, "double", 1.0),
    ],
)
def test_measures(function: str, values: list[Any], kind: str, result: Any) -> None:
    found = measure(Measure(function, "v"), values, kind)
    assert (found,) == (result,)  # as rows are compared: NaN is equal to itself


def test_distinct_is_every_row_once() -> None:
    assert items(Distinct("out", "items"), (None, 1), (None, 1), (2, 2)) == {((None, 1), 1), ((2, 2), 1)}


def test_joins_never_match_null_and_multiply_copies() -> None:
    waves = arrived({
        "items": rows((1, 5), (1, 5), (None, 6), (2, 7)), "names": rows((1, "a"), (1, "b"), (None, "c")),
    })  # fmt: skip
    inner = {((1, 5, "a"), 2), ((1, 5, "b"), 2)}
    sources = ITEMS, NAMES
    assert content(Join("out", "items", "names", ("c", "k")), waves, 1, 1, sources=sources) == inner
    left = content(Join("out", "items", "names", ("c", "k"), "left"), waves, 1, 1, sources=sources)
    assert left == inner | {((None, 6, None), 1), ((2, 7, None), 1)}


def test_join_columns_are_those_of_using() -> None:
    node = Join("out", "items", "names", ("k", "c"))
    spec = Spec((ITEMS, NAMES, node))
    assert [c.name for c in spec.columns("out")] == ["k", "c", "v", "s"]
    waves = arrived({"items": rows((1, 5)), "names": rows((1, "a"))})
    assert Evaluator(spec, waves)("out", (1, 1)) == bag((1, 0, 5, "a"))


def test_union_goes_by_name_and_each_pathway_has_its_own_snapshot() -> None:
    turned = Source("turned", (CASE, V, K))
    history = arrived({"items": rows((1, 2))}, {"items": rows((3, 4)), "turned": rows((6, 5))})
    node = Union("out", ("items", "turned", "items"))
    assert content(node, history, 1, 2, 2, sources=(ITEMS, turned)) == {((1, 2), 2), ((3, 4), 1), ((5, 6), 1)}


def test_batch_calls_its_function_on_whole_tables() -> None:
    assert items(Batch("out", ("items",), top(2, "v")), (1, 5), (2, 5), (3, None), (4, 1)) == {
        ((1, 5), 1), ((2, 5), 1),
    }  # fmt: skip
    history = arrived({"items": rows((1, 1), (None, 1)), "names": rows((1, "a"), (None, "b"))})
    node = Batch("out", ("items", "names"), missing(("c", "k")))
    assert content(node, history, 1, 1, sources=(ITEMS, NAMES)) == {((None, 1), 1)}


def test_bags_differ_only_by_what_no_rounding_explains() -> None:
    assert not differences({(1, 0.1 + 0.2): 1, (2, math.nan): 1}, {(1, 0.3): 1, (2, math.nan): 1})
    assert not differences({(0.3,): 1, (0.1 + 0.2,): -1}, {})
    assert differences({(1, 0.3): 2}, {(1, 0.3): 1, (1, 0.4): 1}) == {(1, 0.3): 1, (1, 0.4): -1}
    assert not differences({(-0.0,): 1}, {(0.0,): 1})


def test_null_is_smallest_and_nan_greatest() -> None:
    assert sorted([math.nan, 1.0, None, -1.0], key=rank)[:3] == [None, -1.0, 1.0]
    assert sorted([(1, 2), (1,), (1, None), ()], key=rank) == [(), (1,), (1, None), (1, 2)]
    assert plain([1, [float("nan")]]) == (1, (math.nan,))


@settings(max_examples=60)
@given(st.integers(0, 2**64 - 1))
def test_random_workflows_build_and_can_be_evaluated_on_random_histories(seed: int) -> None:
    random = Random(seed)
    spec = workflows.workflow(random)
    arrivals = data.history(random, spec, cases=3)
    workflow = build(spec)
    evaluator = Evaluator(spec, arrivals)
    for channel in spec.channels:
        inputs = spec.pathways(channel)
        assert inputs == tuple(p.input for p in workflow.pathways(channel))
        found = evaluator(channel, [max(arrivals.stamps(s)) for s in inputs])
        assert all(len(row) == len(spec.columns(channel)) for row in found)
        assert workflow.channel(channel).knows_arrival == (
            evaluator.table(channel, tuple(max(arrivals.stamps(s)) for s in inputs)).arrivals is not None
        )


@settings(max_examples=60)
@given(st.integers(0, 2**64 - 1), st.sampled_from([None, ("c", "k")]), st.sampled_from([None, "v"]))
def test_keys_stay_unique_in_random_histories(seed: int, key: tuple[str, ...] | None, order: str | None) -> None:
    source = Source("items", (CASE, *POOL[:3]), key, order if key else None)
    arrivals = data.history(Random(seed), Spec((source,)), cases=3)
    for stamp in arrivals.stamps("items"):
        table = arrivals.snapshot(source, stamp)
        assert table.rows.keys() == (table.arrivals or {}).keys()
        if key is not None:
            assert max(Counter(table.at(r, key) for r in table.rows.elements()).values(), default=1) == 1


def test_every_type_of_column_has_a_domain() -> None:
    assert {c.type for c in POOL} == set(data.DOMAINS)
