"""Which prunings pay: total cost of the three workflows under each choice, as ratios to the default.

python tests/benchmarks/prunings.py [--weeks 10]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from olston.duration import UNITS
from olston.project import EXAMPLES, find_workflow
from olston.scheduler.decide import DEFAULT_PRUNINGS, Decision, decide
from olston.scheduler.problem import Problem
from olston.scheduler.prune import SECTIONS
from olston.scheduler.simulate.rates import read_rates
from olston.scheduler.simulate.run import simulate


def choices() -> list[tuple[str, tuple[str, ...]]]:
    """All prunings, all but one, none."""
    without = [(f"without {s}", tuple(o for o in SECTIONS if o != s)) for s in SECTIONS]
    return [("all", SECTIONS), *without, ("6.2.1 and 6.2.2 only", ("6.2.1", "6.2.2")), ("none", ())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=10)
    weeks = parser.parse_args().weeks
    print(f"| prunings | {' | '.join(EXAMPLES)} | scheduler s |")
    print("|---|" + "--:|" * (len(EXAMPLES) + 1))
    default: dict[str, float] = {}
    for label, sections in choices():

        def policy(
            problem: Problem, *, due: Sequence[str] | None = None, sections: tuple[str, ...] = sections
        ) -> Decision:
            return decide(problem, sections, due=due)

        cells, seconds = [], 0.0
        for name in EXAMPLES:
            workflow, folder = find_workflow(name)
            rates = read_rates(folder / "rates.toml", workflow)
            outcome = simulate(workflow, rates, weeks * UNITS["week"], policy=policy, noise=0)
            seconds += outcome.scheduler_seconds
            first = default.setdefault(name, outcome.cost)
            lower = sum(n for rung, n in outcome.rungs.items() if rung) / sum(outcome.rungs.values())
            cells.append(f"{outcome.cost / first:.3f}" + (f" ({lower:.0%} on a lower rung)" if lower > 0.005 else ""))
        mark = "**" if set(sections) == set(DEFAULT_PRUNINGS) else ""
        print(f"| {mark}{label}{mark} | {' | '.join(cells)} | {seconds:.1f} |", flush=True)
    print("\ncost of 'all' in CPU hours: " + ", ".join(f"{name} {cost:,.0f}" for name, cost in default.items()))


if __name__ == "__main__":
    main()
