"""A process that polls a followed folder: `python -m tests.survival.poller HOME FOLDER TIMES`."""

from __future__ import annotations

import sys

import olston as ol
from olston.engine import Engine
from tests.survival.child import spark


def following(folder: str) -> ol.Workflow:
    """Rows come as files, and are counted."""
    wf = ol.Workflow("following")
    rows = wf.source("rows", "k string, n int", files=f"{folder}/*.json", poll="1 hour")
    counts = rows.aggregate("counts", by="k", n=ol.count())
    wf.output(counts)
    wf.bound_staleness(counts, 0, 0)
    return wf


def main(home: str, folder: str, times: int) -> None:
    with Engine(following(folder), home, spark=spark()) as engine:
        print("ready", flush=True)
        for _ in range(times):
            engine.poll()
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
