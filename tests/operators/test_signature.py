from __future__ import annotations

import pytest

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block, Kind, weak
from olston.operators.batch import Batch
from olston.operators.join import AsyncLeftJoin, BatchJoin, IncrementalJoin
from olston.operators.map import BatchMap
from olston.operators.signature import Relaxed
from olston.operators.union import AsyncLeftUnion
from olston.provenance import Provenance
from olston.scheduler.candidates import may_relax
from olston.workflow import Workflow
from tests.derivation import Derived, T, base, delta, sets


def test_a_signature_reads_as_in_the_paper() -> None:
    assert str(BatchMap().signature) == "B → B"
    assert str(IncrementalJoin().signature) == "B,Δ ; B,Δ → Δ"
    assert str(AsyncLeftJoin().signature) == "Δ ; B → Δ"
    assert str(AsyncLeftUnion().signature) == "Δ ; ∅ → Δ"
    assert str(Batch(3).signature) == "B ; B ; B → B"


def test_an_operator_that_writes_deltas_is_incremental() -> None:
    assert IncrementalJoin().signature.incremental
    assert not BatchJoin().signature.incremental


def two(how: str = "join") -> Workflow:
    wf = ol.Workflow("w")
    a, b = wf.source("a"), wf.source("b")
    if how == "join":
        a.join("out", b, on="k")
    else:
        a.union("out", b)
    return wf


ARRIVALS = {"a": [1, 4], "b": [2, 3]}


def test_entries_are_concatenated_in_the_order_of_the_inputs() -> None:
    derived = Derived(two(), ARRIVALS, [base("a", sets([1, 4])), base("b", T(3))])
    assert {m.block.target for m in derived.by("out.async_batch")} == {sets([1, 4], [3])}


def test_a_base_operand_contributes_the_same_entries_to_source_and_target() -> None:
    derived = Derived(two(), ARRIVALS, [delta("a", DELTA, T(1), T(4)), base("b", T(3))])
    (made,) = derived.by("out.async_left")
    assert (made.block.source, made.block.target) == (T(1, 3), T(4, 3))


@pytest.mark.parametrize("how", ["join", "union"])
@pytest.mark.parametrize(("t", "consistent"), [(T(1, 2), True), (T(1, 3), True), (T(4, 3), True), (T(4, 2), False)])
def test_a_synchronous_operator_needs_consistent_inputs_and_an_asynchronous_one_does_not(
    how: str, t: Provenance, consistent: bool
) -> None:
    derived = Derived(two(how), ARRIVALS, [base("a", t.part([0])), base("b", t.part([1]))])
    assert derived.history.consistent(t, ("a", "b")) == consistent
    tried = Derived(two(how), ARRIVALS, [base("a", t.part([0])), base("b", t.part([1]))])
    assert bool(tried.by("out.batch")) == consistent
    assert tried.by("out.async_batch")


def test_in_a_diamond_a_synchronous_operator_needs_the_same_snapshot_on_both_pathways() -> None:
    wf = ol.Workflow("w")
    a = wf.source("a")
    a.map("m", lambda df: df).join("out", a.map("n", lambda df: df), on="k")
    derived = Derived(wf, {"a": [1, 2]}, [base("m", T(1)), base("m", T(2)), base("n", T(1)), base("n", T(2))])
    assert {m.block.target for m in derived.by("out.batch")} == {T(1, 1), T(2, 2)}
    assert {m.block.target for m in derived.by("out.async_batch")} == {T(1, 1), T(2, 2), T(1, 2), T(2, 1)}


@pytest.mark.parametrize(
    ("left", "right", "made"),
    [(MONOTONE, MONOTONE, MONOTONE), (MONOTONE, DELTA, DELTA), (DELTA, MONOTONE, DELTA), (DELTA, DELTA, DELTA)],
)
def test_a_delta_made_from_deltas_without_deletions_alone_has_none(left: Kind, right: Kind, made: Kind) -> None:
    blocks = [
        base("a", T(1)), delta("a", left, T(1), T(4)), base("b", T(2)), delta("b", right, T(2), T(3)),
    ]  # fmt: skip
    derived = Derived(two(), ARRIVALS, blocks)
    assert made in {m.block.kind for m in derived.by("out.incremental")}
    for m in derived.by("out.incremental"):
        assert (m.block.kind == MONOTONE) == (DELTA not in {b.kind for b in m.operands})


def test_an_incremental_operator_reads_a_base_that_stands_where_its_delta_starts() -> None:
    blocks = [
        base("a", T(0)), delta("a", DELTA, T(1), T(4)), base("b", T(2)), delta("b", DELTA, T(2), T(3)),
    ]  # fmt: skip
    assert Derived(two(), ARRIVALS, blocks).by("out.incremental") == []


def test_one_attempt_of_a_split_makes_all_its_outputs() -> None:
    wf = ol.Workflow("w")
    wf.source("a").split({"x": "c"}, rest="y")
    derived = Derived(wf, {"a": [1]}, [base("a", T(1))])
    made = [m.block for m in derived.made if m.variant.endswith(".batch")]
    assert {(b.channel, b.target) for b in made} == {("x", T(1)), ("y", T(1))}
    assert len({m.variant for m in derived.made if m.block.channel in "xy"}) == 1


REPLACE = weak("replace(k)")


def read(kind: Kind, relaxed: bool) -> Block:
    source = None if kind == BASE else T(1, 1)
    return Block("c", kind, T(2, 1), source, relaxed=relaxed)


@pytest.mark.parametrize(
    ("rule", "kind", "relaxed", "answer"),
    [
        (Relaxed.KEEPS, DELTA, True, True), (Relaxed.KEEPS, DELTA, False, False),
        (Relaxed.IF_MONOTONE, DELTA, True, False), (Relaxed.IF_MONOTONE, MONOTONE, True, True),
        (Relaxed.IF_MONOTONE, MONOTONE, False, False), (Relaxed.IF_MONOTONE, REPLACE, True, True),
        (Relaxed.IF_MONOTONE, REPLACE, False, False), (Relaxed.NEVER, MONOTONE, True, False),
    ],
)  # fmt: skip
def test_whether_a_result_may_be_applied_relaxed_follows_from_the_rule_and_every_delta_read(
    rule: Relaxed, kind: Kind, relaxed: bool, answer: bool
) -> None:
    harmless = [read(BASE, True), read(MONOTONE, True)]
    assert may_relax(rule, [read(kind, relaxed), *harmless]) == answer
    assert may_relax(rule, [*harmless, read(kind, relaxed)]) == answer
