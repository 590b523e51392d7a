"""The lease: one scheduler holds a workflow at a time, by a number that grows with every holder (DESIGN 7).

Whatever a scheduler writes to the catalog it writes in a transaction that checks the number, so one that lost the
lease without knowing, because it slept or was cut off, changes nothing.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from sqlalchemy import text
from sqlmodel import Session

from olston.catalog import Catalog
from olston.catalog.records import LeaseRecord
from olston.errors import OlstonError

SECONDS = 30.0
"""How long a lease lasts unless it is renewed."""
_HELD = text("SELECT holder, fence FROM lease WHERE workflow = :workflow")  # asked some ten times in a refresh


class LeaseLost(Exception):
    """Another scheduler acts for the workflow now."""


class Lease:
    """The right of one scheduler to act for a workflow. Times are those of the machine, whatever the clock says."""

    def __init__(self, catalog: Catalog, workflow: str, seconds: float = SECONDS) -> None:
        self._catalog, self.workflow, self._seconds = catalog, workflow, seconds
        self.holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}@{'/'.join(_place())}"
        self.fence: int | None = None
        """The number of this holder; `None` while it holds nothing."""
        self._released = threading.Event()
        self._watched: tuple[int, int] | None = None
        """The number and the expiry of the one that holds it instead, and since when they are seen unchanged."""
        self._since = 0.0

    def take(self) -> bool:
        """Hold the workflow, if nobody does, or the holder let it expire, or its process is dead on this machine.

        Also if this one held it last, and could not say that it let go. A lease is expired too if nobody was seen to
        renew it for as long as it lasts: its end may lie far ahead if a clock was wrong, or was set back.
        """
        with self._catalog.transaction() as db:
            known = db.get(LeaseRecord, self.workflow)
            if known is None:
                known = LeaseRecord(workflow=self.workflow, holder="", fence=0, expires_at=0)
            elif self._is_held(known):
                return False
            known.holder, known.fence, known.expires_at = self.holder, known.fence + 1, self._expiry()
            db.add(known)
            fence = known.fence
        self.fence = fence
        self._released = threading.Event()
        threading.Thread(target=self._keep, args=(self._released,), name="olston-lease", daemon=True).start()
        return True

    def _is_held(self, known: LeaseRecord) -> bool:
        """Whether another holds it, and was not watched for as long as it lasts without being seen to renew it."""
        if known.holder in ("", self.holder) or known.expires_at <= _now() or is_dead(known.holder):
            return False
        seen, moment = (known.fence, known.expires_at), time.monotonic()
        if seen != self._watched:
            self._watched, self._since = seen, moment
        return moment - self._since <= self._seconds

    def check(self, db: Session) -> None:
        """Fails if another scheduler has taken over: nothing of this transaction may count then."""
        known = db.connection().execute(_HELD, {"workflow": self.workflow}).first()
        if self.fence is None or known is None or known.fence != self.fence:
            by = shown(known.holder) if known is not None and known.holder else "another scheduler"
            raise LeaseLost(
                f"workflow {self.workflow!r}: {by} has taken over; this scheduler stops, and what it was about to "
                "record is left out."
            )

    def release(self) -> None:
        """Let go, so that the next scheduler need not wait."""
        self._released.set()
        if self.fence is None:
            return
        with suppress(OlstonError), self._catalog.transaction(lasting=False) as db:
            known = db.get(LeaseRecord, self.workflow)
            if known is not None and known.fence == self.fence:
                known.holder, known.expires_at = "", 0
        self.fence = None

    def owner(self) -> str | None:
        """Who holds the workflow now."""
        with self._catalog.look() as db:
            known = db.get(LeaseRecord, self.workflow)
        held = known is not None and known.holder and known.expires_at > _now()
        return known.holder if known is not None and held else None

    def _keep(self, released: threading.Event) -> None:
        """Renew until released or lost. A catalog that cannot be reached for a while is tried again."""
        while not released.wait(self._seconds / 3):
            try:
                with self._catalog.transaction(lasting=False) as db:
                    self.check(db)
                    known = db.get(LeaseRecord, self.workflow)
                    assert known is not None
                    known.expires_at = self._expiry()
            except LeaseLost:
                return
            except Exception:
                continue

    def _expiry(self) -> int:
        return _now() + int(self._seconds * 1e6)


def holder(db: Session, workflow: str) -> str | None:
    """Who holds a workflow, `host:process`; nobody, if the process is known to be gone."""
    known = db.get(LeaseRecord, workflow)
    if known is None or not known.holder or known.expires_at <= _now() or is_dead(known.holder):
        return None
    return known.holder.rpartition(":")[0]


_NO_CONTAINER = "4026531836"
"""What Linux calls the processes that are in no container."""


@cache
def _place() -> tuple[str, str, str]:
    """This machine, this start of it, and the container: where processes have numbers that can be asked for."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        container = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:  # not Linux
        return "", "", ""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip(), boot, container
    except OSError:
        return "", boot, container


def _now() -> int:
    return time.time_ns() // 1000


def shown(holder: str) -> str:
    """A holder as people know it."""
    host, pid = holder.split(":")[:2]
    return f"process {pid} on {host}"


def is_dead(holder: str) -> bool:
    """Whether the process of a holder on this machine has ended, or the machine was started anew since.

    Of another machine nothing is known, nor of another container, or virtual machine, that has the same name. In a
    container nothing is concluded from the number of the machine, which its image may have from elsewhere.
    """
    host, _, rest = holder.partition(":")
    pid, _, token = rest.partition(":")
    among = token.partition("@")[2]
    if host != socket.gethostname() or not pid:
        return False
    if among and among != "/".join(_place()):
        (machine, boot, *container), (here, now, *own) = among.split("/"), _place()
        return bool(machine) and machine == here and boot != now and container == own == [_NO_CONTAINER]
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
