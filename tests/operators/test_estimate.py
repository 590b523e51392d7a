"""Sizes saturate, incremental and batch estimates of the same data agree, and more data never costs less."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, DELTA, MONOTONE, Block, Kind, weak
from olston.operators.aggregate import BatchAggregate, IncrementAggregate, TouchedGroupsAggregate
from olston.operators.batch import Batch
from olston.operators.chain import Chain
from olston.operators.convert import Apply, ApplyWeak, Complete, Difference, Strengthen, WeakDifference, Weaken
from olston.operators.estimate import Statistics, Work
from olston.operators.extract import BatchExtract, IncrementalExtract
from olston.operators.join import (
    AsyncBatchJoin,
    AsyncLeftJoin,
    AsyncRightJoin,
    BatchJoin,
    IncrementalJoin,
    IncrementalLeftJoin,
    ReplaceLeftJoin,
    ReplaceRightJoin,
    SupersedingRightJoin,
    TouchedKeysJoin,
)
from olston.operators.map import BatchMap, IncrementalMap, ReplaceMap
from olston.operators.operator import Operator
from olston.operators.union import AsyncBatchUnion, AsyncLeftUnion, AsyncRightUnion, BatchUnion, IncrementalUnion
from olston.operators.weak import increment, replace
from olston.provenance import Provenance
from olston.scheduler.cost import PRIORS

REPLACE, INCREMENT = weak("replace(k)"), weak("increment(k)")
GROUPS = 1e4
SIZES = st.integers(0, int(GROUPS)).map(float)
STATISTICS = st.builds(
    Statistics,
    rows=st.sampled_from([0.0, 0.1, 1.0, 3.0]),
    groups=st.sampled_from([None, 2 * GROUPS, 1e6]),
    keys=st.sampled_from([None, 10.0, 1e4]),
    growth=st.sampled_from([0.0, 0.5]),
    limit=st.sampled_from([None, 100.0]),
)
OPERATORS: Sequence[Operator] = (
    BatchMap(), IncrementalMap(), ReplaceMap(REPLACE), BatchMap(3), IncrementalMap(3),
    BatchExtract(), IncrementalExtract(REPLACE),
    BatchAggregate(), IncrementAggregate(INCREMENT), TouchedGroupsAggregate(REPLACE),
    BatchJoin(), AsyncBatchJoin(), IncrementalJoin(), IncrementalLeftJoin(), AsyncLeftJoin(), AsyncRightJoin(),
    ReplaceLeftJoin(REPLACE), ReplaceRightJoin(REPLACE), SupersedingRightJoin(REPLACE),
    TouchedKeysJoin(),
    BatchUnion(), AsyncBatchUnion(), IncrementalUnion(), AsyncLeftUnion(), AsyncRightUnion(),
    Batch(1), Batch(3, sync=True),
    Apply(), Difference(), Complete(), ApplyWeak(increment("k", ())), Strengthen(replace("k")),
    Weaken(increment("k", ())), WeakDifference(replace("k")), Chain(DELTA), Chain(REPLACE),
)  # fmt: skip
IDS = [type(o).__name__ for o in OPERATORS]


def block(kind: Kind, rows: float) -> Block:
    return Block("c", kind, Provenance.at(2), None if kind == BASE else Provenance.at(1), rows)


def estimate(operator: Operator, statistics: Statistics, *sizes: float) -> Work:
    kinds = [kind for reads in operator.signature.reads for kind in reads.kinds]
    return operator.estimate([block(k, n) for k, n in zip(kinds, sizes, strict=True)], statistics)


def arity(operator: Operator) -> int:
    return sum(len(reads.kinds) for reads in operator.signature.reads)


@pytest.mark.parametrize("operator", OPERATORS, ids=IDS)
@given(data=st.data(), statistics=STATISTICS)
def test_more_data_never_costs_less(operator: Operator, data: st.DataObject, statistics: Statistics) -> None:
    sizes = data.draw(st.lists(SIZES, min_size=arity(operator), max_size=arity(operator)))
    larger = [n + data.draw(SIZES) for n in sizes]
    before, after = estimate(operator, statistics, *sizes), estimate(operator, statistics, *larger)
    assert PRIORS.cost(after) >= PRIORS.cost(before) * (1 - 1e-12)


@pytest.mark.parametrize("operator", OPERATORS, ids=IDS)
@given(data=st.data(), statistics=STATISTICS)
def test_estimates_are_never_negative_and_of_nothing_nothing_is_written(
    operator: Operator, data: st.DataObject, statistics: Statistics
) -> None:
    sizes = data.draw(st.lists(SIZES, min_size=arity(operator), max_size=arity(operator)))
    work = estimate(operator, statistics, *sizes)
    assert min(work.base, work.delta, work.shuffled, *work.written) >= 0
    assert sum(estimate(operator, statistics, *[0.0] * arity(operator)).written) == 0


@pytest.mark.parametrize("operator", OPERATORS, ids=IDS)
def test_what_is_read_is_counted_as_base_or_delta(operator: Operator) -> None:
    kinds = [kind for reads in operator.signature.reads for kind in reads.kinds]
    work = estimate(operator, Statistics(), *[8.0] * len(kinds))
    if operator.name in ("chain", "complete"):
        assert (work.base, work.delta, work.shuffled) == (0, 0, 0), "metadata only"
    else:
        bases = kinds.count(BASE)
        assert (work.base, work.delta) == (8.0 * bases, 8.0 * (len(kinds) - bases))


@pytest.mark.parametrize("operator", [IncrementalMap(), IncrementAggregate(INCREMENT), AsyncLeftUnion(), Apply()])
def test_rows_that_are_only_added_are_read_as_plainly_as_those_of_a_base(operator: Operator) -> None:
    others = [block(BASE, 8)] if isinstance(operator, Apply) else []
    bases = 8.0 * len(others)
    added = operator.estimate([*others, block(MONOTONE, 5)], Statistics())
    mixed = operator.estimate([*others, block(DELTA, 5)], Statistics())
    assert (added.base, added.delta) == (bases + 5, 0)
    assert (mixed.base, mixed.delta) == (bases, 5)


@given(SIZES, SIZES, STATISTICS)
def test_distinct_groups_grow_and_saturate(rows: float, more: float, statistics: Statistics) -> None:
    met = statistics.distinct(rows)
    assert met <= rows * statistics.rows + 1e-9
    assert met <= statistics.distinct(rows + more) + 1e-9
    if statistics.groups is not None:
        assert statistics.distinct(1e12) <= statistics.groups


def test_all_groups_are_met_in_the_end() -> None:
    assert Statistics(groups=100).distinct(1e6) == pytest.approx(100)
    assert Statistics(groups=100).distinct(10) == pytest.approx(10, rel=0.06)
    assert Statistics(groups=100).known(1e6) == 1.0


def test_a_limit_is_never_passed() -> None:
    assert Statistics(limit=5).out(1_000) == 5
    assert Statistics(limit=5).out(3) == 3
    assert estimate(Batch(2), Statistics(limit=5), 100, 100).written == (5,)


LINEAR = st.builds(Statistics, rows=st.sampled_from([0.1, 1.0, 3.0]), shares=st.sampled_from([(), (0.2, 0.7)]))


@given(SIZES, SIZES, LINEAR)
def test_mapping_a_base_and_then_a_delta_gives_as_many_rows_as_mapping_all(
    old: float, new: float, statistics: Statistics
) -> None:
    outputs = len(statistics.shares) or 1
    whole = estimate(BatchMap(outputs), statistics, old + new).written
    first = estimate(BatchMap(outputs), statistics, old).written
    for incremental in (IncrementalMap(outputs), ReplaceMap(REPLACE, outputs)):
        then = estimate(incremental, statistics, new).written
        assert [a + b for a, b in zip(first, then, strict=True)] == pytest.approx(list(whole))


@given(st.tuples(SIZES, SIZES), st.tuples(SIZES, SIZES))
def test_a_union_of_deltas_adds_up_to_the_union_of_all(old: tuple[float, float], new: tuple[float, float]) -> None:
    none = Statistics()
    whole = estimate(BatchUnion(), none, old[0] + new[0], old[1] + new[1]).written[0]
    first = estimate(AsyncBatchUnion(), none, *old).written[0]
    left = estimate(AsyncLeftUnion(), none, new[0]).written[0]
    right = estimate(AsyncRightUnion(), none, new[1]).written[0]
    assert first + left + right == pytest.approx(whole)
    assert first + estimate(IncrementalUnion(), none, *new).written[0] == pytest.approx(whole)


@given(SIZES, SIZES, SIZES, st.sampled_from([0.5, 1.0, 2.0]))
def test_joining_new_rows_on_the_left_adds_up_to_the_join_of_all(
    old: float, new: float, right: float, matches: float
) -> None:
    statistics = Statistics(rows=matches, keys=10.0)
    whole = estimate(BatchJoin(), statistics, old + new, right).written[0]
    first = estimate(AsyncBatchJoin(), statistics, old, right).written[0]
    assert first + estimate(AsyncLeftJoin(), statistics, new, right).written[0] == pytest.approx(whole)


@given(SIZES, SIZES, SIZES, SIZES, STATISTICS)
def test_an_incremental_join_with_one_idle_side_writes_what_the_one_sided_join_writes(
    left: float, new_left: float, right: float, new_right: float, statistics: Statistics
) -> None:
    idle_right = estimate(IncrementalJoin(), statistics, left, new_left, right, 0).written
    assert idle_right == pytest.approx(estimate(AsyncLeftJoin(), statistics, new_left, right).written)
    idle_left = estimate(IncrementalJoin(), statistics, left, 0, right, new_right).written
    assert idle_left == pytest.approx(estimate(AsyncRightJoin(), statistics, left, new_right).written)


@given(SIZES, SIZES, st.sampled_from([10.0, 1e3, 1e5]), st.sampled_from([0.1, 1.0, 3.0]))
def test_adding_increments_gives_as_many_groups_as_aggregating_all(
    old: float, new: float, groups: float, rows: float
) -> None:
    statistics = Statistics(rows=rows, groups=groups)
    whole = estimate(BatchAggregate(), statistics, old + new).written[0]
    first = estimate(BatchAggregate(), statistics, old).written[0]
    added = estimate(IncrementAggregate(INCREMENT), statistics, new).written[0]
    assert estimate(ApplyWeak(increment("k", ())), statistics, first, added).written[0] == pytest.approx(whole)


@given(SIZES, SIZES, st.sampled_from([10.0, 1e3, 1e5]))
def test_replacing_keys_gives_as_many_keys_as_extracting_from_all(old: float, new: float, groups: float) -> None:
    statistics = Statistics(groups=groups)
    whole = estimate(BatchExtract(), statistics, old + new).written[0]
    first = estimate(BatchExtract(), statistics, old).written[0]
    superseding = estimate(IncrementalExtract(REPLACE), statistics, new).written[0]
    assert estimate(ApplyWeak(replace("k")), statistics, first, superseding).written[0] == pytest.approx(whole)


def test_applying_new_rows_adds_them_and_applying_others_adds_what_is_left_of_them() -> None:
    statistics = Statistics(growth=0.25)
    new = Apply().estimate([block(BASE, 100), block(MONOTONE, 20)], statistics)
    mixed = Apply().estimate([block(BASE, 100), block(DELTA, 20)], statistics)
    assert (new.written, mixed.written) == ((120,), (105,))
    assert new.shuffled == 0, "rows that are only added need no lookup"


def test_a_small_step_reads_less_than_recomputing() -> None:
    """What makes incremental variants worth having: new rows on the left of a join do not read the left."""
    statistics = Statistics(keys=100.0)
    batch = estimate(BatchJoin(), statistics, 1e6, 1e3)
    step = estimate(AsyncLeftJoin(), statistics, 10, 1e3)
    assert PRIORS.cost(step) < PRIORS.cost(batch)
    assert step.base + step.delta < 0.01 * (batch.base + batch.delta)


def test_rows_of_few_groups_are_put_together_before_they_are_shuffled() -> None:
    million = [Block("x", BASE, Provenance.at(1), rows=1e6)]
    few, many = (BatchAggregate().estimate(million, Statistics(groups=g)).shuffled for g in (100.0, 1e6))
    assert few < 1_000
    assert many == 1e6
