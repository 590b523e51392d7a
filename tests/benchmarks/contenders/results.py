"""Results as they are stored, and what they say about what was to be reached."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from tests.benchmarks.contenders.measure import REPAIR, Measured
from tests.benchmarks.contenders.search import CLICKS, PAGES

ROOT = Path(__file__).parents[3]
STORED = ROOT / "docs" / "performance" / "refresh.json"
RECOMPUTE, SYNC, ASYNC = "full recompute", "expert, synchronous", "expert, asynchronous"
OURS, OURS_SYNC = "olston, Async/Incr", "olston, Sync/Incr"


@dataclass(frozen=True)
class Claim:
    """Something to be reached: what was found, the limit, and whether more is better."""

    text: str
    found: float
    limit: float
    more: bool = False

    @property
    def reached(self) -> bool:
        return self.found >= self.limit if self.more else self.found <= self.limit


def machine(memory: str) -> dict[str, Any]:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "cores": os.cpu_count(), "memory": f"{total:.0f} GB", "driver": memory, "load": round(os.getloadavg()[0], 1),
        "date": date.today().isoformat(), "commit": _commit(),
        "python": platform.python_version(), "pyspark": version("pyspark"), "delta": version("delta-spark"),
    }  # fmt: skip


def _commit() -> str:
    """What was measured, and whether it was changed since it was committed."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"


def load(path: Path = STORED) -> dict[str, Any]:
    return dict(json.loads(path.read_text())) if path.exists() else {}


def keep(key: str, found: Mapping[str, Any], path: Path = STORED) -> None:
    """Put what was found under `key`, in place of what stood there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(dict(sorted({**load(path), key: found}.items())), indent=1) + "\n")


def under_way(key: str) -> str:
    """Where results are kept until a run is over: one that is stopped leaves those of the run before it."""
    return f"{key}, under way"


def finish(key: str, path: Path = STORED) -> None:
    """Put what is under way in place of what stood there."""
    stored = load(path)
    found = stored.pop(under_way(key))
    path.write_text(json.dumps(dict(sorted({**stored, key: found}.items())), indent=1) + "\n")


def measured(scenario: str, size: int, memory: str, found: Measured) -> dict[str, Any]:
    rounded = {k: _rounded(v) for k, v in asdict(found).items()}
    return {"scenario": scenario, "size": size, "machine": machine(memory), **rounded}


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, list) else value


def medians(run: Mapping[str, Any], phase: str) -> dict[str, float]:
    return {name: median(times) for name, times in run["times"].get(phase, {}).items()}


def week(run: Mapping[str, Any]) -> dict[str, float]:
    """The totals of the week; that of full recompute is what its 37 waves take, by their medians."""
    found = medians(run, "week")
    pages, clicks = medians(run, PAGES), medians(run, CLICKS)
    if found and RECOMPUTE in pages:
        found[RECOMPUTE] = 30 * pages[RECOMPUTE] + 7 * clicks[RECOMPUTE]
    return found


def claims(run: Mapping[str, Any]) -> list[Claim]:
    """What a run says of what is to be reached; of what was not measured nothing."""
    found: list[Claim] = []
    pages, clicks, total = medians(run, PAGES), medians(run, CLICKS), week(run)
    if OURS in pages:
        found += [
            Claim("a page wave: full recompute over olston", pages[RECOMPUTE] / pages[OURS], 12, more=True),
            Claim("a page wave: olston over the expert's asynchronous job", pages[OURS] / pages[ASYNC], 1.15),
        ]
    if OURS_SYNC in clicks:
        better = min(clicks[RECOMPUTE], clicks[SYNC])
        text = "a click wave, strictly consistent: olston over the better of recompute and expert"
        found.append(Claim(text, clicks[OURS_SYNC] / better, 1.10))
    if OURS in total:
        found += [
            Claim("a week: the expert's synchronous job over olston", total[SYNC] / total[OURS], 3, more=True),
            Claim("a week: full recompute over olston", total[RECOMPUTE] / total[OURS], 10, more=True),
        ]
    waves = run.get("of_week", {}).get(PAGES, {})
    if OURS in waves and ASYNC in waves:
        text = "the page waves of the week, all that falls to them: olston over the expert's asynchronous job"
        found.append(Claim(text, sum(waves[OURS]) / sum(waves[ASYNC]), 1.15))
    for phase in phases(run):
        for name in (OURS, OURS_SYNC):
            if name in run["parts"].get(phase, {}):
                own, allowed = median(run["parts"][phase][name]), max(0.05, 0.02 * medians(run, phase)[name])
                found.append(Claim(f"{phase}: own work of {name}, in ms", 1000 * own, 1000 * allowed))
    return found


def aged(run: Mapping[str, Any]) -> list[Claim]:
    """What a long run says: the last waves over the early ones, and memory."""
    early, late = run["early"], run["late"]
    names = {"seconds": "time", "live": "live blocks", "files": "files", "catalog": "size of the catalog"}
    found = [
        Claim(f"wave {late['wave']} over wave {early['wave']}: {name}", late[key] / max(early[key], 1e-9), 1.2)
        for key, name in names.items()
    ]
    return [*found, Claim("peak memory of the driver beyond Spark's own, in MB", run["memory_mb"], 200)]


def phases(run: Mapping[str, Any]) -> list[str]:
    return [p for p in run["times"] if p not in ("week", "first fill", REPAIR)]
