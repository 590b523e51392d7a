"""Several processes look at one followed folder, and some die at it: every file is taken once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from olston.engine import Engine
from tests.survival.poller import following

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]


class Folder:
    """Files that are put there whole, and the processes that look at them."""

    def __init__(self, place: Path, spark: SparkSession) -> None:
        self.files, self.home, self.spark = place / "incoming", place / "home", spark
        self.files.mkdir()
        self.count = 0

    def put(self) -> None:
        """One more file, of three rows that no other has."""
        self.count += 1
        rows = [{"k": f"file {self.count}", "n": n} for n in range(3)]
        hidden = self.files / f".{self.count}"
        hidden.write_text("\n".join(map(json.dumps, rows)))
        hidden.rename(self.files / f"{self.count}.json")

    def poller(self, times: int, fault: str = "") -> subprocess.Popen[str]:
        parameters = self.spark.sparkContext._gateway.java_parameters  # type: ignore[union-attr]
        environment = {
            **os.environ, "OLSTON_FAULT": fault, "PYSPARK_GATEWAY_PORT": str(parameters.port),
            "PYSPARK_GATEWAY_SECRET": parameters.auth_token,
        }  # fmt: skip
        command = [sys.executable, "-m", "tests.survival.poller", str(self.home), str(self.files), str(times)]
        started = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        assert started.stdout is not None
        assert started.stdout.readline() == "ready\n"
        return started

    def check(self) -> None:
        """All that was put there has arrived, each once."""
        with Engine(following(str(self.files)), str(self.home), spark=self.spark) as engine:
            engine.poll()
            found = Counter(tuple(row) for row in engine.read("rows").collect())
            assert found == {(f"file {i}", n): 1 for i in range(1, self.count + 1) for n in range(3)}
            assert not engine.poll()
            engine.refresh()
            counts = Counter(tuple(row) for row in engine.read("counts").collect())
            assert counts == {(f"file {i}", 3): 1 for i in range(1, self.count + 1)}


@pytest.mark.long
def test_two_processes_that_poll_take_each_file_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(tmp_path, spark)
    folder.put()
    pollers = [folder.poller(8) for _ in range(2)]
    while any(p.poll() is None for p in pollers):
        folder.put()
        time.sleep(0.7)
    assert [p.wait() for p in pollers] == [0, 0]
    folder.check()


@pytest.mark.long
@pytest.mark.parametrize("fault", ["wave-written", "arrival-catalogued"])
def test_a_process_killed_while_it_polls_loses_and_doubles_nothing(
    spark: SparkSession, tmp_path: Path, fault: str
) -> None:
    folder = Folder(tmp_path, spark)
    folder.put()
    folder.put()
    assert folder.poller(1, fault).wait() == -signal.SIGKILL
    folder.put()
    folder.check()
