"""One scheduler at a time, on SQLite and on PostgreSQL."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time

import pytest

from olston import lease
from olston.catalog import Catalog
from olston.catalog.records import LeaseRecord
from olston.errors import CatalogError
from olston.lease import Lease, LeaseLost


def test_a_second_scheduler_waits_until_the_first_lets_go(catalog: Catalog) -> None:
    first, second = Lease(catalog, "w"), Lease(catalog, "w")
    assert first.take()
    assert first.owner() == second.owner() == first.holder
    assert not second.take()
    first.release()
    assert second.owner() is None
    assert second.take()
    second.release()


def test_workflows_are_held_apart(catalog: Catalog) -> None:
    first, second = Lease(catalog, "a"), Lease(catalog, "b")
    assert first.take()
    assert second.take()
    first.release()
    second.release()


def test_a_lease_that_expired_is_taken_over_and_its_holder_finds_out(catalog: Catalog) -> None:
    first, second = Lease(catalog, "w", seconds=0.2), Lease(catalog, "w")
    assert first.take()
    first._released.set()  # as if its process slept: it is not renewed
    time.sleep(0.3)
    assert second.take()
    assert second.fence == (first.fence or 0) + 1
    with catalog.transaction() as db, pytest.raises(LeaseLost, match="has taken over"):
        first.check(db)
    first.release()
    assert second.owner() == second.holder, "who lost it cannot give it away"
    second.release()


def test_a_lease_is_renewed_while_it_is_held(catalog: Catalog) -> None:
    first, second = Lease(catalog, "w", seconds=1.0), Lease(catalog, "w")
    assert first.take()
    time.sleep(2.5)
    assert not second.take()
    first.release()


def test_a_lease_that_nobody_renews_is_taken_over_although_the_clock_was_set_back(catalog: Catalog) -> None:
    first, second = Lease(catalog, "w"), Lease(catalog, "w", seconds=0.3)
    assert first.take()
    first._released.set()  # as if it were on a machine that is gone
    with catalog.transaction() as db:
        known = db.get(LeaseRecord, "w")
        assert known is not None
        known.expires_at += 3_600_000_000
    assert not second.take()
    time.sleep(0.4)
    assert second.take()
    first.release()
    second.release()


def test_a_lease_that_is_seen_to_be_renewed_is_left_however_often_it_is_asked_for(catalog: Catalog) -> None:
    first, second = Lease(catalog, "w", seconds=0.6), Lease(catalog, "w", seconds=0.6)
    assert first.take()
    for _ in range(15):
        assert not second.take()
        time.sleep(0.1)
    first.release()


def test_the_lease_of_a_process_that_was_killed_here_need_not_expire(catalog: Catalog, url: str) -> None:
    code = (
        "import sys, time\nfrom olston.catalog import Catalog\nfrom olston.lease import Lease\n"
        "assert Lease(Catalog(sys.argv[1]), 'w').take()\nprint('taken', flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        mine = Lease(catalog, "w")
        assert not mine.take()
        process.kill()
        process.wait()
    assert mine.take()
    mine.release()


def test_who_could_not_say_that_it_let_go_takes_the_workflow_again_at_once(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease, other = Lease(catalog, "w"), Lease(catalog, "w")
    assert lease.take()

    def refused(**_: bool) -> None:
        raise CatalogError("connection refused.")

    with monkeypatch.context() as away:
        away.setattr(catalog, "transaction", refused)
        lease.release()
    assert not other.take()
    assert lease.take()
    assert lease.fence == 2
    lease.release()
    assert other.take()
    other.release()


@pytest.mark.parametrize(
    ("where", "dead"),
    [
        ("", True),
        ("@me/now/4026531836", True),
        ("@me/before/4026531836", True),
        ("@other/before/4026531836", False),
        ("@/before/4026531836", False),
        ("@me/now/2", False),
        ("@me/before/2", False),
    ],
)
def test_a_process_is_dead_where_its_number_says_so_or_its_machine_was_started_anew_and_not_in_another_of_the_same_name(
    where: str, dead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    here = ("me", "now", "4026531836")
    monkeypatch.setattr(lease, "_place", lambda: here)
    assert lease.is_dead(f"{socket.gethostname()}:{ended.pid}:ab{where}") is dead
    assert not lease.is_dead(f"{socket.gethostname()}:{os.getpid()}:ab@{'/'.join(here)}")


@pytest.mark.parametrize("here", [("", "now", "4026531836"), ("me", "now", "2")])
def test_neither_machines_without_a_number_nor_containers_are_taken_for_one_another(
    here: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_place", lambda: here)
    assert not lease.is_dead(f"{socket.gethostname()}:1:ab@{here[0]}/before/{here[2]}")


def test_a_holder_says_among_which_processes_it_is_and_shows_its_host_and_number(catalog: Catalog) -> None:
    held = Lease(catalog, "w")
    assert held.take()
    assert held.holder.endswith("@" + "/".join(lease._place()))
    with catalog.look() as db:
        assert lease.holder(db, "w") == f"{socket.gethostname()}:{os.getpid()}"
    assert lease.shown(held.holder) == f"process {os.getpid()} on {socket.gethostname()}"
    held.release()
