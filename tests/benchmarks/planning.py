"""What planning costs, and what it is worth. Prints ratios; `make bench` runs it.

python tests/benchmarks/planning.py [--weeks 10]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import thread_time

sys.path.insert(0, str(Path(__file__).parents[2]))

import olston as ol
from olston.block import BASE, MONOTONE, Block
from olston.catalog import Catalog
from olston.catalog.records import StepRecord
from olston.duration import UNITS
from olston.learning import Learning
from olston.operators.estimate import Work
from olston.project import EXAMPLES, find_workflow
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE, CostModel
from olston.scheduler.decide import Decision, decide
from olston.scheduler.outcome import Outcome
from olston.scheduler.price import Priced, prices
from olston.scheduler.problem import Problem
from olston.scheduler.simulate.paper import TABLE_5
from olston.scheduler.simulate.rates import read_rates
from olston.scheduler.simulate.run import Outcome as Simulated
from olston.scheduler.simulate.run import simulate
from olston.timeline import History, Timeline
from tests.benchmarks.letter import ToTheLetter

DUE = 5


def plain(problem: Problem, *, due: Sequence[str] | None = None) -> Decision:
    """Algorithm 1 without prunings and without planning again."""
    return decide(problem, (), due=due, replan=False)


def of_week(outcome: Simulated, week: int) -> float:
    """The median seconds of a call in simulated week `week`, counted from 1."""
    start = (week - 1) * UNITS["week"]
    return median(s for now, s in outcome.calls if start <= now < start + UNITS["week"])


def paper_workflows(weeks: int) -> None:
    print(f"{weeks} simulated weeks, Async/Incr")
    header = f"{'':24} {'scheduler s':>12} {'paper':>6} {'calls':>6} {'ms/call':>8}"
    print(header + f" {'week ' + str(weeks) + ' / 2':>11} {'cost / letter':>14} {'rescued':>8} {'cost / plain':>13}")
    for name in EXAMPLES:
        workflow, folder = find_workflow(name)
        rates = read_rates(folder / "rates.toml", workflow)
        span = weeks * UNITS["week"]
        ours = simulate(workflow, rates, span)
        letter = ToTheLetter()
        literal = simulate(workflow, rates, span, policy=letter)
        without = simulate(workflow, rates, span, policy=plain)
        calls = len(ours.calls)
        print(
            f"{name:24} {ours.scheduler_seconds:12.2f} {TABLE_5[name]['Async/Incr'].seconds:6.2f} {calls:6d} "
            f"{1e3 * ours.scheduler_seconds / calls:8.2f} {of_week(ours, weeks) / of_week(ours, 2):11.2f} "
            f"{ours.cost / literal.cost:14.3f} {letter.rescued / letter.calls:8.1%} {ours.cost / without.cost:13.3f}"
        )


def large(channels: int, costs: CostModel | None = None) -> Problem:
    """A workflow of `channels` channels in groups of five, each with an output; waves came in for five of them."""
    workflow = ol.Workflow(f"large_{channels}")
    groups = channels // 5
    for g in range(groups):
        left, right = workflow.source(f"left{g}"), workflow.source(f"right{g}")
        kept = left.filter(f"kept{g}", "x > 0")
        counted = right.aggregate(f"counted{g}", by="k", n=ol.count())
        output = kept.join(f"joined{g}", counted, on="k")
        workflow.output(output)
        workflow.bound_staleness(output, 0, 0)
    timelines = {name: Timeline(name, [10]) for name in workflow.sources}
    blocks: dict[str, list[Block]] = {}
    for name, channel in workflow.channels.items():
        at = Provenance.at(*(10 for _ in channel.pathways))
        blocks[name] = [Block(name, BASE, at, rows=1e6)]
    for g in range(0, groups, groups // DUE):
        for name in (f"left{g}", f"right{g}"):
            timelines[name].arrive(20)
            blocks[name].append(Block(name, MONOTONE, Provenance.at(20), Provenance.at(10), 1e3))
    holds: dict[str, Provenance | None] = {name: Provenance.at(10, 10) for name in workflow.outputs}
    return Problem(compile_workflow(workflow, costs), blocks, History(timelines, 30), holds)


def call(problem: Problem) -> float:
    """The median seconds of a call, finding out what is due included."""
    assert len(problem.due()) == DUE
    seconds = []
    for _ in range(15):
        started = thread_time()
        decision = decide(problem)
        seconds.append(thread_time() - started)
        assert decision.feasible
    return median(seconds)


def large_workflows() -> None:
    small, big = call(large(1_000)), call(large(10_000))
    print(
        f"\na call with {DUE} outputs due: 1,000 channels {1e3 * small:.1f} ms, 10,000 channels {1e3 * big:.1f} ms,",
        end=" ",
    )
    print(f"ratio {big / small:.2f}")


def recorded(at: int, price: Priced) -> StepRecord:
    """A step of one variant, as if it had been carried out."""
    kinds = [k for reads in price.operator.signature.reads for k in reads.kinds]
    operands = tuple((k, 1e6 if k == BASE else 10.0 ** (2 + at % 4)) for k in kinds)
    seen = Outcome(price.widget, price.operator.name, operands, Work(), (100.0,), (1.0,), 0.5 + at % 3, 1.0)
    outcome = replace(seen, work=price.work(seen.blocks()))
    return StepRecord(
        attempt=f"{at:024x}", plan="", workflow="large", name=f"{price.widget}.{price.operator.name}", state="done",
        operands=[], results=[], expected_seconds=1.0, expected_rows=1.0, started_at=0, outcomes=[outcome.to_dict()],
    )  # fmt: skip


def learned_models() -> None:
    """What following a model that was learned from 100 variants, 16 runs each, adds to a call."""
    problem = large(1_000, ENGINE)
    by_priors = call(problem)
    variants = [p for listed in prices(problem.network).values() for p in listed if isinstance(p, Priced)]
    ran = [p for p in variants if not p.free and not p.converter][:100]
    with TemporaryDirectory() as folder:
        catalog, learning, times = Catalog(f"sqlite:///{folder}/catalog.db"), Learning("large"), list[float]()
        news = [[recorded(i, p) for i, p in enumerate(ran * 16)], [], [recorded(10**6 + 1, ran[0])]]
        for steps in news:
            with catalog.transaction() as db:
                db.add_all(steps)
            with catalog.look() as db:
                started = thread_time()
                learning.priced(db, problem.network)
                times.append(1e3 * (thread_time() - started))
        catalog.close()
    first, nothing, one = times
    print(
        f"\nlearning from {len(ran)} variants, 16 runs each: at the start {first:.0f} ms, with nothing new "
        f"{nothing:.1f} ms, after one step {one:.1f} ms; a call "
        f"by priors {1e3 * by_priors:.1f} ms, by what was learned {1e3 * call(problem):.1f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=10)
    arguments = parser.parse_args()
    paper_workflows(arguments.weeks)
    large_workflows()
    learned_models()


if __name__ == "__main__":
    main()
