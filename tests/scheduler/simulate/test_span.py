"""How long a run must be to say something of every bound."""

from __future__ import annotations

import olston as ol
from olston.duration import UNITS
from olston.scheduler.simulate.rates import RatesFile, parse_rates
from olston.scheduler.simulate.span import LONGEST, enough

HOUR = int(UNITS["hour"])


def shop(*bounds: str) -> ol.Workflow:
    wf = ol.Workflow("shop")
    orders, customers = wf.source("orders", "id int, who int"), wf.source("customers", "who int", key="who")
    located = orders.join("located", customers, on="who")
    wf.output(located)
    for index, bound in enumerate(bounds):
        wf.bound_staleness(located, index, bound)
    return wf


def rates(wf: ol.Workflow, offset: str = "1 day") -> RatesFile:
    waves = {"orders": {"rows": 1, "every": "1 hour"}, "customers": {"rows": 1, "every": "1 day", "offset": offset}}
    return parse_rates({"sources": waves}, wf)


def test_the_longest_bound_can_break_after_a_wave_of_the_rarest_source() -> None:
    wf = shop("1 hour", "3 days")
    assert enough(wf, rates(wf)) == (24 + 72) * HOUR
    wf.bound_inconsistency("located", "1 week")
    assert enough(wf, rates(wf)) == (24 + 168) * HOUR


def test_bounds_that_are_tried_count_too() -> None:
    wf = shop("1 hour")
    assert enough(wf, rates(wf), [48 * HOUR]) == (24 + 48) * HOUR


def test_without_bounds_every_source_has_a_wave() -> None:
    wf = shop()
    assert enough(wf, rates(wf)) == 24 * HOUR
    assert enough(wf, rates(wf, offset="30 hours")) == 30 * HOUR


def test_it_is_not_longer_than_the_papers() -> None:
    wf = shop("1 hour", "52 weeks")
    assert enough(wf, rates(wf)) == LONGEST
