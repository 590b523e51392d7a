"""News are out at once, the rest within a day."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from olston.examples.feedback_prioritization.__main__ import tell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_wave_brings_its_news_at_once_and_the_others_wait_for_their_day(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = tell(str(tmp_path / "lake"), spark, waves=6, rows=50)
    told, errors = capsys.readouterr()
    assert not errors
    news, others = zip(*store.log, strict=True)
    assert news == (2, 4, 6, 8, 10, 10, 12), "one look after each wave, and one at the end of the day"
    assert others[1] < 2 * 48, "the others wait"
    assert others[5] == 5 * 48, "for a day at most"
    assert "the others would soon be more than a day behind" in told
    assert "searches>news" in told
    assert "searches>other" in told
