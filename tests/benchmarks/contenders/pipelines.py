"""The second contender: Spark Declarative Pipelines, as `spark-pipelines run`, with a Delta materialized view.

A run has a JVM and a session of its own; `started` says how long it took until its first flow ran.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from olston import jars, java
from olston.session import DELTA, EVERYWHERE, LOCAL
from tests.benchmarks.contenders.raw import Raw, read
from tests.benchmarks.contenders.scenario import Scenario, Wave

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFINITION = Path(__file__).parent / "pipeline.py"


class Pipelines:
    """Appends what arrives, then runs a pipeline of one materialized view, which is computed anew."""

    name, strict = "Spark Declarative Pipelines", True

    def __init__(self, session: SparkSession, scenario: Scenario, folder: Path, memory: str) -> None:
        self._session, self._folder, self._scenario = session, folder, scenario
        self._raw = Raw(session, scenario, folder / "raw")
        self._runs, self.started = 0, list[float]()
        spec = f"name: {scenario.name}\nstorage: {(folder / 'storage').as_uri()}\nlibraries:\n  - glob:\n"
        shutil.copy(DEFINITION, folder)
        (folder / "spark-pipeline.yml").write_text(f"{spec}      include: pipeline.py\n")
        classes = ":".join(map(str, jars.fetch()))
        settings = {
            **{k: v for k, v in EVERYWHERE.items() if k not in DELTA}, **DELTA, **LOCAL,
            "spark.driver.memory": memory,  # the master is local[*]; a pipeline must not be told
            # the session of a pipeline is made before `spark.jars` are loaded, so Delta must be there from the start
            "spark.driver.extraClassPath": classes,
            "spark.driver.extraJavaOptions": " ".join(
                (*java.options(jars.cache(), local=True), f"-Dderby.system.home={folder}")
            ),
            "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
            "spark.sql.catalogImplementation": "hive",  # a table of an earlier run must be known
            # a format that the view itself names is set again as a property in the next run, which Delta refuses
            "spark.sql.sources.default": "delta",
        }  # fmt: skip
        (folder / "conf").mkdir()
        lines = (f"{key} {value}\n" for key, value in settings.items())
        (folder / "conf" / "spark-defaults.conf").write_text("".join(lines))

    def begin(self) -> None:
        self.repair()

    def wave(self, wave: Wave) -> None:
        self.take(wave)
        self.repair()

    def take(self, wave: Wave) -> None:
        """Let a wave be there for the next run."""
        self._raw.take(wave)

    def repair(self) -> None:
        environment = {
            **os.environ, "OLSTON_BENCH_RAW": str(self._folder / "raw"), "OLSTON_BENCH_SCENARIO": self._scenario.name,
            "SPARK_CONF_DIR": str(self._folder / "conf"), "PYSPARK_PYTHON": sys.executable,
            "JAVA_HOME": str(java.home(java.find(), jars.cache())), "SPARK_LOCAL_IP": "127.0.0.1",
            "PYTHONPATH": f"{Path(__file__).parents[3]}:{os.environ.get('PYTHONPATH', '')}",
        }  # fmt: skip
        program = Path(sys.executable).parent / "spark-pipelines"
        self._runs += 1
        began, said = time.perf_counter(), list[str]()
        with subprocess.Popen(
            ["bash", program, "run", "--spec", "spark-pipeline.yml"], cwd=self._folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as run:  # fmt: skip
            assert run.stdout is not None
            for line in run.stdout:
                said.append(line)
                if "is RUNNING" in line and len(self.started) < self._runs:
                    self.started.append(time.perf_counter() - began)
        if run.returncode or not any("Run is COMPLETED" in line for line in said):
            raise RuntimeError("".join(said))

    def output(self) -> DataFrame:
        return read(self._session, self._folder / "warehouse" / "output")

    def close(self) -> None:
        pass
