"""Twenty lines that the README quotes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
FILE = ROOT / "examples" / "first_workflow" / "first_workflow.py"


def test_it_has_twenty_lines_and_the_readme_quotes_them() -> None:
    assert len(FILE.read_text().splitlines()) == 20
    assert FILE.read_text() in re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_it_runs_where_it_is_called(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # the JVM of the tests began elsewhere
    exec(compile(FILE.read_text(), str(FILE), "exec"), {"__name__": "first_workflow"})
    assert {p.name for p in (tmp_path / "lake").iterdir()} >= {"catalog.db", "arrivals", "blocks", "published"}
    told, errors = capsys.readouterr()
    assert not errors
    assert "totals reflects" in told
    totals = re.findall(r"\|\s*(\w\w)\|\s*(\d+)\|\s*(\d+)\|", told)
    assert sorted(totals) == [("FR", "1", "30"), ("US", "1", "5")]
