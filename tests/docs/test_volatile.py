"""The comparison of pages lets pass what differs every time, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.volatile import at_home, comparable

RUN = """\
orders: 2 rows arrived at 2026-11-17 00:11:49, block 06606dbd7b1092ca6e33b73f
 step              expected s  took s
 totals.increment  5.12        18.01
 totals            1 second 476 milliseconds   1 day
"""
SIMULATED = """\
 bound         lag   cost   scheduler   cost
 ─────────────────────────────────────────────
 0 seconds    4.84    994       0.376   ██████
 4 hours      5.69   46.5           2   █
"""
PLAN = """\
2 steps, about 20 s
├── steps
│   └── #  step              rows  seconds
│       1  totals.increment     2      5.1
│       2  → totals             4       12
└── rejected
    └── totals  paid.batch
"""


@pytest.mark.parametrize(
    ("said", "old", "new", "command"),
    [
        (RUN, "00:11:49", "09:05:00", "olston run"),
        (RUN, "06606dbd7b1092ca6e33b73f", "06606dc2712f1e86bc30452f", "olston run"),
        (RUN, "18.01", "1.10 ", "olston run"),
        (RUN, "1 second 476 milliseconds", "3 milliseconds", "olston run"),
        (SIMULATED, "0.376", "12.25", "olston simulate"),
        (SIMULATED, "  2   █", "0.1   █", "olston simulate"),
        (PLAN, "     12", "0.00012", "olston plan"),
        (PLAN, "about 20 s", "about 0.4 s", "olston plan"),
        (PLAN, "paid.batch", "paid.incremental", "olston plan"),
    ],
)
def test_what_differs_every_time_passes(said: str, old: str, new: str, command: str) -> None:
    assert old in said
    assert comparable(said, command) == comparable(said.replace(old, new), command)


@pytest.mark.parametrize(
    ("said", "old", "new", "command"),
    [
        (RUN, "2 rows", "3 rows", "olston run"),
        (RUN, "totals.increment", "totals.batch", "olston run"),
        (RUN, "1 day", "2 days", "olston run"),
        (SIMULATED, "994", "995", "olston simulate"),
        (SIMULATED, "4.84", "4.85", "olston simulate"),
        (PLAN, "totals.increment", "totals.batch", "olston plan"),
        (PLAN, "     2 ", "     3 ", "olston plan"),
    ],
)
def test_anything_else_does_not(said: str, old: str, new: str, command: str) -> None:
    assert old in said
    assert comparable(said, command) != comparable(said.replace(old, new), command)


def test_nobody_sees_where_the_tests_ran() -> None:
    assert at_home("/x/ann0/demo/data/1.csv in /x/ann0/lake", Path("/x/ann0")) == "data/1.csv in /home/ann/lake"
