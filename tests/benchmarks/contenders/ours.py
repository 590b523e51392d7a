"""The fourth contender: olston, in each of the four modes of the paper's Table 5."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import olston as ol
from olston.engine import Engine
from olston.scheduler.network import Network
from olston.scheduler.simulate.modes import MODES, Mode
from tests.benchmarks.contenders.scenario import Scenario, Wave, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = 1_700_000_000_000_000
__all__ = ["MODES", "Ours", "seed"]


def seed(session: SparkSession, scenario: Scenario, home: Path, first: Wave) -> None:
    """A home at which the first data has arrived, and nothing was computed yet."""
    with Engine(scenario.workflow(False), str(home), clock=ol.ManualClock(START), spark=session) as engine:
        _arrive(engine, scenario, first)


class Ours:
    """An engine whose network is that of a mode. Waves come ten minutes apart unless `every` says otherwise."""

    def __init__(
        self, session: SparkSession, scenario: Scenario, home: Path, mode: Mode, retention: str | None = None
    ) -> None:
        self.name, self.strict = f"olston, {mode.name}", mode.name.startswith("Sync")
        self._scenario = scenario
        self.clock, self.every = ol.ManualClock(START), "10 minutes"
        workflow = scenario.workflow(self.strict)
        self.engine = Engine(workflow, str(home), clock=self.clock, spark=session, retention=retention)
        _ = self.engine.store  # the network is known when the columns are
        self.engine.__dict__["_network"] = limited(self.engine._network, mode)
        self._work = Stopwatch(self.engine._worker)
        self.engine.__dict__["_worker"] = self._work
        self.engine.write_arrival = self._work.timed(self.engine.write_arrival)  # type: ignore[method-assign]
        self._load = self._work.timed(load)
        self.own: list[float] = []
        """Seconds of each wave in which nothing was asked of Spark or Delta."""

    def begin(self) -> None:
        self.engine.refresh()

    def wave(self, wave: Wave) -> None:
        self.clock.advance(self.every)
        self._work.spans.clear()
        began = time.perf_counter()
        _arrive(self.engine, self._scenario, wave, self._load)
        self.engine.refresh()
        self.own.append(time.perf_counter() - began - self._work.busy)

    def repair(self) -> None:
        self.engine.refresh("output")

    def output(self) -> DataFrame:
        return self.engine.read("output")

    def close(self) -> None:
        self.engine.close()


def limited(network: Network, mode: Mode) -> Network:
    """What a mode leaves of a network. Where only bases are permitted, what arrives may still be put on its source's
    base, which is an entry in the catalog: the simulator lets whole bases arrive instead.
    """
    left = mode.limits(network)
    sources = {n for n, inputs in network.inputs.items() if list(inputs) == [n]}
    kept = {v.name for v in left.variants}
    spared = tuple(v for v in network.variants if v.name not in kept and sources.issuperset(v.outputs))
    return replace(left, variants=left.variants + spared) if mode.bases_only else left


def _arrive(engine: Engine, scenario: Scenario, wave: Wave, load: Callable[..., DataFrame] = load) -> None:
    with engine.arrival() as arrival:
        for source, path in wave.items():
            kind = "delta" if scenario.sources[source].deletes else "append"
            arrival.ingest(source, load(engine.spark, scenario, source, path), kind)


class Stopwatch:
    """Work, and the spans of time in which it was done: several steps may run at the same time."""

    def __init__(self, work: Any) -> None:
        self._work, self.spans = work, list[tuple[float, float]]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._work, name)
        return self.timed(found) if callable(found) else found

    def timed(self, call: Any) -> Any:
        def called(*given: Any, **named: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*given, **named)
            finally:
                self.spans.append((began, time.perf_counter()))

        return called

    @property
    def busy(self) -> float:
        total, until = 0.0, 0.0
        for began, ended in sorted(self.spans):
            total += max(0.0, ended - max(began, until))
            until = max(until, ended)
        return total
