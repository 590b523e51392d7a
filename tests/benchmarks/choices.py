"""How often the plan chooses what is really cheaper, and how soon learning gets there.

    python tests/benchmarks/choices.py                 five workflows, ten random waves each: about ten minutes
    python tests/benchmarks/choices.py --quick         two workflows, four small waves each
    python tests/benchmarks/choices.py --only join,least --waves 20 --seed 7

Each workflow has one choice between computing anew and going on from what is there. Before every wave is refreshed, its
home is copied, and each way is carried out for real on copies, twice; then the engine does what it planned, and learns
from that alone. A wave counts as right if the way planned took at most 15 % longer than the other, or 0.1 s: below that
timings say nothing. `matters` are the waves where the two differ by more; the shares are of those. The regret is
the time of the way chosen over that of the better one. Beside it stands what the priors would have chosen.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import olston as ol
from olston import session as sessions
from olston.content import LITTLE
from olston.engine import Engine
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.decide import decide
from olston.scheduler.network import Network
from olston.store import Store

START = 1_700_000_000_000_000
NOISE, INSTANT = 0.15, 0.1
ANEW, ONWARD = "anew", "onward"
EVENTS = "id bigint, k bigint, v int, t timestamp"
SPANS = ((1, 1), (2, 3), (4, 6), (7, 10), (11, 99))


def events(session: Any, start: int, count: int, keys: int) -> Any:
    return session.range(start, start + count).selectExpr(
        "id", f"cast(pmod(hash(id), {keys}) AS bigint) AS k", "cast(pmod(hash(id, 1), 1000) AS int) AS v",
        "timestamp_seconds(1700000000 + id) AS t",
    )  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """A workflow with one widget to choose a variant for; `sides` are the sources that waves come to."""

    name: str
    place: Callable[[ol.Channel, ol.Channel], ol.Channel]
    groups: int
    sides: tuple[str, ...] = ("events",)

    def workflow(self) -> ol.Workflow:
        wf = ol.Workflow(self.name)
        output = self.place(wf.source("events", EVENTS), wf.source("items", "k bigint, name string"))
        wf.output(output)
        for pathway in range(len(output.pathways)):
            wf.bound_staleness(output, pathway, 0)
        return wf


CHOICES = (
    Choice("join", lambda e, i: e.join("join", i, on="k"), 5_000, ("events", "events", "items")),
    Choice("count", lambda e, i: e.aggregate("count", by="k", n=ol.count(), total=ol.sum("v"), keep=True), 20_000),
    Choice("least", lambda e, i: e.aggregate("least", by="k", least=ol.min("v"), keep=True), 20_000),
    Choice(
        "newest",
        lambda e, i: e.extract("newest", lambda df: df.select("k", "v"), key="k", order_by="t", keep=True),
        50_000,
    ),
    Choice("pairs", lambda e, i: e.map("kv", lambda df: df.select("k", "v")).distinct("pairs", keep=True), 1_000),
)


@dataclass(frozen=True)
class Wave:
    """What was chosen and what the two ways took."""

    choice: str
    number: int
    rows: int
    planned: str
    by_priors: str
    seconds: dict[str, float]

    @property
    def matters(self) -> bool:
        low, high = sorted(self.seconds.values())
        return high > (1 + NOISE) * low and high > low + INSTANT

    def regret(self, chosen: str) -> float:
        return self.seconds[chosen] / min(self.seconds.values())

    def right(self, chosen: str) -> bool:
        return not self.matters or self.regret(chosen) == 1


class Replay:
    """One workflow through its waves."""

    def __init__(self, session: Any, choice: Choice, rows: int, repeat: int, seed: int) -> None:
        self.session, self.choice, self.rows, self.repeat = session, choice, rows, repeat
        self.chance = random.Random(f"{choice.name} {seed}")
        self.folder = Path(tempfile.mkdtemp(prefix="olston-choices-"))
        self.next_id, self.waves = rows, list[Wave]()
        self.wf, self.home = choice.workflow(), self.folder / "home"
        self.engine = Engine(self.wf, str(self.home), clock=ol.ManualClock(START), spark=session)
        with self.engine.arrival() as first:
            first.ingest("events", events(session, 0, rows, choice.groups))
            first.ingest("items", self._items(0, choice.groups))
        self.engine.refresh()
        self.priors = compile_workflow(self.wf, ENGINE, self.engine._drifting)

    def close(self) -> None:
        self.engine.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def wave(self) -> Wave:
        """One wave of random size, both ways on copies, then as planned."""
        side = self.chance.choice(self.choice.sides)
        whole = self.rows if side == "events" else self.choice.groups
        count = max(1, int(whole * 10 ** self.chance.uniform(-4, 0)))
        if side == "events":
            self.engine.ingest(side, events(self.session, self.next_id, count, self.choice.groups))
            self.next_id += count
        else:
            self.engine.ingest(side, self._items(self.chance.randrange(self.choice.groups), count))
        planned, by_priors = self._way(self.engine.plan().steps), self._by_priors()
        ways = [ANEW, ONWARD] * self.repeat
        self.chance.shuffle(ways)
        took: dict[str, list[float]] = {ANEW: [], ONWARD: []}
        for way in ways:
            took[way].append(self._copied(way))
        self.engine.refresh()
        seconds = {way: min(found) for way, found in took.items()}
        made = Wave(self.choice.name, len(self.waves) + 1, count, planned, by_priors, seconds)
        self.waves.append(made)
        return made

    def _copied(self, way: str) -> float:
        """The seconds of the steps of a refresh on a copy, with the variants of the other way left out."""
        home = self.folder / "copy"
        shutil.copytree(self.home, home)
        for log in home.rglob("_delta_log"):  # an engine that goes on has seen its tables before
            self.session.read.format("delta").load(str(log.parent)).inputFiles()
        copy = Engine(self.wf, str(home), clock=ol.ManualClock(START), spark=self.session)
        copy._drifting = self.engine._drifting
        copy.__dict__["store"] = Store(self.session, str(home), self.wf, self.engine.store.schemas)
        network = copy._network
        copy.__dict__["_network"] = network.without(self._names(network, ONWARD if way == ANEW else ANEW))
        try:
            return copy.refresh().seconds
        finally:
            copy.close()
            shutil.rmtree(home)

    def _names(self, network: Network, way: str) -> set[str]:
        """The variants of the widget that go a way; what follows on its internal channels is free to choose."""
        return {
            v.name
            for v in network.variants
            if v.foreign and v.widget == self.choice.name and v.signature.incremental == (way == ONWARD)
            if not any("#" in channel for channel in v.inputs)
        }

    def _way(self, steps: tuple[str, ...]) -> str:
        return ANEW if self._names(self.priors, ANEW) & set(steps) else ONWARD

    def _by_priors(self) -> str:
        with self.engine._catalog.look() as db:
            state = self.engine._planning.load(db)
        decision = decide(state.problem(state.now(START), self.priors))
        return self._way(tuple(str(s.operator) for s in decision.steps if not s.is_delivery))

    def _items(self, start: int, count: int) -> Any:
        keys = self.choice.groups
        return self.session.range(start, start + count).selectExpr(f"id % {keys} AS k", "concat('item ', id) AS name")


def table(waves: list[Wave]) -> str:
    """Shares and regrets after so many waves, over all workflows."""
    lines = [
        f"{'wave':>8} {'waves':>6} {'matters':>8} {'right':>7} {'by priors':>10} {'regret':>8} {'by priors':>10}",
    ]
    for first, last in (*SPANS, (1, 99)):
        within = [w for w in waves if first <= w.number <= last]
        if not within:
            continue
        name = "all" if (first, last) == (1, 99) else str(first) if first == last else f"{first} to {last}"
        matter = [w for w in within if w.matters]
        shares = [
            f"{sum(w.right(c(w)) for w in matter) / len(matter):.0%}" if matter else "" for c in (_planned, _by_priors)
        ]
        regrets = [sum(w.regret(c(w)) for w in within) / len(within) for c in (_planned, _by_priors)]
        lines.append(
            f"{name:>8} {len(within):>6} {len(matter):>8} {shares[0]:>7} {shares[1]:>10} {regrets[0]:>8.2f} "
            f"{regrets[1]:>10.2f}"
        )
    return "\n".join(lines)


def _planned(wave: Wave) -> str:
    return wave.planned


def _by_priors(wave: Wave) -> str:
    return wave.by_priors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=3e5)
    parser.add_argument("--waves", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(c.name for c in CHOICES))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows, waves, repeat, names = int(options.rows), options.waves, options.repeat, options.only.split(",")
    if options.quick:
        rows, waves, repeat, names = 50_000, 4, 1, ["count", "join"]
    session = sessions.start({"spark.driver.memory": "3g"}, app="olston choices")
    began, done = time.perf_counter(), list[Wave]()
    try:
        print(f"{os.cpu_count()} cores, Spark {session.version}, {rows:,} rows; warming up", flush=True)
        chosen = [c for c in CHOICES if c.name in names]
        for choice in chosen:
            warm = Replay(session, choice, min(rows, 2 * LITTLE), 1, 0)  # of few rows other things are done
            for _ in range(2):
                warm.wave()
            warm.close()
        print(f"{'':8} {'wave':>5} {'rows':>9} {'anew s':>8} {'onward s':>9}  planned  by priors", flush=True)
        for choice in chosen:
            replay = Replay(session, choice, rows, repeat, options.seed)
            for _ in range(waves):
                w = replay.wave()
                done.append(w)
                verdict = "" if w.right(w.planned) else "  wrong"
                print(
                    f"{w.choice:8} {w.number:>5} {w.rows:>9,} {w.seconds[ANEW]:>8.2f} {w.seconds[ONWARD]:>9.2f}  "
                    f"{w.planned:<8} {w.by_priors:<9}{'' if w.matters else '  (a tie)'}{verdict}",
                    flush=True,
                )
            print(replay.engine.costs(), flush=True)
            replay.close()
        print(f"\n{table(done)}\n\n{time.perf_counter() - began:.0f} s")
    finally:
        session.stop()


if __name__ == "__main__":
    main()
