"""Selectivities: the statistics of a widget that make its estimates agree with the rows that came out.

What matters to an operator is found by asking its estimate, so an operator need not say what can be learned of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log
from typing import Any, TypeAlias

from olston.block import Block
from olston.operators.estimate import Statistics
from olston.operators.join import keys_at_most
from olston.operators.operator import Operator
from olston.scheduler.fit import TOLERANCE, Vector, fit, independent
from olston.scheduler.outcome import Outcome

LAST = 16
"""Outcomes of a widget that are looked at, the newest of each of its variants first."""
_FEW = 0.5  # added to numbers of rows, so that none has a logarithm
_STEP = 1e-3
_UNBOUNDED = 1e15

Counted: TypeAlias = tuple[Operator, float, Outcome]
"""An outcome of an operator, with what it counts for."""


def statistics_of(counted: Sequence[Counted], prior: Statistics) -> Statistics | None:
    """The statistics after `counted`; `None` if they say nothing."""
    newest = sorted(counted, key=lambda c: -c[1])[:LAST]
    newest = [c for c in newest if any(rows for _, rows in c[2].operands)]
    if not newest:
        return None
    several = [c for c in newest if c[2].rows is not None and len(c[2].rows) > 1]
    if several:
        return replace(prior, shares=_shares(several))
    return _Sizes(newest, prior).learned()


def _shares(counted: Sequence[Counted]) -> tuple[float, ...]:
    """Rows of each output per row in."""
    outputs = len(counted[-1][2].rows or ())
    totals, into = [0.0] * outputs, 0.0
    for _, weight, o in counted:
        rows = sum(rows for _, rows in o.operands)
        scale = weight * min(1.0, 1e4 / rows)  # a first fill does not outweigh all waves that follow
        into += scale * rows
        for i, made in enumerate(o.rows or ()):
            totals[i] += scale * made
    return tuple(t / into for t in totals)


class _Sizes:
    """Rows per row, and the numbers of groups and of keys where an estimate depends on them."""

    def __init__(self, counted: Sequence[Counted], prior: Statistics) -> None:
        self._prior = prior
        self._samples: list[tuple[Operator, list[Block]]] = [(op, o.blocks()) for op, _, o in counted]
        self._seen = [
            # few rows say little of a ratio
            (weight / (1 + 8 / (1 + sum(o.rows or ()))), log(_FEW + sum(o.rows or ())))
            for _, weight, o in counted
        ]
        self._largest = max(rows for _, blocks in self._samples for rows in [sum(b.rows for b in blocks)])

    def learned(self) -> Statistics:
        names = [n for n in ("groups", "keys") if self._matters(n)]
        start = replace(self._prior, rows=self._prior.rows or 1.0)
        for name in names:
            start = _with(start, {name: self._begin(start, name)})
        fields = ("rows", *names)

        def at(factors: Vector) -> Statistics:
            moved = {f: getattr(start, f) * exp(min(u, 30.0)) for f, u in zip(fields, factors, strict=True)}
            return _with(start, moved)

        def predict(i: int, factors: Vector) -> tuple[float, Vector]:
            expected, gradient = self._expected(i, at(factors)), []
            for j in range(len(factors)):
                beside = [*factors[:j], factors[j] + _STEP, *factors[j + 1 :]]
                gradient.append((self._expected(i, at(beside)) - expected) / _STEP)
            return expected, gradient

        factors = fit(predict, self._seen, independent(2.0, *[3.0] * len(names)))
        found = at(factors)
        for name in names:
            if getattr(found, name) > 1e3 * self._largest:
                found = _with(found, {name: None})
        if found.keys is None:  # nothing has come on the right yet
            seen = (keys_at_most(*sample) for sample in self._samples)
            found = replace(found, keys=next((keys for keys in seen if keys is not None), None))
        return found

    def _expected(self, i: int, statistics: Statistics) -> float:
        operator, blocks = self._samples[i]
        return log(_FEW + sum(operator.estimate(blocks, statistics).written))

    def _matters(self, name: str) -> bool:
        few, none = _with(self._prior, {name: 1.0}), _with(self._prior, {name: None})
        return any(self._expected(i, few) != self._expected(i, none) for i in range(len(self._samples)))

    def _begin(self, statistics: Statistics, name: str) -> float:
        """A number near enough for the fit to go on from: half decades up to what makes no difference any more."""
        tried = [_UNBOUNDED, *(10 ** (k / 2) for k in range(2 * int(log(self._largest + 1, 10) + 2) + 1))]
        return min(tried, key=lambda value: self._loss(_with(statistics, {name: value})))

    def _loss(self, statistics: Statistics) -> float:
        total = 0.0
        for i, (weight, value) in enumerate(self._seen):
            error = abs(value - self._expected(i, statistics))
            total += weight * (error**2 if error <= TOLERANCE else TOLERANCE * (2 * error - TOLERANCE))
        return total


def _with(statistics: Statistics, moved: Mapping[str, Any]) -> Statistics:
    return replace(statistics, **moved)
