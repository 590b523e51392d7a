"""Delta tables of what has arrived, as a job by hand keeps them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.contenders.scenario import WEIGHT, Frames, Scenario, Wave, load

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Raw:
    """The sources of a scenario below `folder`."""

    def __init__(self, session: SparkSession, scenario: Scenario, folder: Path) -> None:
        self.session, self.scenario, self.folder = session, scenario, folder

    def take(self, wave: Wave) -> None:
        """Add the rows that came, and delete those that went."""
        for source, path in wave.items():
            offered, by = load(self.session, self.scenario, source, path), self.scenario.sources[source].deletes
            if by is None:
                append(offered, self.folder / source)
                continue
            append(offered.where(f"{WEIGHT} > 0").drop(WEIGHT), self.folder / source)
            delete(self.session, self.folder / source, offered.where(f"{WEIGHT} < 0").select(by).distinct(), by)

    def frames(self) -> Frames:
        return {source: read(self.session, self.folder / source) for source in self.scenario.sources}


def read(session: SparkSession, path: Path) -> DataFrame:
    return session.read.format("delta").load(str(path))


def append(rows: DataFrame, path: Path) -> None:
    rows.write.format("delta").mode("append").option("delta.enableDeletionVectors", "true").save(str(path))


def overwrite(rows: DataFrame, path: Path) -> None:
    rows.write.format("delta").mode("overwrite").option("delta.enableDeletionVectors", "true").save(str(path))


def delete(session: SparkSession, path: Path, keys: DataFrame, by: str) -> None:
    """Delete the rows of some keys, which are few: that takes less time than a MERGE."""
    from delta.tables import DeltaTable
    from pyspark.sql import functions as F

    DeltaTable.forPath(session, str(path)).delete(F.col(by).isin([row[by] for row in keys.collect()]))


def copied(seed: Path, folder: Path) -> Path:
    """A copy of what lies in `seed`: Parquet files, which nobody changes, are linked, logs and catalogs are copied."""

    def copy(source: str, target: str) -> None:
        (os.link if source.endswith(".parquet") and "_delta_log" not in source else shutil.copy2)(source, target)

    shutil.copytree(seed, folder, copy_function=copy)
    return folder
