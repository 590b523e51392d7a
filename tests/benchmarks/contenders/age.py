"""Age: whether a wave costs more after many waves than it did at first, in time, blocks, files or catalog."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from tests.benchmarks.contenders.ours import MODES, Ours, seed
from tests.benchmarks.contenders.search import CLICKS, PAGES, SEARCH

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
SIZE = 20_000
EARLY, SPAN = 50, 10
"""The wave that the last one is compared with; of each, medians over so many waves before and after."""
WAVES_A_DAY = 5


def run(session: SparkSession, folder: Path, waves: int) -> dict[str, Any]:
    """`waves` waves of search preprocessing, four of pages to one of clicks, five a day, and maintenance every day.

    Input is kept for two days, and the published table is compacted once a week, as its owner would.
    """
    data = SEARCH.data(session, folder / "data", SIZE)
    session.range(1000).selectExpr("sum(id)").collect()  # whatever Spark needs by itself
    before = _status("VmRSS")
    seed(session, SEARCH, folder / "home", data.first())
    ours = Ours(session, SEARCH, folder / "home", MODES[0], retention="2 days")
    ours.every = "288 minutes"
    ours.begin()
    seen: list[dict[str, float]] = []
    for number in range(1, waves + 1):
        wave = data.wave(CLICKS if number % 5 == 0 else PAGES)
        began = time.perf_counter()
        ours.wave(wave)
        seconds = time.perf_counter() - began
        seen.append({"seconds": seconds, "own": ours.own[-1], "kept": kept_by_java(session), **sizes(folder / "home")})
        if number % WAVES_A_DAY == 0:
            ours.engine.vacuum("10 seconds")  # of the machine: a day passes in less
        if number % (7 * WAVES_A_DAY) == 0:
            compact(session, folder / "home" / "published" / "output")
        if number % 25 == 0:
            shown = "  ".join(f"{k} {median(s[k] for s in seen[-25:]):.6g}" for k in seen[-1])
            print(f"wave {number:>4}  {shown}", flush=True)
    kept = max(s["kept"] for s in seen)
    ours.close()
    return {
        "waves": waves, "early": _around(seen, min(EARLY, waves // 2)), "late": _around(seen, waves - SPAN),
        "memory_mb": (_status("VmHWM") - before + imported()) / 1024 + kept / 2**20,
    }  # fmt: skip


def compact(session: SparkSession, table: Path) -> None:
    """Few large files instead of many small ones, and none that are not needed: a week passes in no time here."""
    session.sql(f"OPTIMIZE delta.`{table}`")
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    session.conf.set(check, "false")
    session.sql(f"VACUUM delta.`{table}` RETAIN 0 HOURS")
    session.conf.unset(check)


def sizes(home: Path) -> dict[str, float]:
    """What there is in a home: live blocks, files, and the pages that the catalog uses."""
    with sqlite3.connect(home / "catalog.db") as db:
        (live,) = db.execute("SELECT count(*) FROM block WHERE live").fetchone()
        (pages,) = db.execute(
            "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count"
        ).fetchone()
    files = list(_files(home))
    logs = sum("_delta_log" in p.parts for p in files)
    return {"live": live, "files": len(files) - logs, "logs": logs, "catalog": pages}


def imported() -> int:
    """What olston's modules add to a process that has those of Spark, in kB: they are there before it does anything."""
    sizes = []
    for modules in ("pyspark.sql", "pyspark.sql, olston.engine"):
        script = (
            f"import {modules}; print([l.split()[1] for l in open('/proc/self/status') if l.startswith('VmRSS')][0])"
        )
        done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
        sizes.append(int(done.stdout))
    return sizes[1] - sizes[0]


def kept_by_java(session: SparkSession) -> int:
    """Bytes of what olston keeps in Spark's memory."""
    context: Any = session.sparkContext._jsc
    return sum(info.memSize() for info in context.sc().getRDDStorageInfo())


def _files(home: Path) -> Iterator[Path]:
    return (p for p in home.rglob("*") if p.is_file() and not p.name.endswith(".crc"))


def _around(seen: Sequence[dict[str, float]], wave: int) -> dict[str, float]:
    near = seen[max(0, wave - SPAN) : wave + SPAN]
    return {"wave": wave, **{key: median(s[key] for s in near) for key in near[0]}}


def _status(key: str) -> int:
    """A figure of this process, in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1])
    raise LookupError(key)
