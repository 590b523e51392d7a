"""Section 3.3: the union of two continuous crawls, of which one is passed on alone."""

from __future__ import annotations

import olston as ol
from olston.block import DELTA, Block
from tests.derivation import Derived, T, base, delta, sets

NINE, TEN = 9, 10


def test_the_union_of_3_3() -> None:
    wf = ol.Workflow("w")
    wf.source("first").union("output", wf.source("second"))
    arrivals = {"first": [NINE, TEN], "second": [NINE, TEN]}
    new = delta("second", DELTA, T(NINE), T(TEN))
    derived = Derived(wf, arrivals, [base("output", T(NINE, NINE)), new])
    (made,) = derived.by("output.async_right")
    assert made.block == Block("output", DELTA, sets([], [TEN]), sets([], [NINE]))
    assert T(NINE, TEN) in derived.bases("output")
    assert derived.history.consistent(T(NINE, NINE), ("first", "second"))
    assert not derived.history.consistent(T(NINE, TEN), ("first", "second"))
