"""olston beside its alternatives, end to end on real Spark and Delta: the same waves, the same output, in one run.

    python tests/benchmarks/refresh.py                           all scenarios at full size: an hour or so
    python tests/benchmarks/refresh.py --only search             one of them: 35 minutes, the others ten
    python tests/benchmarks/refresh.py --only search --pages 500000
    python tests/benchmarks/refresh.py --quick --keep /tmp/r.json   small, to see that it works
    python tests/benchmarks/refresh.py --age                     500 small waves: does anything grow with age?
    python tests/benchmarks/refresh.py --write-docs              put what is stored into docs/performance.md

Results are stored after every wave in docs/performance/refresh.json, by scenario and size, and take the place of those
before them when a scenario is through; what a contender holds is compared after every phase. At full size the exit code
is 1 if something is not reached. See docs/performance.md for what is counted.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

from olston import session as sessions
from tests.benchmarks.contenders import age, page, results
from tests.benchmarks.contenders.expert import EXPERTS
from tests.benchmarks.contenders.measure import Course, Measured
from tests.benchmarks.contenders.ours import MODES, Ours, seed
from tests.benchmarks.contenders.pipelines import Pipelines
from tests.benchmarks.contenders.raw import Raw, copied
from tests.benchmarks.contenders.recompute import Recompute
from tests.benchmarks.contenders.scenario import Contender, Scenario
from tests.benchmarks.contenders.scenarios import SCENARIOS
from tests.benchmarks.contenders.search import CLICKS, PAGES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FULL = 5_000_000
"""Pages for which it is said what is to be reached."""


def course(session: SparkSession, scenario: Scenario, size: int, folder: Path, options: argparse.Namespace) -> Course:
    """All contenders with the first data in place, each with its own copy of it."""
    data = scenario.data(session, folder / "data", size)
    first = data.first()
    Raw(session, scenario, folder / "raw").take(first)
    seed(session, scenario, folder / "seed", first)
    contenders: list[Contender] = [Recompute(session, scenario, _with_raw(folder, "recompute"))]
    for number, expert in enumerate(EXPERTS[scenario.name]):
        contenders.append(expert(session, scenario, _with_raw(folder, f"expert-{number}")))
    for mode in MODES:
        home = copied(folder / "seed", folder / mode.name.replace("/", "-"))
        contenders.append(Ours(session, scenario, home, mode))
    if not options.no_pipelines:
        contenders.append(Pipelines(session, scenario, _with_raw(folder, "pipelines"), options.memory))

    def keep(found: Measured) -> None:
        stored = results.measured(scenario.name, size, options.memory, found)
        results.keep(results.under_way(_key(scenario, size, options)), stored, options.keep)

    return Course(session, scenario, data, contenders, keep)


def _key(scenario: Scenario, size: int, options: argparse.Namespace) -> str:
    return f"{scenario.name} {size}{' without pipelines' if options.no_pipelines else ''}"


def _with_raw(folder: Path, name: str) -> Path:
    copied(folder / "raw", folder / name / "raw")
    return folder / name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=5_000_000, help="pages; other scenarios have a fifth as many rows")
    parser.add_argument("--only", default=",".join(SCENARIOS), help="scenarios, by name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", default="4g", help="spark.driver.memory, of pipelines too")
    parser.add_argument("--no-pipelines", action="store_true", help="without Spark Declarative Pipelines")
    parser.add_argument("--no-week", action="store_true", help="without the week of search preprocessing")
    parser.add_argument("--quick", action="store_true", help="100,000 pages, one round, no pipelines, no week")
    parser.add_argument("--keep", type=Path, default=results.STORED, help="where results are stored")
    parser.add_argument("--age", action="store_true", help="many small waves of search preprocessing by olston alone")
    parser.add_argument("--waves", type=int, default=500, help="waves of --age")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    if options.quick:
        options.pages, options.rounds, options.no_pipelines, options.no_week = 100_000, 1, True, True
    if options.write_docs:
        page.write()
        return 0
    session = sessions.start({"spark.driver.memory": options.memory}, app="olston refresh")
    missed = list[str]()
    began, folder = time.perf_counter(), Path(tempfile.mkdtemp(prefix="olston-refresh-"))
    try:
        if options.age:
            found = {**age.run(session, folder, options.waves), "machine": results.machine(options.memory)}
            results.keep("age", found, options.keep)
            print("\n".join(page.verdicts(results.aged(found))))
            return int(not all(c.reached for c in results.aged(found)))
        for name in options.only.split(","):
            scenario = SCENARIOS[name]
            size = options.pages if name == "search" else options.pages // 5
            print(f"{name}, {size:,} rows", flush=True)
            running = course(session, scenario, size, folder / name, options)
            running.begin()
            for phase in scenario.phases:
                running.rounds(phase, options.rounds)
            running.repair()
            if name == "search" and not options.no_week:
                running.week({results.SYNC, results.ASYNC, results.OURS}, PAGES, CLICKS)
            running.close()
            shutil.rmtree(folder / name, ignore_errors=True)
            results.finish(_key(scenario, size, options), options.keep)
            stored = results.load(options.keep)[_key(scenario, size, options)]
            claims = results.claims(stored)
            print("\n".join([*page.table(stored), "", *page.verdicts(claims), ""]), flush=True)
            missed += [c.text for c in claims if not c.reached and options.pages >= FULL]
        print(f"{time.perf_counter() - began:.0f} s")
    finally:
        session.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for text in missed:
        print(f"not reached: {text}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
