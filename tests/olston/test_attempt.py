from __future__ import annotations

import time

import pytest

from olston.attempt import is_attempt, made_at, new_attempt


def test_no_two_attempts_have_the_same_name() -> None:
    assert len({new_attempt() for _ in range(10_000)}) == 10_000


def test_names_sort_by_the_time_at_which_they_were_made() -> None:
    first = new_attempt()
    time.sleep(0.001)
    assert first < new_attempt()


def test_names_of_one_process_sort_in_their_order_although_the_clock_is_set_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.time_ns()
    first = new_attempt()
    monkeypatch.setattr("olston.attempt._last", int(first[:14], 16))  # what is given here is forgotten afterwards
    monkeypatch.setattr("olston.attempt.time.time_ns", lambda: now - 3_600 * 10**9)
    second, third = new_attempt(), new_attempt()
    assert first < second < third
    assert made_at(third) < made_at(first) + 0.001
    monkeypatch.setattr("olston.attempt.time.time_ns", lambda: now + 10**9)
    assert third < new_attempt()


def test_a_name_says_when_it_was_made() -> None:
    before = time.time()
    assert before - 0.001 <= made_at(new_attempt()) <= time.time() + 0.001


def test_a_name_is_safe_in_any_path() -> None:
    assert new_attempt().isalnum()
    assert is_attempt(new_attempt())


@pytest.mark.parametrize("name", ["", "_delta_log", "a1", "A" * 24, "a" * 25])
def test_other_names_are_told_apart(name: str) -> None:
    assert not is_attempt(name)
