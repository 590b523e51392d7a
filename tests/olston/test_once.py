from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from olston.once import once


class Counted:
    def __init__(self) -> None:
        self.made = 0

    @once
    def thing(self) -> object:
        self.made += 1
        time.sleep(0.05)
        return object()


def test_threads_that_ask_at_once_are_given_the_same() -> None:
    counted, ready = Counted(), threading.Barrier(4)

    def ask(_: int) -> object:
        ready.wait()
        return counted.thing

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(ask, range(4)))) == 1
    assert counted.made == 1


def test_what_was_put_there_is_what_is_found() -> None:
    counted = Counted()
    counted.__dict__["thing"] = given = object()
    assert counted.thing is given
    del counted.__dict__["thing"]
    assert counted.thing is not given
