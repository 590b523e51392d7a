"""Says at the end what was compared with the evaluator, also where several processes did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.equality.driver import Driver

Tally: TypeAlias = Callable[[Driver], None]
"""Takes down what a driver ran."""

_NAME = "equality"


@pytest.fixture
def tally(record_property: Callable[[str, object], None]) -> Tally:
    def record(driver: Driver) -> None:
        record_property(_NAME, {"operators": dict(driver.operators), "kinds": dict(driver.laboratory.compared)})

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [r for outcome in ("passed", "failed") for r in terminalreporter.getreports(outcome)]
    found = [value for r in reports for name, value in getattr(r, "user_properties", ()) if name == _NAME]
    if not found:
        return
    terminalreporter.section(_NAME)
    for title in ("operators", "kinds"):
        counts: Counter[str] = sum((Counter(run[title]) for run in found), Counter())
        terminalreporter.line(f"{title}: " + ", ".join(f"{key} {n}" for key, n in counts.most_common()))
    compared = sum(n for run in found for n in run["kinds"].values())
    terminalreporter.line(f"{len(found)} workflows, {compared} blocks compared")
