"""The first contender: a plain job that computes the output anew from all that has arrived."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.contenders.raw import Raw, overwrite, read
from tests.benchmarks.contenders.scenario import Scenario, Wave

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Recompute:
    """Append what arrives, compute everything, overwrite the output."""

    name, strict = "full recompute", True

    def __init__(self, session: SparkSession, scenario: Scenario, folder: Path) -> None:
        self._session, self._scenario = session, scenario
        self._raw, self._output = Raw(session, scenario, folder / "raw"), folder / "output"

    def begin(self) -> None:
        self.repair()

    def wave(self, wave: Wave) -> None:
        self._raw.take(wave)
        self.repair()

    def repair(self) -> None:
        overwrite(self._scenario.batch(self._raw.frames()), self._output)

    def output(self) -> DataFrame:
        return read(self._session, self._output)

    def close(self) -> None:
        pass
