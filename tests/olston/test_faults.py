"""Fault points: nothing without the environment, a kill with it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from olston.faults import POINTS, point

SAYS = "from olston.faults import point\nfor i in range(3): point('wave-written'); print(i, flush=True)"


def run(fault: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OLSTON_FAULT": fault}
    return subprocess.run([sys.executable, "-c", SAYS], env=environment, capture_output=True, text=True)


def test_a_point_does_nothing_by_itself() -> None:
    for name in POINTS:
        point(name)


def test_a_process_dies_at_the_passing_that_the_environment_names() -> None:
    assert (run("wave-written").returncode, run("wave-written").stdout) == (-signal.SIGKILL, "")
    assert (run("wave-written:3").returncode, run("wave-written:3").stdout) == (-signal.SIGKILL, "0\n1\n")
    assert run("fold-written").stdout == "0\n1\n2\n"


def test_a_point_that_is_not_there_is_refused() -> None:
    assert "fault point 'wave-writen': no such fault point in OLSTON_FAULT; did you mean 'wave-written'" in (
        run("wave-writen").stderr
    )


def test_every_point_has_its_place_in_the_code() -> None:
    sources = "".join(p.read_text() for p in (Path(__file__).parents[2] / "olston").glob("*.py"))
    assert set(re.findall(r"\bpoint\(\"([\w-]+)\"\)", sources)) == set(POINTS)
