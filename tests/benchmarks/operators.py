"""What each variant costs on Spark and Delta, over the sizes of bases and deltas, in one warm session.

    python tests/benchmarks/operators.py                      bases of 10⁵ to 10⁷ rows, deltas of 10² to 10⁶
    python tests/benchmarks/operators.py --bases 1e5 --deltas 1e2,1e4   quickly
    python tests/benchmarks/operators.py --write-priors       also refreshes scheduler/priors.toml
    python tests/benchmarks/operators.py --only 'united|BΔ'   variants whose names match
    python tests/benchmarks/operators.py --deliveries         the ways to deliver alone, a few minutes

Left out are asynchronous batch, which does what batch does, and chains, which are lists.

Prints seconds, and ratios to the batch variant on the same data; overlay reads over plain reads; fold against MERGE
against rewrite; fused against materialised steps; olston's own time around a step; and what must hold: applying
a delta runs no job, and no base is shuffled for a small delta. Exits with 1 if that does not hold.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from olston import session as sessions
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, MONOTONE, Block
from olston.content import Content
from olston.fuse import step_of, unwritten
from olston.operators.operator import Operator
from olston.operators.signature import Link
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.plan import Invocation
from olston.step import Step, Stored, linked, rows, run
from olston.store import Store
from tests.benchmarks.deliveries import publishing
from tests.benchmarks.every_widget import events, keys_of, statistics, workflow
from tests.benchmarks.priors import priors, write_priors, write_ways
from tests.physical import shuffled, walk

T = Provenance.at
ROOT = str(Path(__file__).parents[2])
COMPARED = ("events", "items", "counts", "newest")
"""Channels whose bases are compared: one with each representation."""
PUBLISHED = [10**4, 2 * 10**5, 10**6]
"""Rows of the published tables to which changes are brought."""
OWN_LIMIT = 0.050
ENOUGH = 6.0
"""Seconds after which a variant is not measured once more."""


@dataclass(frozen=True)
class Measured:
    """One variant on one pair of sizes; `own` is the time spent in olston's code, without what it calls of Spark."""

    variant: str
    operator: str
    base: int
    delta: int
    seconds: float
    own: float
    results: int
    work: tuple[float, float, float, float]


@dataclass
class Bench:
    """The store, the blocks made so far, and what was measured."""

    store: Store
    session: Any
    repeat: int
    variants: dict[str, Any]
    measured: list[Measured] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    only: re.Pattern[str] = re.compile("")
    looked_up: list[float] = field(default_factory=list)
    """Seconds for each row that an overlay makes a reader look up."""

    def step(self, name: str, operands: tuple[Stored, ...], kind: str, source: Provenance | None) -> Step:
        variant = self.variants[name]
        target = Provenance.at(*(2 if source else 1,) * len(self.store.workflow.channels[variant.outputs[0]].pathways))
        start = None if source is None else Provenance.at(*(1,) * len(target))
        results = tuple(Block(c, kind, target, start) for c in variant.outputs)
        return Step(name, variant.operator, operands, results)

    def measure(self, name: str, operands: tuple[Stored, ...], kind: str, base: int, delta: int) -> tuple[Stored, ...]:
        step = self.step(name, operands, kind, None if kind == BASE else T(1))
        if not self.only.search(name):
            return run(self.store, self.session, step, new_attempt())
        seconds = list[float]()
        made: tuple[Stored, ...] = ()
        while len(seconds) < self.repeat and sum(seconds) < ENOUGH:
            self.store.memory.forget()  # a prior is what reading from files costs
            started = time.perf_counter()
            made = run(self.store, self.session, step, new_attempt())
            seconds.append(time.perf_counter() - started)
        print(f"    {name:<36}{base:>12,}{delta or '':>12}{median(seconds):>9.2f}", flush=True)
        own = _own(lambda: run(self.store, self.session, step, new_attempt())) if base <= 10**5 else 0.0
        work = step.operator.estimate([o.block for o in operands], statistics(name.partition(".")[0], base))
        kinds = (work.base, work.delta, work.shuffled, float(sum(m.block.rows for m in made)))
        operator, took = type(step.operator).__name__, median(seconds)
        self.measured.append(Measured(name, operator, base, delta, took, own, len(made), kinds))
        if delta and base >= 100 * delta:
            self._refuse_shuffled_base(step, base)
        return made

    def _refuse_shuffled_base(self, step: Step, base: int) -> None:
        """Only what a small delta met of a base may be sent away, to be shuffled or to every task."""
        session = sessions.clone(self.session)
        session.conf.set("spark.sql.adaptive.enabled", "false")  # or the plan is not known before it is run
        session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # what Spark finds small is not our doing
        for frame in rows(self.store, session, step):
            for where, above in walk(frame._jdf.queryExecution().executedPlan()):
                if "/anchors/" in where and shuffled(above):
                    self.broken.append(f"{step.name}: shuffles {where} of {base:,} rows for a small delta")


