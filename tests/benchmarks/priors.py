"""The priors of the cost model: the rates that explain best what `operators.py` measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np

PRIORS = Path(__file__).parents[2] / "scheduler" / "priors.toml"


def priors(measured: Sequence[tuple[float, Sequence[float]]], looked_up: Sequence[float]) -> dict[str, float]:
    """Rates that explain the seconds measured for some work, none below 0, by relative error.

    `looked_up` has the seconds for each row that an overlay makes a reader look up.
    """
    names = ("start", "base", "delta", "shuffled", "written")
    work = np.array([(1.0, *work) for _, work in measured])
    seconds = np.array([s for s, _ in measured])
    scaled, target = work / seconds[:, None], np.ones(len(seconds))
    active = list(range(len(names)))
    while True:
        solved, *_ = np.linalg.lstsq(scaled[:, active], target, rcond=None)
        if (solved >= 0).all():
            break
        active.pop(int(np.argmin(solved)))
    rates = dict.fromkeys(names, 0.0) | {names[i]: float(v) for i, v in zip(active, solved, strict=True)}
    rates["overlay"] = median(looked_up)
    off = np.median(np.abs(scaled[:, active] @ solved - 1))
    print(
        "\npriors, in seconds: "
        + ", ".join(f"{n} {v:.3g}" for n, v in rates.items())
        + f"; off by {off:.0%} in the median"
    )
    return rates


def write_priors(rates: dict[str, float]) -> None:
    lines = [
        "# Seconds to start a step and per row of each kind of work, on a warm local session of two cores.",
        "# Made by `python tests/benchmarks/operators.py --write-priors`.",
        "",
    ]
    PRIORS.write_text("\n".join(lines + [f"{name} = {value:.3g}" for name, value in rates.items()]) + "\n")
