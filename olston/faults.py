"""Fault points: named places in the code at which the process can be made to die, to see that nothing is lost by it.

`OLSTON_FAULT=<name>` in the environment kills the process with SIGKILL when it first passes the point of that name,
`OLSTON_FAULT=<name>:n` at the n-th passing. Without it a point does nothing.
"""

from __future__ import annotations

import os
import signal
from itertools import count

from olston.errors import unknown

POINTS = {
    "wave-written": "a wave was written, and has not arrived",
    "arrival-catalogued": "an arrival is in the catalog, its file is not written",
    "block-committed": "a block was committed to Delta, and the catalog does not know it",
    "delivery-committed": "a delivery was committed to its table or feed, and the catalog does not know it",
    "fold-written": "a base was folded into a new anchor, and the catalog names the old one",
    "vacuum-forgotten": "the log of a table of deltas does not name blocks any more, their files are there",
    "vacuum-dropped": "the files of blocks are gone, and the catalog still names them",
    "input-let-go": "the catalog has let go of old input, its files and those of the arrivals are there",
    "recovery-read": "recovery has read what there is, and the catalog is empty",
    "recovery-catalogued": "recovery has filled the catalog, and not retired anything yet",
}
"""Every point, with what is true when it is passed."""


def _armed(said: str) -> tuple[str, int]:
    name, _, times = said.partition(":")
    if name and name not in POINTS:
        raise unknown("fault point", name, POINTS, "OLSTON_FAULT")
    return name, int(times or 1)


_NAME, _TIMES = _armed(os.environ.get("OLSTON_FAULT", ""))
_passings = count(1)


def point(name: str) -> None:
    """Die here, if the environment says so."""
    if name == _NAME and next(_passings) == _TIMES:
        os.kill(os.getpid(), signal.SIGKILL)
