"""Rates files: how fast data arrives, how selective widgets are, and what work costs.

A TOML file with `[sources.NAME]`, `[costs]` and `[widgets.NAME]` tables; `docs/reference/rates.md` describes it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path
from typing import Any

from olston.duration import UNITS, microseconds
from olston.errors import DurationError, RatesError, unknown
from olston.operators.estimate import Statistics
from olston.scheduler.compile import compile_workflow
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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RatesError(f"{path}: not TOML: {error}.") from None
    return parse_rates(table, workflow, str(path))


def parse_rates(table: Mapping[str, Any], workflow: Workflow, place: str = "rates") -> RatesFile:
    """The same from a table that was read already."""
    _refuse_others(table, ("unit", "sources", "costs", "delivery", "widgets"), place)
    listed, costs = _table(table, "sources", place), _table(table, "costs", place)
    for name in listed:
        if name not in workflow.sources:
            raise unknown("source", name, workflow.sources, f"{place}, workflow {workflow.name!r}")
    for name in workflow.sources:
        if name not in listed:
            raise RatesError(f"{place}: source {name!r} has no rates; add [sources.{name}] with rows and every.")
    sources = {name: _arrivals(part, f"{place}: [sources.{name}]", workflow, name) for name, part in listed.items()}
    variants: dict[tuple[str, str], dict[str, float]] = {}
    statistics: dict[str, Statistics] = {}
    known = list(dict.fromkeys((*workflow.widgets, *workflow.channels)))
    variants_of = _variants(workflow)
    for name, part in _table(table, "widgets", place).items():
        where = f"{place}: [widgets.{name}]"
        if name not in known:
            raise unknown("widget", name, known, f"{place}, workflow {workflow.name!r}")
        _refuse_others(part, (*_STATISTICS, "costs", "variants"), where)
        numbers: dict[str, Any] = {
            k: _number(v, f"{where} {k}") for k, v in part.items() if k in _STATISTICS and k != "shares"
        }
        if "shares" in part:
            numbers["shares"] = _shares(part["shares"], f"{where} shares", workflow, name)
        statistics[name] = Statistics(**numbers)
        if "costs" in part:
            variants[(name, "*")] = _rates(part["costs"], f"{where} costs")
        for variant, rates in _table(part, "variants", where).items():
            if variant not in variants_of.get(name, ()):
                raise unknown("variant", variant, sorted(variants_of.get(name, ())), where)
            variants[(name, variant)] = _rates(rates, f"{where} variant {variant!r}")
    general = {k: v for k, v in costs.items() if not isinstance(v, dict)}
    every_variant = {v for names in variants_of.values() for v in names}
    for variant, rates in costs.items():
        if isinstance(rates, dict):
            if variant not in every_variant:
                raise unknown("variant", variant, sorted(every_variant), f"{place}: [costs]")
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
    if offset < 0:
        raise RatesError(f"{where}: offset {part['offset']!r}; the first wave comes after the start.")
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < inf:
        raise RatesError(f"{where}: {value!r}; a rate is a finite number, 0 or more.")
    return float(value)


def _shares(value: Any, where: str, workflow: Workflow, name: str) -> tuple[float, ...]:
    if not isinstance(value, list):
        raise RatesError(f"{where}: {value!r}; a list is expected, one share per output.")
    outputs = len(workflow.widgets[name].operations()[-1].outputs) if name in workflow.widgets else 1
    if len(value) != outputs:
        raise RatesError(f"{where}: {len(value)} given, but {name!r} has {outputs} outputs.")
    return tuple(_number(v, where) for v in value)


def _variants(workflow: Workflow) -> dict[str, set[str]]:
    """The variants and converters by the name of the widget or channel under which their rates are given."""
    found: dict[str, set[str]] = {}
    for widget in workflow.widgets.values():
        for operation in widget.operations():
            found.setdefault(operation.role or widget.name, set()).update(o.name for o in operation.operators)
    for variant in compile_workflow(workflow).variants:
        if not variant.foreign:
            channel = variant.outputs[0]
            found.setdefault(channel, set()).add(variant.name.removeprefix(channel + "."))
    return found


def _table(part: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
    found = part.get(name, {})
    if not isinstance(found, Mapping):
        raise RatesError(f"{where}: {name}: a table is expected, not {found!r}.")
    return found


def _refuse_others(part: Any, known: tuple[str, ...], where: str) -> None:
    if not isinstance(part, Mapping):
        raise RatesError(f"{where}: a table is expected, not {part!r}.")
    for name in part:
        if name not in known:
            raise unknown("entry", name, known, where)
