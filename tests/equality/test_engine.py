"""The engine as a whole: after every refresh, what a consumer holds equals the evaluation on the snapshots it names.

Random workflows with random bounds, histories of arrivals, and refreshes of which some may not use all variants. All on
Delta, through the public surface. `OLSTON_EQUALITY_EXAMPLES=100` looks at so many, different ones each time.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import olston as ol
from olston.block import BASE, Block
from olston.engine import Engine
from olston.errors import InfeasibleError, StoreError
from olston.session import clone
from tests.equality.bags import Bag, plain
from tests.equality.driver import either
from tests.equality.evaluate import Evaluator
from tests.equality.judge import Judge
from tests.equality.laboratory import SETTINGS, offered
from tests.equality.rows import history
from tests.equality.snapshots import Arrival, Arrivals
from tests.equality.spec import Spec, build
from tests.equality.workflows import workflow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED = os.environ.get("OLSTON_EQUALITY_EXAMPLES")
START = 1_700_000_000_000_000
LEFT_OUT = 0.3
"""The share of variants that some refreshes may not use."""


class Run:
    """One workflow, from its first arrival to its last."""

    def __init__(self, session: SparkSession, home: str, spec: Spec, random: Random) -> None:
        self.session, self.spec, self.random = session, spec, random
        self.clock, self.arrived = ol.ManualClock(START), list[Arrival]()
        self.compared = 0
        wf = build(spec)
        for name in spec.outputs:
            pathways = [p for p in range(len(spec.pathways(name))) if random.random() < 0.7]
            for pathway in pathways or [0]:
                wf.bound_staleness(name, pathway, 0)
            if random.random() < 0.5:
                wf.bound_inconsistency(name, random.choice((0, "3 hours")))
        self.engine = Engine(wf, home, clock=self.clock, spark=session)

    def arrive(self, arrival: Arrival) -> None:
        self.clock.advance("1 hour")
        sources = {s.name: s for s in self.spec.sources}
        with self.engine.arrival() as taken:
            for name, wave in arrival.waves.items():
                taken.ingest(name, offered(self.session, sources[name], wave), wave.kind)
        (stamp,) = {block.stamp for block in taken.blocks}
        self.arrived.append(replace(arrival, stamp=int(stamp)))

    def refresh(self) -> None:
        """What is due, or some outputs, in full or with some variants left out; if that cannot be done, with all."""
        random, network = self.random, self.engine._network
        named = random.sample(self.spec.outputs, random.randint(0, len(self.spec.outputs)))
        if random.random() < 0.5:
            left_out = {v.name for v in network.variants if random.random() < LEFT_OUT}
            self.engine.__dict__["_network"] = network.without(left_out)
        try:
            self.engine.refresh(*named, full=random.random() < 0.1)
        except InfeasibleError:
            self.engine.__dict__["_network"] = network
            self.engine.refresh(*named)
        finally:
            self.engine.__dict__["_network"] = network

    def compare(self) -> None:
        judge = Judge(self.spec, Evaluator(self.spec, Arrivals(tuple(self.arrived))))
        for name in self.spec.outputs:
            try:
                content = self.engine.provenance(name).content
            except StoreError as error:
                if error.code != "NOTHING_HELD":
                    raise
                continue
            block = Block(name, BASE, content)
            if not judge.knows(block):
                continue
            rows = self.engine.read(name)
            bag: Bag = Counter(tuple(map(plain, row)) for row in rows.select(*self._columns(name)).collect())
            odd = judge.base(block, bag)
            told = f"{block}: rows too many, or too few: {dict(odd.most_common(6))}\n{self.spec}\n{self.arrived}"
            assert not odd, told
            self.compared += 1

    def _columns(self, name: str) -> list[str]:
        return [c.name for c in self.spec.columns(name)]


@settings(
    max_examples=int(ASKED or 2),
    derandomize=ASKED is None,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.integers(0, 2**64 - 1))
def test_what_a_consumer_holds_equals_the_evaluation_on_the_snapshots_it_names(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random, session = Random(seed), clone(spark)
    for key, value in SETTINGS.items():
        session.conf.set(key, value)
    spec = workflow(random, fewest=2, most=4)
    run = Run(session, str(tmp_path_factory.mktemp("engine")), spec, random)
    try:
        with either(Random(f"ways {seed}")):
            for arrival in history(random, spec, cases=20, fewest=3, most=6).all:
                run.arrive(arrival)
                if random.random() < 0.8:
                    run.refresh()
                    run.compare()
            run.refresh()
            run.compare()
    finally:
        run.engine.close()
    assert run.compared or ASKED
