"""Learning: recorded outcomes and the priors make the cost model that the next plan uses.

Rates are learned in three steps, each shrunk towards the one before: what this machine does with the priors, what a
widget does (a user's function is as dear in every variant), what a variant does. So a variant that never ran is not
taken to be cheap only because all others were found to be dear. Selectivities are learned by widget
(`olston.scheduler.selectivity`). No Spark, no I/O; the same outcomes make the same model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from math import exp, log
from operator import attrgetter
from typing import TypeAlias

from olston.operators.estimate import Statistics
from olston.operators.operator import Operator
from olston.scheduler.cost import CostModel, Rates
from olston.scheduler.fit import Matrix, Vector, alike, fit, independent
from olston.scheduler.outcome import Key, Outcome
from olston.scheduler.selectivity import statistics_of

LAST = 12
"""Outcomes of a variant that are looked at, the newest."""
OF_ALL, OF_EACH = 48, 4
"""Outcomes from which the speed of the machine is judged: altogether, and of one variant, also for its widget."""
RECENT = 0.93
"""What an outcome counts for, compared with the next one."""
KNOWN, APART = 3, 0.1
"""Outcomes, and factor as a logarithm, from which on a start cost is taken to differ from that of others."""
LEAST = 1e-8
"""Seconds per row below which no prior says anything."""

Recorded: TypeAlias = Mapping[Key, Sequence[tuple[str, Outcome]]]
"""The outcomes of each variant, the oldest first, each with the attempt that it was part of."""

_OfWidget: TypeAlias = tuple[dict[Key, dict[str, float]], Statistics | None]
_RATES = tuple(f.name for f in fields(Rates))
_each = attrgetter(*_RATES)
_MARK = ("0", "8")  # the machine is judged anew at about every eighth attempt, or every one would change all rates
_ALIKE = {"async_batch": "batch"}  # does the same, with other snapshots; luck must not decide between them
_SETTLED = 16  # attempts from which on that holds


def _precision(start: float, row: float, correlation: float) -> Matrix:
    rows = alike(len(_RATES) - 1, row, correlation)
    return [[1 / start**2, *[0.0] * len(rows)], *([0.0, *line] for line in rows)]


_MACHINE = _precision(start=0.5, row=0.9, correlation=0.85)
_WIDGET = _precision(start=0.4, row=1.0, correlation=0.8)
_VARIANT = _precision(start=0.6, row=0.6, correlation=0.3)
_ALONE = independent(1.0, *[0.8] * (len(_RATES) - 1))


class Learner:
    """Learns from outcomes again and again; what did not change since the last time is not computed again."""

    def __init__(self, prior: CostModel, operators: Mapping[Key, Operator]) -> None:
        self._prior, self._operators = prior, operators
        self._known: dict[str, tuple[object, _OfWidget]] = {}

    def model(self, recorded: Recorded) -> CostModel:
        """The cost model after `recorded`."""
        recent = {key: outcomes[-LAST:] for key, outcomes in sorted(_pooled(recorded).items()) if outcomes}
        if not recent:
            return self._prior
        machine = self._machine(recent)
        variants = {key: dict(rates) for key, rates in self._prior.variants.items()}
        statistics = dict(self._prior.statistics)
        for widget, own in _by_widget(recent).items():
            seen = (machine, tuple((k, [at for at, _ in outcomes]) for k, outcomes in own.items()))
            known = self._known.get(widget)
            if known is None or known[0] != seen:
                known = self._known[widget] = seen, self._of(widget, own, machine)
            rates, found = known[1]
            variants.update(rates)
            variants.update({(widget, o): rates[widget, v] for o, v in _ALIKE.items() if (widget, v) in rates})
            if found is not None:
                statistics[widget] = found
        return replace(self._prior, default=machine, delivery=machine, variants=variants, statistics=statistics)

    def _machine(self, recent: Recorded) -> Rates:
        """The priors as this machine has them, from a few outcomes of every variant, the newest."""
        moments = {at for outcomes in recent.values() for at, _ in outcomes}
        marks = [at for at in moments if at.endswith(_MARK)]
        until = max(marks if marks and len(moments) > _SETTLED else moments)
        before = ([pair for pair in outcomes if pair[0] <= until] for outcomes in recent.values())
        newest = sorted((pair for own in before for pair in own[-OF_EACH:]), key=lambda pair: pair[0])[-OF_ALL:]
        prior = self._prior.default
        factors = _factors(prior, [(1.0, o) for _, o in newest], _MACHINE)
        return scaled(prior, factors)

    def _of(self, widget: str, own: Recorded, machine: Rates) -> _OfWidget:
        rates: dict[Key, dict[str, float]] = {}
        together = [w for key in own for w in _weighted(own[key])[-OF_EACH:] if not w[1].converter]
        general = machine
        if together:
            general = scaled(machine, _apart(_factors(machine, together, _WIDGET), len(together)))
            rates[(widget, "*")] = _named(general)
        for key, outcomes in own.items():
            weighted = _weighted(outcomes)
            converter = outcomes[-1][1].converter
            belief, precision = (machine, _ALONE) if converter else (general, _VARIANT)
            factors = _apart(_factors(belief, weighted, precision), len(weighted))
            rates[key] = _named(scaled(belief, factors))
        operators = {key: self._operators[key] for key in own if key in self._operators}
        counted = [
            (operators[key], weight, o)
            for key in own
            if key in operators
            for weight, o in _weighted(own[key])
            if not o.converter and o.rows is not None and _fits(operators[key], o)
        ]
        return rates, statistics_of(counted, self._prior.of(widget))


def learn(recorded: Recorded, prior: CostModel, operators: Mapping[Key, Operator]) -> CostModel:
    """The cost model after `recorded`, from nothing."""
    return Learner(prior, operators).model(recorded)


def scaled(rates: Rates, factors: Sequence[float]) -> Rates:
    """`rates` times what `factors` are the logarithms of."""
    return Rates(*[max(r, LEAST) * exp(u) for r, u in zip(_each(rates), factors, strict=True)])


def _factors(belief: Rates, outcomes: Iterable[tuple[float, Outcome]], precision: Matrix) -> Vector:
    """The logarithms of what multiplies the rates believed in."""
    rates = [max(r, LEAST) for r in _each(belief)]
    parts, seen = list[Vector](), list[tuple[float, float]]()
    for weight, o in outcomes:
        w = o.work
        amounts = (w.starts, w.base, w.delta, w.shuffled, sum(w.written), w.overlay)
        parts.append([r * a for r, a in zip(rates, amounts, strict=True)])
        seen.append((weight, log(max(o.seconds, 1e-4))))

    def predict(i: int, factors: Vector) -> tuple[float, Vector]:
        seconds = [p * exp(u) if p else 0.0 for p, u in zip(parts[i], factors, strict=True)]
        total = sum(seconds)
        return log(total), [s / total for s in seconds]

    return fit(predict, seen, precision)


def _apart(factors: Vector, outcomes: int) -> Vector:
    """Without a start cost of its own, unless that is known and beyond noise.

    Of small steps the start is all there is to learn, and it varies with whatever else the machine does; which of two
    equal variants was lucky must not decide.
    """
    start, *others = factors
    return factors if outcomes >= KNOWN and abs(start) >= APART else [0.0, *others]


def _weighted(outcomes: Sequence[tuple[str, Outcome]]) -> list[tuple[float, Outcome]]:
    return [(RECENT ** (len(outcomes) - 1 - i), o) for i, (_, o) in enumerate(outcomes)]


def _pooled(recorded: Recorded) -> Recorded:
    """With the outcomes of variants that do the same under one name."""
    found: dict[Key, list[tuple[str, Outcome]]] = {}
    for (widget, variant), outcomes in recorded.items():
        found.setdefault((widget, _ALIKE.get(variant, variant)), []).extend(outcomes)
    return {key: sorted(outcomes, key=lambda pair: pair[0]) for key, outcomes in found.items()}


def _by_widget(recent: Recorded) -> dict[str, dict[Key, Sequence[tuple[str, Outcome]]]]:
    found: dict[str, dict[Key, Sequence[tuple[str, Outcome]]]] = {}
    for key, outcomes in recent.items():
        found.setdefault(key[0], {})[key] = outcomes
    return found


def _named(rates: Rates) -> dict[str, float]:
    return dict(zip(_RATES, _each(rates), strict=True))


def _fits(operator: Operator, outcome: Outcome) -> bool:
    """Whether the outcome is of such an operator: a definition may have changed since."""
    return sum(len(reads.kinds) for reads in operator.signature.reads) == len(outcome.operands)
