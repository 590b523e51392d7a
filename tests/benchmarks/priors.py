"""The priors of the cost model: the rates that explain best what `operators.py` measured."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import numpy as np

PRIORS = Path(__file__).parents[2] / "scheduler" / "priors.toml"
RATES = ("base", "delta", "shuffled", "written")
ALIKE = {
    "AsyncBatchJoin": "BatchJoin", "AsyncBatchUnion": "BatchUnion",
    "ReplaceMap": "IncrementalMap", "ReplaceLeftJoin": "AsyncLeftJoin", "ReplaceRightJoin": "AsyncRightJoin",
    "SupersedingRightJoin": "AsyncRightJoin",
}  # fmt: skip
"""Operators that are not measured, and others that do the same."""


def priors(
    measured: Sequence[tuple[str, int, float, Sequence[float]]], looked_up: Sequence[float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The rates that explain the seconds measured, and what each kind of operator takes to start over the median.

    `measured` has operators, how many results they made, seconds and work; `looked_up` the seconds for each row that an
    overlay makes a reader look up. By relative error, and none below 0.
    """
    operators = sorted({operator for operator, *_ in measured})
    names = (*operators, *RATES)
    amounts = np.array(
        [[results * (o == operator) for o in operators] + [*work] for operator, results, _, work in measured]
    )
    seconds = np.array([s for _, _, s, _ in measured])
    scaled, target = amounts / seconds[:, None], np.ones(len(seconds))
    active = list(range(len(names)))
    while True:
        solved, *_ = np.linalg.lstsq(scaled[:, active], target, rcond=None)
        if (solved >= 0).all():
            break
        active.pop(int(np.argmin(solved)))
    found = dict.fromkeys(names, 0.0) | {names[i]: float(v) for i, v in zip(active, solved, strict=True)}
    start = median(found[o] for o in operators)
    rates = {"start": start, **{name: found[name] for name in RATES}, "overlay": median(looked_up)}
    starts = {o: found[o] / start for o in operators}
    starts |= {o: starts[other] for o, other in ALIKE.items() if other in starts}
    off = np.median(np.abs(scaled[:, active] @ solved - 1))
    for title, shown in (("priors, in seconds", rates), ("starts, over the median", starts)):
        print(f"\n{title}: " + ", ".join(f"{n} {v:.3g}" for n, v in shown.items()))
    print(f"off by {off:.0%} in the median")
    return rates, starts


def write_priors(rates: Mapping[str, float], starts: Mapping[str, float], delivered: Mapping[str, float]) -> None:
    """`delivered` are the seconds of each way to deliver few rows to a small table."""
    lines = [
        "# Seconds to start a step and per row of each kind of work, on a warm local session of two cores.",
        "# Made by `python tests/benchmarks/operators.py --write-priors`.",
        "",
        *(f"{name} = {value:.3g}" for name, value in rates.items()),
        "",
        "# How many times as long as the median each kind of operator takes to start, and each way to deliver.",
        "[starts]",
        *(f"{name} = {value:.2g}" for name, value in starts.items()),
        *(f'"{way}" = {seconds / rates["start"]:.2g}' for way, seconds in delivered.items()),
    ]
    PRIORS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_ways(delivered: Mapping[str, float]) -> None:
    """Renew the ways to deliver alone; an append, which is the plainest step, ties them to the others."""
    known = tomllib.loads(PRIORS.read_text(encoding="utf-8"))["starts"]["append"]
    lines = [line for line in PRIORS.read_text(encoding="utf-8").splitlines() if not line.startswith('"')]
    lines += [f'"{way}" = {known * seconds / delivered["append"]:.2g}' for way, seconds in delivered.items()]
    PRIORS.write_text("\n".join(lines) + "\n", encoding="utf-8")
