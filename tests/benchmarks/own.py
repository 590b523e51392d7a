"""olston's own time around a step: everything that is not Spark or Delta, with work that is only pretended, and takes
a fifth of a second, less than any commit. What olston does while it waits for that costs nobody time.

    python tests/benchmarks/own.py                     60 waves of search preprocessing, on SQLite
    python tests/benchmarks/own.py --waves 500         the same, older

Prints what an arrival, a plan and the surroundings of a step take, and how that grows with age. Exits with 1 if a step
has 50 ms or more around it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import olston as ol
from tests.cluster.scenario import START, search
from tests.pretended import Pretended, arrive, engine

LIMIT = 0.050
TAKES = 0.2


class Waiting(Pretended):
    """Work that takes its time."""

    def make(self, *given: Any) -> Any:
        time.sleep(TAKES)
        return super().make(*given)

    def deliver(self, *given: Any) -> Any:
        time.sleep(TAKES)
        return super().deliver(*given)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waves", type=int, default=60)
    options = parser.parse_args()
    clock, arrivals, refreshes, plans, steps = ol.ManualClock(START), [], [], [], []
    with tempfile.TemporaryDirectory(prefix="olston-own-") as home:
        running = engine(search(), home, Waiting(), clock=clock)
        for wave in range(options.waves):
            clock.advance("1 hour")
            began = time.perf_counter()
            arrive(running, "clicks" if wave % 5 == 0 else "pages")
            arrived = time.perf_counter()
            arrivals.append(arrived - began)
            if wave % 3 == 2:  # it learns from what ran before, so what comes after it has less to do
                running.plan()
                plans.append(time.perf_counter() - arrived)
                running.refresh()
                continue
            made = running.refresh()
            worked = [s for _, _, s in made.steps if s >= TAKES]
            refreshes.append(time.perf_counter() - arrived - TAKES * len(worked))
            steps.append(len(worked))
        running.close()
    around = [r / s for r, s in zip(refreshes, steps, strict=True) if s]
    third = len(around) // 3
    print(f"an arrival takes {1000 * median(arrivals):.1f} ms, plan() {1000 * median(plans):.1f} ms")
    print(f"around a step {1000 * median(around):.1f} ms, at most {1000 * max(around[1:]):.1f} ms")
    print(f"the last third of the waves over the second: {median(around[-third:]) / median(around[third:-third]):.2f}")
    return int(median(around) >= LIMIT)


if __name__ == "__main__":
    sys.exit(main())
