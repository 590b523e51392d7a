"""Small files and folders, by way of Hadoop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from olston import filesystem
from olston.errors import StoreError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_folders_are_listed_and_dropped(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("b", "a b", "é"):
        (tmp_path / name).mkdir()
    (tmp_path / "file").touch()
    assert filesystem.folders(spark, str(tmp_path)) == ["a b", "b", "é"]
    filesystem.drop(spark, f"{tmp_path}/a b")
    assert filesystem.folders(spark, str(tmp_path)) == ["b", "é"]
    assert filesystem.folders(spark, f"{tmp_path}/nowhere") == []


def test_a_file_is_put_once_and_whole(spark: SparkSession, tmp_path: Path) -> None:
    path = f"{tmp_path}/in ä folder/one.json"
    filesystem.put(spark, path, "größe\n")
    filesystem.put(spark, path, "größe\n")
    with pytest.raises(StoreError, match="says something else"):
        filesystem.put(spark, path, "another")
    assert filesystem.text(spark, path) == "größe\n"
    assert filesystem.names(spark, f"{tmp_path}/in ä folder") == ["one.json"]
    assert (
        filesystem.names(spark, f"{tmp_path}/nowhere")
        == filesystem.names(spark, str(tmp_path / "in ä folder" / "none"))
        == []
    )


def test_java_is_asked_for_a_class_once(spark: SparkSession) -> None:
    found = filesystem.java(spark, "java.time.Year")
    assert filesystem.java(spark, "java.time.Year") is found
    assert found.of(2000).isLeap()
    assert filesystem.java(spark, "PythonUtils") is spark._jvm.PythonUtils, "PySpark does not ask again either"  # type: ignore[union-attr]
