"""Rates files: how fast data arrives, how selective widgets are, and what work costs.

A TOML file with `[sources.NAME]`, `[costs]` and `[widgets.NAME]` tables; `docs/reference/rates.md` describes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from olston.duration import UNITS, microseconds
from olston.errors import DurationError, RatesError, unknown
from olston.operators.estimate import Statistics
from olston.scheduler.cost import CostModel, Rates
from olston.workflow import Workflow

ARRIVES = ("append", "delta", "replace")
_RATES = tuple(f.name for f in fields(Rates))
_STATISTICS = tuple(f.name for f in fields(Statistics))


@dataclass(frozen=True)
class Arrivals:
    """A source that gets `rows` rows every `every` microseconds, the first after `offset`, on top of `initial` rows."""

    rows: float
    every: int
    offset: int
    initial: float = 0.0
    arrives: str = "append"
    growth: float = 1.0
    """Net rows per row that arrives: 1 for appends, less where rows replace or delete others."""


@dataclass(frozen=True)
class RatesFile:
    """Arrivals of every source, and the cost model; `unit` is the unit of cost, for people."""

    sources: Mapping[str, Arrivals]
    costs: CostModel
    unit: str = "seconds"


def read_rates(path: Path, workflow: Workflow) -> RatesFile:
    """The rates of `workflow` in the TOML file at `path`; refuses names that the workflow does not have."""
    try:
        table = tomllib.loads(path.read_text())
    except OSError as error:
        raise RatesError(f"{path}: cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        raise RatesError(f"{path}: not TOML: {error}.") from None
    return parse_rates(table, workflow, str(path))


def parse_rates(table: Mapping[str, Any], workflow: Workflow, place: str = "rates") -> RatesFile:
    """The same from a table that was read already."""
    _refuse_others(table, ("unit", "sources", "costs", "delivery", "widgets"), place)
    listed = table.get("sources", {})
    for name in listed:
        if name not in workflow.sources:
            raise unknown("source", name, workflow.sources, f"{place}, workflow {workflow.name!r}")
    for name in workflow.sources:
        if name not in listed:
            raise RatesError(f"{place}: source {name!r} has no rates; add [sources.{name}] with rows and every.")
    sources = {name: _arrivals(part, f"{place}: [sources.{name}]", workflow, name) for name, part in listed.items()}
    variants: dict[tuple[str, str], dict[str, float]] = {}
    statistics: dict[str, Statistics] = {}
    known = [*workflow.widgets, *workflow.channels]
    for name, part in table.get("widgets", {}).items():
        where = f"{place}: [widgets.{name}]"
        if name not in known:
            raise unknown("widget", name, known, f"{place}, workflow {workflow.name!r}")
        _refuse_others(part, (*_STATISTICS, "costs", "variants"), where)
        numbers: dict[str, Any] = {
            k: _number(v, f"{where} {k}") for k, v in part.items() if k in _STATISTICS and k != "shares"
        }
        if "shares" in part:
            numbers["shares"] = tuple(_number(v, f"{where} shares") for v in part["shares"])
        statistics[name] = Statistics(**numbers)
        if "costs" in part:
            variants[(name, "*")] = _rates(part["costs"], f"{where} costs")
        for variant, rates in part.get("variants", {}).items():
            variants[(name, variant)] = _rates(rates, f"{where} variant {variant!r}")
    general = {k: v for k, v in table.get("costs", {}).items() if not isinstance(v, dict)}
    for variant, rates in table.get("costs", {}).items():
        if isinstance(rates, dict):
            variants[("*", variant)] = _rates(rates, f"{place}: [costs.{variant}]")
    default = Rates(**dict.fromkeys(_RATES, 0.0) | _rates(general, f"{place}: [costs]"))
    delivery = Rates(**dict.fromkeys(_RATES, 0.0) | _rates(table.get("delivery", {}), f"{place}: [delivery]"))
    return RatesFile(sources, CostModel(default, variants, statistics, delivery), str(table.get("unit", "seconds")))


def _arrivals(part: Mapping[str, Any], where: str, workflow: Workflow, name: str) -> Arrivals:
    _refuse_others(part, ("rows", "every", "offset", "initial", "arrives", "growth"), where)
    for needed in ("rows", "every"):
        if needed not in part:
            raise RatesError(f"{where}: {needed} is missing.")
    arrives = part.get("arrives", "append")
    if arrives not in ARRIVES:
        raise unknown("kind of arrival", arrives, ARRIVES, where)
    if arrives == "replace" and workflow.channels[name].key is None:
        raise RatesError(f"{where}: replace needs a key; declare wf.source({name!r}, …, key=…).")
    try:
        every, offset = microseconds(part["every"]), microseconds(part.get("offset", part["every"]))
    except DurationError as error:
        raise RatesError(f"{where}: {error.message}") from None
    if every < UNITS["second"]:
        raise RatesError(f"{where}: every {part['every']!r}; waves are at least a second apart.")
    return Arrivals(
        _number(part["rows"], f"{where} rows"),
        every,
        max(1, offset),
        _number(part.get("initial", 0), f"{where} initial"),
        arrives,
        _number(part.get("growth", 1.0 if arrives == "append" else 0.0), f"{where} growth"),
    )


def _rates(part: Mapping[str, Any], where: str) -> dict[str, float]:
    _refuse_others(part, _RATES, where)
    return {k: _number(v, f"{where} {k}") for k, v in part.items()}


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise RatesError(f"{where}: {value!r}; a rate is a number, 0 or more.")
    return float(value)


def _refuse_others(part: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(part, Mapping):
        raise RatesError(f"{where}: a table is expected, not {part!r}.")
    for name in part:
        if name not in known:
            raise unknown("entry", name, known, where)
