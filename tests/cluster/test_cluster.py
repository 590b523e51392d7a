"""The same engine on a standalone cluster: a master and two workers, each a process of its own."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def master(tmp_path: Path) -> Iterator[str]:
    """The URL of a master with two workers."""
    import pyspark

    from olston import jars, java

    spark = Path(pyspark.__file__).parent
    environment = {**os.environ, "SPARK_HOME": str(spark), "JAVA_HOME": str(java.home(java.find(), jars.cache()))}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "SPARK_LOCAL_DIRS": str(tmp_path)}
    processes: list[subprocess.Popen[bytes]] = []

    def daemon(name: str, *arguments: str) -> Path:
        log = tmp_path / f"{len(processes)}.log"
        command = [str(spark / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen([*command, *arguments], env=environment, stdout=out, stderr=subprocess.STDOUT)
            )
        return log

    def wait_for(log: Path, text: str) -> None:
        until = time.monotonic() + 120
        while not re.search(text, log.read_text(errors="replace")):
            assert time.monotonic() < until, log.read_text(errors="replace")
            time.sleep(0.2)

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    try:
        wait_for(daemon("master.Master", "--port", str(port), "--webui-port", "0"), "New state: ALIVE")
        for n in range(2):
            folder = tmp_path / f"worker{n}"
            options = ["--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder)]
            wait_for(daemon("worker.Worker", *options, url), "Successfully registered")
        yield url
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(30)


@pytest.mark.long
@pytest.mark.spark
def test_search_preprocessing_runs_on_a_cluster_and_ends_at_the_batch_result(master: str, tmp_path: Path) -> None:
    home = str(tmp_path / "shared" / "lake")
    command = [sys.executable, "-m", "tests.cluster.scenario", master, home]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=REPOSITORY, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["master"] == master
    assert told["executors"] == 2
    assert told["consistent"]
    assert told["equal"]
    assert any("async_left" in step for step in told["steps"])
