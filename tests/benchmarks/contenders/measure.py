"""Measuring: the same waves for all, in alternation, the first of each kind not counted; results are compared.

The order is drawn anew for every wave, so that nobody always follows the same contender; before each, files are
flushed and Java's garbage is collected, so that nobody pays for who came before.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.benchmarks.contenders.ours import Ours
from tests.benchmarks.contenders.pipelines import Pipelines
from tests.benchmarks.contenders.scenario import Contender, Data, Scenario

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REPAIR = "repair"


@dataclass
class Measured:
    """Seconds of every wave, by phase and contender; and of what parts of them went to something told apart."""

    times: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    parts: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    jobs: dict[str, dict[str, int]] = field(default_factory=dict)
    of_week: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Seconds of every wave of the week, which `times` has as a whole."""

    def add(self, phase: str, name: str, seconds: float) -> None:
        self.times.setdefault(phase, {}).setdefault(name, []).append(seconds)


class Course:
    """Contenders that go through the same waves."""

    def __init__(
        self, session: SparkSession, scenario: Scenario, data: Data, contenders: Sequence[Contender],
        keep: Callable[[Measured], None],
    ) -> None:  # fmt: skip
        self._session, self._scenario, self._data, self._keep = session, scenario, data, keep
        self.contenders, self.measured, self._chance = list(contenders), Measured(), random.Random(1)

    def begin(self) -> None:
        for contender in self._drawn():
            took = self._timed(contender.begin)
            print(f"{'first fill':>20}  {contender.name:<28} {took:8.2f} s", flush=True)
            self.measured.add("first fill", contender.name, took)

    def rounds(self, phase: str, count: int) -> None:
        """`count` waves of one kind, and one before them that is not counted."""
        for number in range(count + 1):
            wave = self._data.wave(phase)
            for contender in self._drawn():
                if isinstance(contender, Pipelines) and not number:  # its runs are never warm
                    contender.take(wave)
                else:
                    self._one(phase, contender, partial(contender.wave, wave), counted=number > 0)
        self.compare(all_of_it=phase in self._scenario.exact)

    def repair(self) -> None:
        for contender in self._drawn():
            self._one(REPAIR, contender, contender.repair)
        self.compare(all_of_it=True)

    def week(self, names: Iterable[str], pages: str, clicks: str) -> None:
        """Thirty waves of pages, seven of clicks, then a repair, for some of the contenders; the others end here."""
        chosen = set(names)
        for contender in self.contenders:
            if contender.name not in chosen:
                contender.close()
        self.contenders = [c for c in self.contenders if c.name in chosen]
        for contender in self.contenders:
            if isinstance(contender, Ours):
                contender.every = "270 minutes"  # 37 waves in 6.9 days
        total = dict.fromkeys(chosen, 0.0)
        for number in range(37):
            phase = clicks if number % 5 == 2 and number < 35 else pages
            wave = self._data.wave(phase)
            for contender in self._drawn():
                took = self._timed(partial(contender.wave, wave))
                total[contender.name] += took
                self.measured.of_week.setdefault(phase, {}).setdefault(contender.name, []).append(took)
                print(f"{f'week, {phase} {number + 1}':>20}  {contender.name:<28} {took:8.2f} s", flush=True)
        for contender in self._drawn():
            took = self._timed(contender.repair)
            total[contender.name] += took
            self.measured.of_week.setdefault(REPAIR, {}).setdefault(contender.name, []).append(took)
        for name, took in total.items():
            self.measured.add("week", name, took)
        self._keep(self.measured)
        self.compare(all_of_it=True)

    def compare(self, all_of_it: bool = False) -> None:
        """An error unless all that promise it hold the same, and the others what they should: with `all_of_it`, all."""
        exact = [c for c in self.contenders if c.strict or all_of_it]
        self._same("the outputs", {c.name: contents(c.output()) for c in exact})
        sure, loose = self._scenario.sure, self._scenario.loose
        found = {c.name: contents(c.output().where(sure).select(*loose)) for c in self.contenders}
        self._same(f"of rows with {sure}, the outputs in {', '.join(loose)}", found)
        print(f"{'':>20}  {len(exact)} outputs are equal, {len(found)} in what is sure", flush=True)

    def _same(self, what: str, found: Mapping[str, tuple[int, int]]) -> None:
        if len(set(found.values())) > 1:
            raise AssertionError(f"{self._scenario.name}: {what} differ: {found}")

    def _drawn(self) -> list[Contender]:
        return self._chance.sample(self.contenders, len(self.contenders))

    def close(self) -> None:
        for contender in self.contenders:
            contender.close()

    def _one(self, phase: str, contender: Contender, act: Callable[[], Any], counted: bool = True) -> None:
        before = _jobs(self._session)
        took = self._timed(act)
        print(f"{phase:>20}  {contender.name:<28} {took:8.2f} s{'' if counted else '  (to warm up)'}", flush=True)
        if not counted:
            return
        measured = self.measured
        measured.add(phase, contender.name, took)
        measured.jobs.setdefault(phase, {})[contender.name] = _jobs(self._session) - before
        part = contender.own if isinstance(contender, Ours) else getattr(contender, "started", None)
        if part and (isinstance(contender, Pipelines) or phase != REPAIR):
            measured.parts.setdefault(phase, {}).setdefault(contender.name, []).append(part[-1])
        self._keep(measured)

    def _timed(self, act: Callable[[], Any]) -> float:
        java: Any = self._session._jvm
        os.sync()
        java.java.lang.System.gc()
        began = time.perf_counter()
        act()
        return time.perf_counter() - began


def contents(rows: DataFrame) -> tuple[int, int]:
    """How many rows there are, and a sum of their hashes; of nulls a hash says nothing, so where they are is added."""
    from pyspark.sql import functions as F

    names = [F.col(c) for c in sorted(rows.columns)]
    hashed = rows.select(F.xxhash64(*names, *[c.isNull() for c in names]).cast("decimal(20,0)").alias("h"))
    found = hashed.agg(F.count("*"), F.sum("h")).first()
    assert found is not None
    return int(found[0]), int(found[1] or 0)


def _jobs(session: SparkSession) -> int:
    context: Any = session.sparkContext._jsc
    return int(context.sc().dagScheduler().numTotalJobs())
