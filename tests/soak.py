"""Two schedulers and a loader that are killed at random moments, on Spark, Delta and PostgreSQL, for as long as asked.

    python tests/soak.py --minutes 30

The schedulers compete for one workflow, and both tidy up and let go of old input all the time. The loader offers waves
of pages, clicks, and deletions of clicks, and keeps a journal of what it offered and what was accepted. At every check
what the output holds must equal a plain evaluation of what has arrived; every wave that was accepted must be there
once, none twice; and at no time may the output break its consistency bound. Ends with a report, and with exit code 1 if
anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

import olston as ol  # noqa: E402
from olston.engine import Engine  # noqa: E402
from tests import postgresql  # noqa: E402

SETTINGS = {"spark.master": "local[2]", "spark.driver.memory": "1g"}
APART = 60.0
"""Seconds by which the output may be inconsistent."""
RETENTION = "2 minutes"
"""How long input is kept that a base has all of."""
LIVES = (15.0, 120.0)
"""How long a process lives before it is killed, in seconds: from still starting to well at work."""


def workflow() -> ol.Workflow:
    """Search preprocessing, with bounds of seconds."""
    from pyspark.sql import functions as F

    wf = ol.Workflow("soak")
    pages = wf.source("pages", "wave int, url string, site string")
    clicks = wf.source("clicks", "wave int, user string, site string")
    digests = pages.map("digests", lambda df: df.select("url", "site", F.upper("url").alias("digest")))
    scores = clicks.aggregate("scores", by="site", clicks=ol.count())
    output = digests.join("output", scores, on="site", how="left")
    wf.output(output)
    wf.output(clicks.distinct("users").aggregate("dashboard", by="site", n=ol.count()))
    wf.bound_staleness(output, 0, "3 s")
    wf.bound_staleness(scores, 0, "20 s")
    wf.bound_inconsistency(output, APART)
    wf.bound_staleness("dashboard", 0, "15 s")
    return wf


def expected(pages: list[tuple[Any, ...]], clicks: list[tuple[Any, ...]]) -> dict[str, Counter[tuple[Any, ...]]]:
    """What the outputs are by the rows of the sources."""
    scores = Counter(site for _, _, site in clicks)
    users = Counter(site for _, _, site in set(clicks))
    return {
        "output": Counter((site, url, url.upper(), scores.get(site)) for _, url, site in pages),
        "dashboard": Counter(users.items()),
    }


# the processes that are killed


def schedule(home: str, url: str) -> None:
    with Engine(workflow(), home=home, catalog=url, spark=SETTINGS, retention=RETENTION) as engine:
        threading.Thread(target=tidy, args=[engine], daemon=True).start()
        engine.serve()


def tidy(engine: Engine) -> None:
    """What a scheduler does once a day, all the time."""
    while True:
        time.sleep(20)
        try:
            dropped = engine.vacuum("2 minutes", history="5 minutes")
            print(f"{time.strftime('%H:%M:%S')} dropped {len(dropped)} attempts", flush=True)
        except Exception as error:
            print(f"{time.strftime('%H:%M:%S')} vacuum failed: {error}", flush=True)


def load(home: str, url: str, journal: str, seed: str) -> None:
    """Offer wave after wave; each is in the journal before it is offered, and again when it was accepted."""
    random = Random(seed)
    known = read_journal(Path(journal))
    wave = max((w["wave"] for w in known["offered"].values()), default=0)
    with Engine(workflow(), home=home, catalog=url, spark=SETTINGS) as engine, open(journal, "a") as log:

        def note(what: str, **about: Any) -> None:
            log.write(json.dumps({"what": what, **about}) + "\n")
            log.flush()
            os.fsync(log.fileno())

        while True:
            wave += 1
            known = read_journal(Path(journal))
            pages = [(wave, f"p{wave}.{n}", f"s{random.randrange(6)}") for n in range(random.choice([0, 1, 5, 40]))]
            clicks = [
                (wave, f"u{random.randrange(9)}", f"s{random.randrange(6)}") for _ in range(random.choice([1, 9]))
            ]
            gone = random.sample(known["deletable"], min(len(known["deletable"]), random.choice([0, 0, 1, 3])))
            sources = random.choice([["pages"], ["pages"], ["clicks"], ["pages", "clicks"]])
            offer = {
                "wave": wave,
                "pages": pages if "pages" in sources else [],
                "clicks": clicks if "clicks" in sources else [],
                "gone": gone if "clicks" in sources else [],
            }
            note("offered", **offer)
            spark = engine.spark
            with engine.arrival() as arrival:
                if "pages" in sources:
                    arrival.ingest("pages", spark.createDataFrame(pages, "wave int, url string, site string"))
                if "clicks" in sources:
                    rows = [(*c, 1) for c in clicks] + [(*c, -1) for c in gone]
                    schema = "wave int, user string, site string, _weight int"
                    arrival.ingest("clicks", spark.createDataFrame(rows, schema), kind="delta")
            note("accepted", wave=wave)
            time.sleep(random.expovariate(0.5))


def read_journal(path: Path) -> dict[str, Any]:
    offered, accepted = {}, set()
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            said = json.loads(line)
        except ValueError:  # cut off in the middle
            continue
        if said["what"] == "offered":
            offered[said["wave"]] = said
        else:
            accepted.add(said["wave"])
    touched = {tuple(c) for w in offered.values() for c in w["gone"]}
    known = [tuple(c) for n in sorted(accepted) for c in offered[n]["clicks"]]
    once = Counter(known)
    return {
        "offered": offered,
        "accepted": accepted,
        "deletable": [c for c in known if c not in touched and once[c] == 1],
    }


def check(home: str, url: str, journal: str) -> dict[str, Any]:
    """Bring the outputs up to date and compare them with what has arrived."""
    wrong: list[str] = []
    with Engine(workflow(), home=home, catalog=url, spark=SETTINGS) as engine:
        engine.refresh("output", "dashboard")
        rows = {s: [tuple(r) for r in engine.read(s).collect()] for s in ("pages", "clicks")}
        for output, want in expected(rows["pages"], rows["clicks"]).items():
            held = Counter(tuple(r) for r in engine.read(output).collect())
            if held != want:
                wrong.append(f"{output}: too much {dict((held - want).most_common(3))}, "
                             f"missing {dict((want - held).most_common(3))}")  # fmt: skip
        known = read_journal(Path(journal))
        there = {row[0] for row in rows["pages"]} | {row[0] for row in rows["clicks"]}
        uncertain = {n for n in known["offered"] if n not in known["accepted"]}
        sure = {(n, p[1]) for n in known["accepted"] for p in known["offered"][n]["pages"]}
        lost = sure - {(row[0], row[1]) for row in rows["pages"]}
        if lost:
            wrong.append(f"pages: {len(lost)} rows of accepted waves are lost, as {next(iter(lost))}")
        doubled = [row for row, n in Counter(rows["pages"]).items() if n > 1]
        if doubled:
            wrong.append(f"pages: {doubled[0]} is there twice")
        if there - set(known["offered"]):
            wrong.append(f"waves that nobody offered: {there - set(known['offered'])}")
        wrong += _clicks(known, uncertain, rows["clicks"])
        return {"wrong": wrong, "waves": len(known["accepted"]), "uncertain": len(uncertain),
                "rows": {s: len(r) for s, r in rows.items()}}  # fmt: skip


def _clicks(known: dict[str, Any], uncertain: set[int], there: list[tuple[Any, ...]]) -> Iterator[str]:
    """Clicks of waves that were certainly accepted, and not deleted by one that is uncertain, are there as often."""
    want: Counter[tuple[Any, ...]] = Counter()
    open_ = {tuple(c) for n in uncertain for c in known["offered"][n]["gone"]}
    for n in known["accepted"]:
        want.update(tuple(c) for c in known["offered"][n]["clicks"])
        want.subtract(tuple(c) for c in known["offered"][n]["gone"])
    held = Counter(c for c in there if c[0] not in uncertain)
    for click in set(want) | set(held):
        if click not in open_ and want[click] != held[click]:
            yield f"clicks: {click} is there {held[click]} times, and should be {want[click]} times"
            return


# the one that kills


@contextmanager
def process(role: str, *arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("ab") as out:
        command = [sys.executable, str(Path(__file__)), "--role", role, *arguments]
        started = subprocess.Popen(command, stdout=out, stderr=out, cwd=REPOSITORY, start_new_session=True)
    try:
        yield started
    finally:
        kill(started)


def kill(started: subprocess.Popen[bytes]) -> None:
    """End a process and its JVM as a power cut would."""
    with suppress(ProcessLookupError):
        os.killpg(started.pid, signal.SIGKILL)
    started.wait()


def soak(minutes: float, seed: int, every: float) -> bool:
    random = Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="olston-soak-"))
    home, journal = str(folder / "lake"), str(folder / "journal.jsonl")
    print(f"{minutes:g} minutes, seed {seed}, in {folder}", flush=True)
    killed: Counter[str] = Counter()
    wrong: list[str] = []
    checks = 0
    with postgresql.server() as url:
        watching = Engine(workflow(), home=home, catalog=url)
        end = time.monotonic() + 60 * minutes
        while time.monotonic() < end and not wrong:
            wrong += _round(random, folder, home, url, journal, killed, watching, min(end, time.monotonic() + every))
            checks += 1
            told = _check(folder, home, url, journal)
            wrong += told["wrong"]
            print(f"{time.strftime('%H:%M:%S')} {dict(killed)} killed, {told}", flush=True)
        _report(watching, minutes, killed, checks, told, wrong)
    return not wrong


def _round(
    random: Random, folder: Path, home: str, url: str, journal: str, killed: Counter[str], watching: Engine, end: float
) -> list[str]:
    """Run and kill until `end`; returns what was seen to be wrong meanwhile."""
    roles: dict[str, tuple[str, ...]] = {
        "scheduler 1": ("schedule", home, url),
        "scheduler 2": ("schedule", home, url),
        "loader": ("load", home, url, journal),
    }
    running: dict[str, Any] = {}
    wrong: list[str] = []

    def start(name: str) -> None:
        role, *arguments = roles[name]
        more = [str(random.randrange(2**31))] if role == "load" else []
        opened = process(role, *arguments, *more, log=folder / f"{name}.log")
        running[name] = (opened, opened.__enter__())

    for name in roles:
        start(name)
    lives = {name: time.monotonic() + random.uniform(*LIVES) for name in roles}
    while time.monotonic() < end and not wrong:
        time.sleep(0.5)
        wrong += _watch(watching)
        for name, (opened, started) in list(running.items()):
            if started.poll() is not None:
                wrong.append(f"{name}: ended by itself with {started.returncode}; see {folder / f'{name}.log'}")
                opened.__exit__(None, None, None)
                start(name)
        for name, until in lives.items():
            if time.monotonic() > until:
                opened, _ = running.pop(name)
                opened.__exit__(None, None, None)
                killed[name] += 1
                start(name)
                lives[name] = time.monotonic() + random.uniform(*LIVES)
    for opened, _ in running.values():
        opened.__exit__(None, None, None)
    return wrong


def _watch(engine: Engine) -> list[str]:
    """What consumers may read at this moment keeps the consistency bound."""
    try:
        apart = engine.provenance("output").to_dict()["inconsistency_seconds"]
    except ol.StoreError:  # nothing is held yet
        return []
    return [f"output: inconsistent by {apart} s, and {APART} s are allowed"] if apart > APART else []


def _check(folder: Path, home: str, url: str, journal: str) -> dict[str, Any]:
    command = [sys.executable, str(Path(__file__)), "--role", "check", home, url, journal]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False, timeout=1200)
    if done.returncode:
        return {"wrong": [f"the check failed: {done.stderr[-2000:]}"], "waves": 0}
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def _report(
    engine: Engine, minutes: float, killed: Counter[str], checks: int, told: dict[str, Any], wrong: list[str]
) -> None:
    from sqlmodel import select

    from olston.catalog.records import DeliveryRecord, EventRecord, LeaseRecord, PlanRecord, StepRecord

    with engine._catalog.look() as db:
        count = {r.__tablename__: len(db.exec(select(r)).all()) for r in (PlanRecord, DeliveryRecord, EventRecord)}
        steps = Counter(s.state for s in db.exec(select(StepRecord)))
        lease = db.get(LeaseRecord, "soak")
    print(f"\nsoaked for {minutes:g} minutes: {sum(killed.values())} kills survived ({dict(killed)})")
    print(f"{told.get('waves')} waves accepted, {told.get('uncertain')} cut off, {told.get('rows')} rows")
    print(f"{count['plan']} plans, steps {dict(steps)}, {count['delivery']} deliveries, {count['event']} events")
    print(f"the workflow changed hands {lease.fence if lease else 0} times; {checks} comparisons with the batch result")
    for fault in wrong:
        print(f"WRONG: {fault}")
    print("nothing was wrong" if not wrong else f"{len(wrong)} faults")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--every", type=float, default=240, help="seconds between two comparisons")
    parser.add_argument("--role", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role is None:
        sys.exit(0 if soak(given.minutes, given.seed, given.every) else 1)
    role, *arguments = given.role
    if role == "schedule":
        schedule(*arguments)
    elif role == "load":
        load(*arguments)
    else:
        print(json.dumps(check(*arguments)))


if __name__ == "__main__":
    main()
