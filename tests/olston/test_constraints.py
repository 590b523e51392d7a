from __future__ import annotations

import pytest

from olston.constraints import Inconsistency, Staleness
from olston.errors import ConstraintError

WEEK = 604_800_000_000


@pytest.mark.parametrize("bound", [-1, -0.5, float("nan")])
def test_a_negative_bound_is_refused_with_the_promise_named(bound: float) -> None:
    with pytest.raises(ConstraintError, match=r"bound_staleness\(output, 1\): bound .* is negative"):
        Staleness("output", 1, bound)
    with pytest.raises(ConstraintError, match=r"bound_inconsistency\(output\): bound .* is negative"):
        Inconsistency("output", bound)


def test_0_is_the_strictest_bound() -> None:
    assert Staleness("output", 0, 0).bound == 0
    assert Inconsistency("output", 0).bound == 0


def test_a_promise_reads_as_it_was_declared() -> None:
    assert str(Staleness("output", 2, WEEK)) == "bound_staleness(output, 2, 1 week)"
    assert str(Inconsistency("output", WEEK)) == "bound_inconsistency(output, 1 week)"
    assert str(Inconsistency("output", 2.5)) == "bound_inconsistency(output, 2.5)"
