"""Small files and folders, by way of Hadoop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from olston import files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_folders_are_listed_and_dropped(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("b", "a b", "é"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    assert files.folders(spark, str(tmp_path)) == ["a b", "b", "é"]
    files.drop(spark, f"{tmp_path}/a b")
    assert files.folders(spark, str(tmp_path)) == ["b", "é"]
    assert files.folders(spark, f"{tmp_path}/nowhere") == []


def test_a_file_is_put_once_and_whole(spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/in ä folder/one.json"
    files.put(spark, path, "größe\n")
    files.put(spark, path, "another")
    assert files.text(spark, path) == "größe\n"
    assert files.names(spark, f"{tmp_path}/in ä folder") == ["one.json"]
    assert files.names(spark, f"{tmp_path}/nowhere") == files.names(spark, str(tmp_path / "in ä folder" / "none")) == []
