"""Folding: the same base as one anchor, and a look at keys that should be unique."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import olston as ol
from olston.folding import Folding
from tests.olston.test_engine import Lab

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_keys_that_waves_have_in_common_are_found_at_a_fold_and_told(spark: SparkSession, tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    items = wf.source("items", "k string, n int", key="k")
    least = items.aggregate("least", by="k", n=ol.min("n"))
    wf.output(least)
    wf.bound_staleness(least, 0, 0)
    lab = Lab(wf, tmp_path / "home", spark)
    engine = lab.engine
    for rows in ([("a", 1), ("b", 2)], [("a", 3)]):
        engine.ingest("items", spark.createDataFrame(rows, "k string, n int"), kind="append")
        engine.refresh()
    assert not engine.status().warnings
    with engine._catalog.look() as db:
        state = engine._planning.load(db)
    (base,) = [s for s in state.stored.values() if s.block.channel == "items" and s.block.is_base and s.block.id]
    folding = Folding(lambda: engine._worker, lambda function: function())
    folding.begin(base, 1.0, int(engine.now), lambda: None)
    assert not folding.written(reading={"items"})
    (fold,) = folding.written(reading=())
    with engine._catalog.transaction() as db:
        fold.record(db, "w", engine._digests[fold.channel])
    (warning,) = engine.status().warnings
    assert warning.startswith("items: several rows have one key (k), which should be unique: {a, ")
    assert "delete what is too much: ingest('items', …, kind=\"delta\")" in warning
    assert "which should be unique" in " ".join(str(engine.status()).split())
    assert lab.rows("least") == {("a", 1): 1, ("b", 2): 1}
    engine.close()
