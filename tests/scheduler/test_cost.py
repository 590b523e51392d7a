"""From work to cost: the most specific rate wins."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from olston.block import BASE, DELTA, Block
from olston.operators.estimate import UNKNOWN, Statistics, Work
from olston.operators.map import BatchMap, IncrementalMap
from olston.provenance import Provenance
from olston.scheduler.cost import PRIORS, CostModel, Rates
from olston.scheduler.price import Priced


def test_every_kind_of_work_is_charged_at_its_own_rate() -> None:
    rates = Rates(start=1, base=10, delta=100, shuffled=1_000, written=10_000)
    assert rates.cost(Work(base=2, delta=3, shuffled=4, written=(5, 6))) == 1 + 20 + 300 + 4_000 + 110_000


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_more_work_never_costs_less(less: float, more: float) -> None:
    low, high = sorted((less, more))
    assert PRIORS.cost(Work(low, low, low, (low,))) <= PRIORS.cost(Work(high, high, high, (high,)))


def test_the_most_specific_rate_wins() -> None:
    model = CostModel(
        Rates(1, 1, 1, 1, 1),
        {("join", "*"): {"base": 2}, ("*", "batch"): {"base": 3, "delta": 3}, ("join", "batch"): {"base": 4}},
    )
    assert model.rates("other", "incremental") == Rates(1, 1, 1, 1, 1)
    assert model.rates("join", "incremental").base == 2
    assert model.rates("other", "batch").base == 3
    assert model.rates("join", "batch").base == 4
    assert model.rates("join", "batch").delta == 3


def test_what_a_users_function_costs_is_not_charged_to_converters_of_its_channel() -> None:
    model = CostModel(Rates(1, 1, 1, 1, 1), {("digests", "*"): {"base": 99}, ("digests", "c.ΔB"): {"delta": 7}})
    assert model.rates("digests", "batch").base == 99
    assert model.rates("digests", "c.ΔB", converter=True).base == 1
    assert model.rates("digests", "c.ΔB", converter=True).delta == 7


def test_a_widget_without_statistics_gets_the_default() -> None:
    known = Statistics(rows=0.5)
    model = CostModel(statistics={"a": known})
    assert model.of("a") is known
    assert model.of("b") is UNKNOWN


def test_delivery_costs_nothing_unless_told() -> None:
    assert CostModel().delivery.cost(Work(1e9, 1e9, 1e9, (1e9,))) == 0


def test_a_kind_of_operator_takes_as_long_to_start_as_the_model_says() -> None:
    model = CostModel(Rates(1.0, 0.0, 0.0, 0.0, 0.0), starts={"IncrementalMap": 2.5})
    plain, twice = Priced("w", BatchMap(), model), Priced("w", IncrementalMap(), model)
    base, delta = Block("c", BASE, Provenance.at(1), rows=9), Block("c", DELTA, Provenance.at(2), Provenance.at(1), 9)
    assert (plain([base])[0], twice([delta])[0]) == (1.0, 2.5)
    assert twice.work([delta]).starts == 2.5
