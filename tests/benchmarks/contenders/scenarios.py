"""All scenarios, by name."""

from __future__ import annotations

from tests.benchmarks.contenders.feedback import FEEDBACK
from tests.benchmarks.contenders.scenario import Scenario
from tests.benchmarks.contenders.search import SEARCH
from tests.benchmarks.contenders.tpch import TPCH

SCENARIOS: dict[str, Scenario] = {s.name: s for s in (SEARCH, FEEDBACK, TPCH)}