class Sources:
    """The blocks of the sources: bases of `base` rows, and deltas of `delta` rows with and without deletions."""

    def __init__(self, bench: Bench, base: int) -> None:
        self.bench, self.base = bench, base
        self.keys = keys_of(base)
        session, store = bench.session, bench.store
        self.events = self._base("events", events(session, 0, base, self.keys))
        self.more = self._base("more", events(session, base, base // 10, self.keys))
        items = session.range(self.keys).selectExpr("id AS k", "concat('item ', id) AS name")
        self.items = self._base("items", items)
        self.store = store

    def _base(self, channel: str, frame: Any) -> Stored:
        content = self.bench.store.write_base(channel, frame, new_attempt(), {})
        assert content.anchor is not None
        return Stored(Block(channel, BASE, T(1), rows=content.anchor.rows), content)

    def again(self, held: Stored) -> Stored:
        """A base with the same rows in files of its own."""
        channel = held.block.channel
        return self._base(channel, self.store.read(self.bench.session, channel, BASE, held.content))

    def added(self, count: int, channel: str = "events") -> Stored:
        frame = events(self.bench.session, 10**9, count, self.keys).selectExpr("1L AS _weight", "*")
        return self._delta(channel, MONOTONE, frame)

    def mixed(self, count: int) -> Stored:
        half = max(1, count // 2)
        old = events(self.bench.session, 0, half, self.keys).selectExpr("-1L AS _weight", "*")
        new = events(self.bench.session, 10**9, half, self.keys).selectExpr("1L AS _weight", "*")
        return self._delta("events", DELTA, old.unionByName(new))

    def items_changed(self, count: int) -> Stored:
        count = min(count, self.keys)
        old = self.bench.session.range(count).selectExpr("-1L AS _weight", "id AS k", "concat('item ', id) AS name")
        new = self.bench.session.range(count).selectExpr("1L AS _weight", "id AS k", "concat('thing ', id) AS name")
        return self._delta("items", DELTA, old.unionByName(new))

    def _delta(self, channel: str, kind: str, frame: Any) -> Stored:
        kind, content = self.bench.store.write_delta(channel, kind, frame, new_attempt(), {}, f"delta of {channel}")
        return Stored(Block(channel, kind, T(2), T(1), content.parts[0].rows), content)


def variants(bench: Bench, sources: Sources, deltas: list[int]) -> None:
    """Every variant on bases of one size; the incremental ones on deltas of all sizes."""
    base = sources.base
    inputs = {"events": sources.events, "items": sources.items, "more": sources.more}
    print(f"  bases of {base:,} rows", flush=True)
    for name, variant in bench.variants.items():
        operator: Operator = variant.operator
        if operator.signature.incremental or not variant.foreign or name.endswith("async_batch"):
            continue
        operands = tuple(inputs[c] for c in variant.inputs)
        for made in bench.measure(name, operands, BASE, base, 0):
            inputs[made.block.channel] = made
    for name, variant in bench.variants.items():
        if variant.operator.signature.reads[0].link is Link.PRECEDES and variant.inputs[0] in COMPARED:
            held = inputs[variant.inputs[0]]
            bench.measure(name, (held, sources.again(held)), variant.operator.signature.writes, base, 0)
    for count in deltas:
        if count > base:
            continue
        print(f"  deltas of {count:,} rows", flush=True)
        incremental(bench, sources, inputs, count)


def incremental(bench: Bench, sources: Sources, inputs: dict[str, Stored], count: int) -> None:
    base = sources.base
    for flavour, delta in (("", sources.added(count)), ("±", sources.mixed(count))):
        known: dict[tuple[str, str], Stored] = {("events", "Δ"): delta, ("items", "Δ"): sources.items_changed(count)}
        known["more", "Δ"] = sources.added(count, "more")
        for name, variant in bench.variants.items():
            operator = variant.operator
            if not operator.signature.incremental or name.rpartition(".")[2].startswith("chain"):
                continue
            operands = list[Stored]()
            for channel, reads in zip(variant.inputs, operator.signature.reads, strict=True):
                for kind in reads.kinds:
                    if kind == BASE:
                        operands.append(inputs[channel])
                    elif kind == MONOTONE and flavour:
                        break
                    else:
                        found = known.get((channel, "Δ" if kind in (DELTA, MONOTONE) else kind))
                        if found is None:
                            break
                        operands.append(found)
            wanted = sum(len(r.kinds) for r in operator.signature.reads)
            if len(operands) < wanted or operator.signature.reads[0].link is Link.PRECEDES:
                continue
            step = bench.step(name, tuple(operands), operator.signature.writes, T(1))
            if linked(bench.store.workflow, step) is not None:
                continue
            made = bench.measure(name, tuple(operands), operator.signature.writes, base, count)
            for m in made:
                key = "Δ" if m.block.kind in (DELTA, MONOTONE) else m.block.kind
                known.setdefault((m.block.channel, key), m)


def overlays(bench: Bench, sources: Sources, deltas: list[int]) -> None:
    """Reading a base with its overlay over reading it plain; folding, a MERGE and rewriting."""
    print(f"\nreading base and overlay over the plain read, base of {sources.base:,} rows")
    session, store = bench.session, bench.store
    plain = _read(bench, sources.events.content)
    for count in deltas:
        if count > sources.base:
            continue
        for name, delta in (("added", sources.added(count)), ("added and deleted", sources.mixed(count))):
            overlaid = sources.events.content.then(delta.content)
            before = _jobs(session)
            step = Step("events.c.ΔB", bench.variants["events.c.ΔB"].operator, (sources.events, delta), (
                Block("events", BASE, T(2)),))  # fmt: skip
            applied = run(store, session, step, new_attempt())[0]
            if _jobs(session) != before or applied.content != overlaid:
                bench.broken.append("applying a delta ran a job")
            both = _read(bench, overlaid)
            bench.looked_up.append(max(0.0, both - plain) / overlaid.overlay)
            print(f"  {count:>9,} rows {name:<18} {both / plain:5.2f}")
    overlaid = sources.events.content.then(sources.mixed(min(deltas)).content)
    fold = _timed(lambda: store.fold(session, "events", overlaid, new_attempt(), {}))
    write = _timed(
        lambda: store.write_base("events", events(session, 0, sources.base, sources.keys), new_attempt(), {})
    )
    print(f"  folding {fold:.2f} s, {fold / write:.2f} of writing the table")


def fusing(bench: Bench, sources: Sources, count: int) -> None:
    """New rows mapped and joined: as one job, and as two that are written."""
    delta, session, store = sources.added(count), bench.session, bench.store
    first = Invocation(
        bench.variants["mapped.incremental"], (delta.block,), (Block("mapped", MONOTONE, T(2), T(1)),), 0, 1
    )
    second = Invocation(
        bench.variants["fused.async_left"], (first.results[0], sources.items.block),
        (Block("fused", MONOTONE, T(2, 1), T(1, 1)),), 0, 2,
    )  # fmt: skip
    stored = {delta.block.key: delta, sources.items.block.key: sources.items}
    inline = unwritten([first, second])
    assert inline

    def apart() -> None:
        made = run(store, session, step_of(first, lambda b: stored[b.key], {}), new_attempt())[0]
        known = {**stored, made.block.key: made}
        run(store, session, step_of(second, lambda b: known[b.key], {}), new_attempt())

    def together() -> None:
        run(store, session, step_of(second, lambda b: stored[b.key], inline), new_attempt())

    fused, materialised = _timed(together), _timed(apart)
    print(f"\nfused over materialised, {count:,} new rows mapped and joined: {fused / materialised:.2f}")


def report(bench: Bench) -> None:
    batch = {(m.variant.rpartition(".")[0], m.base): m.seconds for m in bench.measured if m.variant.endswith(".batch")}
    print(f"\n{'variant':<36}{'base':>12}{'delta':>12}{'seconds':>9}{'of batch':>9}{'own ms':>8}")
    for m in bench.measured:
        twin = batch.get((m.variant.rpartition(".")[0].partition(".c")[0], m.base))
        share = f"{m.seconds / twin:9.2f}" if twin and m.delta else " " * 9
        own = f"{1000 * m.own:>8.1f}" if m.own else ""
        print(f"{m.variant:<36}{m.base:>12,}{m.delta or '':>12}{m.seconds:>9.2f}{share}{own}")
    most = max(m.own for m in bench.measured)
    print(f"\nolston's own time in a step, profiled: at most {1000 * most:.0f} ms; `own.py` has what is around it")
    if most > OWN_LIMIT:
        bench.broken.append(f"olston's own time in a step is {1000 * most:.0f} ms")


def _read(bench: Bench, content: Content) -> float:
    return _timed(lambda: _noop(bench.store.read(bench.session, "events", BASE, content)))


def _noop(frame: Any) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _timed(act: Callable[[], object], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        started = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - started)
    return median(seconds)


def _own(act: Callable[[], object]) -> float:
    """Seconds that `act` spends in functions of this repository, profiled."""
    profile = cProfile.Profile()
    profile.runcall(act)
    found: dict[tuple[str, int, str], Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    return float(sum(row[2] for (f, _, _), row in found.items() if f.startswith(ROOT) and ".venv" not in f))


def _jobs(session: Any) -> int:
    return len(session.sparkContext.statusTracker().getJobIdsForGroup(None))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bases", default="1e5,1e6,1e7")
    parser.add_argument("--deltas", default="1e2,1e4,1e6")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write-priors", action="store_true")
    parser.add_argument("--only", type=re.compile, default=re.compile(""))
    parser.add_argument("--deliveries", action="store_true", help="measure the ways to deliver alone")
    options = parser.parse_args()
    bases = [int(float(b)) for b in options.bases.split(",")]
    deltas = [int(float(d)) for d in options.deltas.split(",")]
    home = tempfile.mkdtemp(prefix="olston-bench-")
    session = sessions.start({"spark.driver.memory": "8g"}, app="olston bench")
    try:
        if options.deliveries:
            delivered = publishing(session, home, PUBLISHED, min(deltas) * 10, options.repeat)
            if options.write_priors:
                write_ways(delivered)
            return 0
        wf = workflow()
        store = Store(session, home, wf)
        network = compile_workflow(wf, drifting=store.schemas.drifting)
        bench = Bench(store, session, options.repeat, {v.name: v for v in network.variants})
        print(f"{os.cpu_count()} cores, Spark {session.version}; medians of {options.repeat}; warming up", flush=True)
        bench.repeat = 1
        variants(bench, Sources(bench, 10_000), [100])
        bench.repeat, bench.only = options.repeat, options.only
        bench.measured.clear()
        bench.broken.clear()
        for base in bases:
            sources = Sources(bench, base)
            variants(bench, sources, deltas)
        report(bench)
        overlays(bench, sources, deltas)
        delivered = publishing(session, home, PUBLISHED, min(deltas) * 10, options.repeat)
        fusing(bench, sources, min(deltas) * 10)
        known = priors([(m.operator, m.results, m.seconds, m.work) for m in bench.measured], bench.looked_up)
        if options.write_priors:
            write_priors(*known, delivered)
    finally:
        session.stop()
        shutil.rmtree(home, ignore_errors=True)
    for fault in dict.fromkeys(bench.broken):
        print(f"does not hold: {fault}")
    return 1 if bench.broken else 0


if __name__ == "__main__":
    sys.exit(main())
