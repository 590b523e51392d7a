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


def test_a_name_says_when_it_was_made() -> None:
    before = time.time()
    assert before - 0.001 <= made_at(new_attempt()) <= time.time() + 0.001


def test_a_name_is_safe_in_any_path() -> None:
    assert new_attempt().isalnum()
    assert is_attempt(new_attempt())


@pytest.mark.parametrize("name", ["", "_delta_log", "a1", "A" * 24, "a" * 25])
def test_other_names_are_told_apart(name: str) -> None:
    assert not is_attempt(name)
