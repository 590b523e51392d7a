"""Learning without Spark: true rates and selectivities come out of noisy outcomes, and nothing silly ever does."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import astuple, replace
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, DELTA, MONOTONE, Block, weak
from olston.operators.aggregate import BatchAggregate, IncrementAggregate, TouchedGroupsAggregate
from olston.operators.estimate import UNKNOWN, Statistics
from olston.operators.join import AsyncLeftJoin, AsyncRightJoin, BatchJoin
from olston.operators.map import BatchMap, IncrementalMap
from olston.operators.operator import Operator
from olston.provenance import Provenance
from olston.scheduler import cost
from olston.scheduler.cost import CostModel, Rates
from olston.scheduler.learn import LAST, Learner, Recorded, learn
from olston.scheduler.outcome import Key, Outcome
from olston.scheduler.price import Priced

PRIORS = Rates(start=0.5, base=2e-7, delta=2e-7, shuffled=5e-7, written=5e-7, overlay=1.5e-7)
ENGINE = CostModel(default=PRIORS, delivery=PRIORS, overlays=True)
"""Of no machine, so that what is learned here does not change when the priors are measured anew."""
TRUE = Rates(start=0.2, base=1e-6, delta=3e-6, shuffled=2e-7, written=1e-6, overlay=1e-7)
OPERATORS: dict[Key, Operator] = {
    ("m", "batch"): BatchMap(), ("m", "incremental"): IncrementalMap(),
    ("n", "batch"): BatchAggregate(), ("n", "increment"): IncrementAggregate(weak("increment(k)")),
    ("n", "touched_groups"): TouchedGroupsAggregate(weak("replace(k)")),
    ("j", "batch"): BatchJoin(), ("j", "async_left"): AsyncLeftJoin(), ("j", "async_right"): AsyncRightJoin(),
    ("s", "batch"): BatchMap(2),
}  # fmt: skip


def block(kind: str, rows: float) -> Block:
    return Block("c", kind, Provenance.at(2), None if kind == BASE else Provenance.at(1), rows)


def outcome(
    key: Key, sizes: Sequence[float], truth: Statistics = UNKNOWN, rates: Rates = TRUE, luck: float = 1.0
) -> Outcome:
    """What comes of an invocation where `truth` and `rates` hold, `luck` times as slow as it should be."""
    operator = OPERATORS[key]
    kinds = [MONOTONE if k == DELTA else k for reads in operator.signature.reads for k in reads.kinds]
    blocks = [block(k, n) for k, n in zip(kinds, sizes, strict=True)]
    work = Priced(key[0], operator, CostModel(rates, statistics={key[0]: truth})).work(blocks)
    operands = tuple((b.kind, b.rows) for b in blocks)
    return Outcome(*key, operands, work, work.written, work.written, luck * rates.cost(work), 1.0)


def recorded(*outcomes: Outcome) -> Recorded:
    """As they came, one attempt each."""
    found: dict[Key, list[tuple[str, Outcome]]] = {}
    for i, o in enumerate(outcomes):
        found.setdefault(o.key, []).append((f"{i:06}", o))
    return found


def seconds(model: CostModel, key: Key, *sizes: float) -> float:
    """What the model expects of a variant."""
    return model.rates(*key).cost(outcome(key, sizes, model.of(key[0])).work)


def truly(key: Key, *sizes: float) -> float:
    return TRUE.cost(outcome(key, sizes).work)


def runs(seed: int, count: int, noise: float = 0.2) -> list[Outcome]:
    """Maps of both variants over bases and deltas of many sizes."""
    chance = random.Random(seed)
    found = []
    for _ in range(count):
        key = chance.choice([("m", "batch"), ("m", "incremental")])
        size = 10 ** chance.uniform(*(4, 7) if key[1] == "batch" else (1, 6))
        found.append(outcome(key, [size], luck=chance.lognormvariate(0, noise)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_what_variants_really_cost_comes_out_of_noisy_outcomes(seed: int) -> None:
    model = learn(recorded(*runs(seed, 24)), ENGINE, OPERATORS)
    for key in (("m", "batch"), ("m", "incremental")):
        for size in (1e4, 1e5, 1e6):
            assert seconds(model, key, size) == pytest.approx(truly(key, size), rel=0.35)


def test_the_more_outcomes_the_closer() -> None:
    def off(count: int) -> float:
        models = [learn(recorded(*runs(seed, count)), ENGINE, OPERATORS) for seed in range(8)]
        sizes = [10**k for k in range(3, 7)]
        return sum(abs(seconds(m, ("m", "batch"), s) / truly(("m", "batch"), s) - 1) for m in models for s in sizes)

    assert off(30) < 0.6 * off(3) < off(0)


@given(st.lists(st.tuples(st.sampled_from(sorted(OPERATORS)), st.floats(0, 1e9), st.floats(1e-6, 1e6)), max_size=30))
def test_no_rate_is_ever_negative_and_more_rows_never_cost_less(runs_: list[tuple[Key, float, float]]) -> None:
    outcomes = [
        outcome(key, [rows] * sum(len(r.kinds) for r in OPERATORS[key].signature.reads), luck=luck)
        for key, rows, luck in runs_
    ]
    model = learn(recorded(*outcomes), ENGINE, OPERATORS)
    for key in OPERATORS:
        assert min(astuple(model.rates(*key))) > 0
        assert max(astuple(model.rates(*key))) < 1e9
    for found in model.statistics.values():
        assert found.rows > 0
        assert found.groups is None or found.groups > 0
        assert found.keys is None or found.keys > 0


def test_one_outlier_does_not_flip_what_is_known() -> None:
    calm = runs(1, 20, noise=0.05)
    slow = outcome(("m", "incremental"), [1e4], luck=20.0)
    before, after = (learn(recorded(*o), ENGINE, OPERATORS) for o in (calm, [*calm, slow]))
    incremental, batch = ("m", "incremental"), ("m", "batch")
    assert seconds(after, incremental, 1e4) < 1.5 * seconds(before, incremental, 1e4)
    assert seconds(after, incremental, 1e5) < seconds(after, batch, 1e6)


def test_a_cold_first_run_is_forgotten_after_a_few_others() -> None:
    cold = outcome(("m", "batch"), [1e5], luck=15.0)
    model = learn(recorded(cold, *[outcome(("m", "batch"), [1e5]) for _ in range(4)]), ENGINE, OPERATORS)
    assert seconds(model, ("m", "batch"), 1e5) == pytest.approx(truly(("m", "batch"), 1e5), rel=0.4)


def test_what_changed_is_followed() -> None:
    old = [outcome(("m", "batch"), [1e6]) for _ in range(30)]
    new = [outcome(("m", "batch"), [1e6], luck=3.0) for _ in range(LAST // 2)]
    model = learn(recorded(*old, *new), ENGINE, OPERATORS)
    assert seconds(model, ("m", "batch"), 1e6) > 1.8 * truly(("m", "batch"), 1e6)


def test_a_variant_that_never_ran_is_not_cheap_because_the_others_were_found_dear() -> None:
    slow = [outcome(("m", "batch"), [1e6], rates=Rates(2.0, 4e-6, 4e-6, 4e-6, 4e-6)) for _ in range(6)]
    model = learn(recorded(*slow), ENGINE, OPERATORS)
    assert seconds(model, ("j", "batch"), 1e6, 1e3) > 3 * ENGINE.default.cost(outcome(("j", "batch"), [1e6, 1e3]).work)


def test_a_function_that_is_dear_in_one_variant_is_so_in_the_others() -> None:
    others = [outcome(("n", "batch"), [n], Statistics(groups=100)) for n in (1e4, 1e5, 1e6)]
    dear = [outcome(("m", "incremental"), [n], rates=Rates(0.2, 1e-4, 1e-4, 0, 0)) for n in (1e3, 1e4, 1e5, 1e4, 1e3)]
    model = learn(recorded(*others, *dear), ENGINE, OPERATORS)
    assert seconds(model, ("m", "batch"), 1e6) > 3 * seconds(model, ("n", "batch"), 1e6)


def test_without_outcomes_the_priors_hold() -> None:
    assert learn({}, ENGINE, OPERATORS) is ENGINE
    assert cost.ENGINE.default == cost.PRIORS


def test_the_same_outcomes_make_the_same_model_whatever_was_learned_before() -> None:
    all_of_them = runs(3, 30)
    learner = Learner(ENGINE, OPERATORS)
    for n in range(1, 31):
        model = learner.model(recorded(*all_of_them[:n]))
    assert model == learn(recorded(*all_of_them), ENGINE, OPERATORS)
    assert model == learn(dict(reversed(list(recorded(*all_of_them).items()))), ENGINE, OPERATORS)


def test_the_variant_chosen_becomes_the_one_that_is_really_cheaper() -> None:
    """Where it matters, by more than 15 %; only what was chosen is learned from."""
    batch, touched = ("n", "batch"), ("n", "touched_groups")
    truth, right = Statistics(groups=1e4), list[bool]()
    for seed in range(12):
        chance = random.Random(seed)
        rates = {k: Rates(*[r * exp(chance.gauss(0, 0.5)) for r in astuple(PRIORS)]) for k in (batch, touched)}
        seen = [outcome(batch, [5e5], truth, rates[batch])]
        for wave in range(20):
            new = 10 ** chance.uniform(1.7, 5.7)
            sizes = {batch: [5e5 + new], touched: [5e5, new]}
            model = learn(recorded(*seen), ENGINE, OPERATORS)
            chosen = min(sizes, key=lambda k: seconds(model, k, *sizes[k]))
            really = {k: rates[k].cost(outcome(k, sizes[k], truth).work) for k in sizes}
            if wave >= 8 and max(really.values()) > 1.15 * min(really.values()):
                right.append(really[chosen] == min(really.values()))
            seen.append(outcome(chosen, sizes[chosen], truth, rates[chosen], chance.lognormvariate(0, 0.15)))
    assert sum(right) >= 0.95 * len(right)


def statistics(widget: str, *outcomes: Outcome) -> Statistics:
    return learn(recorded(*outcomes), ENGINE, OPERATORS).of(widget)


@pytest.mark.parametrize("rows", [0.001, 0.5, 12.0])
def test_rows_out_per_row_in_are_learned_from_one_run(rows: float) -> None:
    found = statistics("m", outcome(("m", "batch"), [1e6], Statistics(rows=rows)))
    assert found.out(1e5) == pytest.approx(rows * 1e5, rel=0.2)


@pytest.mark.parametrize("groups", [50, 1e4, 3e5])
def test_the_number_of_groups_is_learned_and_with_it_how_many_a_delta_touches(groups: float) -> None:
    truth = Statistics(groups=groups)
    outcomes = [outcome(("n", "batch"), [1e6], truth), *(outcome(("n", "increment"), [n], truth) for n in (1e2, 1e4))]
    found = statistics("n", *outcomes)
    for n in (1e3, 1e5, 1e6):
        assert found.distinct(n) == pytest.approx(truth.distinct(n), rel=0.2)


def test_groups_that_are_all_distinct_have_no_number() -> None:
    found = statistics("n", outcome(("n", "batch"), [1e6]), outcome(("n", "increment"), [1e3]))
    assert found.distinct(1e7) == pytest.approx(1e7, rel=0.2)


def test_fan_out_and_keys_of_a_join_are_learned() -> None:
    truth = Statistics(rows=2.5, keys=1e3)
    found = statistics(
        "j",
        outcome(("j", "batch"), [1e6, 1e3], truth),
        outcome(("j", "async_left"), [1e3, 1e3], truth),
        outcome(("j", "async_right"), [1e6, 10], truth),
    )
    assert found.rows == pytest.approx(2.5, rel=0.1)
    assert found.keys == pytest.approx(1e3, rel=0.3)


def test_before_anything_comes_on_the_right_a_row_there_is_taken_to_match_as_many_as_the_others_do() -> None:
    """Else a change of few scores seems to change few pages, and a plan for that takes three times as long."""
    found = statistics("j", outcome(("j", "batch"), [5e6, 2e4]))
    operator = OPERATORS["j", "async_right"]
    new = [Block.planned(("", kind, None, Provenance.at(1)), rows, True) for kind, rows in ((BASE, 5e6), (DELTA, 2e3))]
    assert operator.estimate(new, found).written[0] == pytest.approx(5e5, rel=0.05)


def test_the_shares_of_a_split_are_learned() -> None:
    found = statistics("s", outcome(("s", "batch"), [1e6], Statistics(shares=(0.1, 0.7))))
    assert found.shares == pytest.approx((0.1, 0.7))


def test_outcomes_survive_the_catalog() -> None:
    made = outcome(("j", "batch"), [1e6, 1e3])
    assert Outcome.from_dict(made.to_dict()) == made


def test_batch_and_asynchronous_batch_are_learned_together() -> None:
    """They do the same; which of them was lucky must not decide."""
    batch, twin = ("j", "batch"), ("j", "async_batch")
    slow, quick = outcome(batch, [1e6, 1e6], luck=2.0), outcome(batch, [1e6, 1e6], luck=0.5)
    apart = {batch: [("000001", slow)], twin: [("000002", replace(quick, variant="async_batch"))]}
    model = learn(apart, ENGINE, OPERATORS)
    assert model.rates(*batch) == model.rates(*twin)
    together = learn(recorded(slow, quick), ENGINE, OPERATORS)
    assert model.rates(*batch).base == pytest.approx(together.rates(*batch).base)


def test_a_step_that_starts_several_times_as_long_does_not_make_the_machine_look_slow() -> None:
    one = outcome(("m", "batch"), [0], rates=PRIORS)
    slow = replace(one, work=replace(one.work, starts=4.0), seconds=4 * one.seconds)
    assert learn(recorded(slow, slow), ENGINE, OPERATORS).default.start == pytest.approx(PRIORS.start, rel=0.01)
    assert Outcome.from_dict(slow.to_dict()) == slow
