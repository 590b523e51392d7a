"""What planning costs, and what it is worth. Prints ratios; `make bench` runs it.

python tests/benchmarks/planning.py [--weeks 10]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import thread_time

sys.path.insert(0, str(Path(__file__).parents[2]))

import olston as ol
from olston.block import BASE, MONOTONE, Block
from olston.duration import UNITS
from olston.project import EXAMPLES, find_workflow
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.decide import Decision, decide
from olston.scheduler.problem import Problem
from olston.scheduler.simulate.paper import TABLE_5
from olston.scheduler.simulate.rates import read_rates
from olston.scheduler.simulate.run import Outcome, simulate
from olston.timeline import History, Timeline
from tests.benchmarks.letter import ToTheLetter

DUE = 5


def plain(problem: Problem, *, due: Sequence[str] | None = None) -> Decision:
    """Algorithm 1 without prunings and without planning again."""
    return decide(problem, (), due=due, replan=False)


def of_week(outcome: Outcome, week: int) -> float:
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


def large(channels: int) -> Problem:
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
    return Problem(compile_workflow(workflow), blocks, History(timelines, 30), holds)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=10)
    arguments = parser.parse_args()
    paper_workflows(arguments.weeks)
    large_workflows()


if __name__ == "__main__":
    main()
