"""What an incremental variant does to the bases it reads: at most one scan of each, and no shuffle for a small delta.

Looked at in Spark's physical plans of every variant in the workflows written by hand; nothing is run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston.block import BASE, DELTA, Block, Kind, is_strong, is_weak
from olston.content import LITTLE
from olston.operators.columns import DELETED, WEIGHT, see
from olston.operators.operand import Operand
from olston.operators.weak import Replace
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.network import Variant
from olston.session import clone
from olston.step import rows
from olston.store import Store
from tests.equality.handwritten import WRITTEN, Written
from tests.equality.spec import build
from tests.lake import Lake, bag_of
from tests.physical import shuffled, walk

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = 1000


@pytest.mark.parametrize("case", WRITTEN, ids=lambda w: w.name)
def test_a_small_delta_costs_one_scan_of_a_base_and_no_shuffle_of_it(
    case: Written, spark: SparkSession, tmp_path: Path
) -> None:
    session = clone(spark)
    session.conf.set("spark.sql.adaptive.enabled", "false")  # or the plan is not known before it is run
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    store = Store(session, str(tmp_path), build(case.spec))
    network = compile_workflow(store.workflow, drifting=store.schemas.drifting)
    faults = [f"{v.name}: {fault}" for v in network.variants if follows_a_delta(v) for fault in look(store, session, v)]
    assert faults == []


def test_delta_tables_are_scanned_once_too(spark: SparkSession, tmp_path: Path) -> None:
    """A left join reads the shuffled rows of its right twice, for which Spark must know two scans of a table again."""
    wf = ol.Workflow("w")
    left, right = wf.source("left", "k int, v int"), wf.source("right", "k int, w int")
    left.join("out", right, on="k", how="left")
    session = clone(spark)
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    lake = Lake(session, tmp_path, wf)
    blocks = [
        made
        for name in ("left", "right")
        for made in (lake.arrive(name, [(1, 1)], 10, kind="base"), lake.arrive(name, [(1, 2, 1)], 20, 10, "delta"))
    ]
    result = Block("out", DELTA, Provenance.at(20, 20), Provenance.at(10, 10))
    (made,) = rows(lake.store, session, lake.step("out.incremental", blocks, result))
    scans = Counter(where for where, _ in walk(made._jdf.queryExecution().executedPlan()) if "anchors" in where)
    assert sorted(scans.values()) == [1, 1]


def test_a_base_with_deletions_over_it_is_scanned_once_too(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a small delta does not meet is left out before the changes are counted, and is not shuffled. The result is
    the same as where little is there, and all of it is counted."""
    wf = ol.Workflow("w")
    left, right = wf.source("left", "k int, v int"), wf.source("right", "k int, w int")
    left.join("inner", right, on="k")
    left.join("outer", right, on="k", how="left")
    left.aggregate("least", by="k", v=ol.min("v"))
    session = clone(spark)
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    lake = Lake(session, tmp_path, wf)
    bases, deltas = {}, {}
    for channel in ("left", "right"):
        lower = lake.arrive(channel, [(1, 1), (1, 1), (1, 2), (2, 2), (3, 3)], 10, kind="base")
        over = lake.arrive(channel, [(1, 1, -1), (1, 2, -1), (3, 3, -1), (1, 4, 1)], 20, 10, "delta")
        bases[channel] = lake.apply(lower, over)
        deltas[channel] = lake.arrive(channel, [(1, 5, 1), (3, 5, 1), (1, 1, -1)], 30, 20, "delta")
    variants = [v for v in lake.operators.values() if v.foreign and follows_a_delta(v) and reads_a_base(v)]
    assert len(variants) == 7
    for variant in variants:
        monkeypatch.setattr("olston.content.LITTLE", LITTLE)
        reads = zip(variant.inputs, variant.signature.reads, strict=True)
        operands = [bases[c] if kind == BASE else deltas[c] for c, kinds in reads for kind in kinds.kinds]
        old, new = (Provenance.at(*[stamp] * len(variant.inputs)) for stamp in (20, 30))
        step = lake.step(variant.name, operands, Block(variant.outputs[0], variant.signature.writes, new, old))
        counted = bag_of(rows(lake.store, session, step)[0])
        monkeypatch.setattr("olston.content.LITTLE", 0)
        (made,) = rows(lake.store, session, step)
        paths = [(w, above) for w, above in walk(made._jdf.queryExecution().executedPlan()) if "anchors" in w]
        assert set(Counter(where for where, _ in paths).values()) == {1}, variant
        assert not any(shuffled(above) for _, above in paths), variant
        assert bag_of(made) == counted, variant


@pytest.mark.parametrize("on", ["k", "g"])
def test_rows_are_not_left_out_before_a_replacement_that_changes_what_they_are_met_by(
    on: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`(1, a)` became `(1, b)`: a new row for `a` meets nothing, also where the replacement itself is not met."""
    monkeypatch.setattr("olston.content.LITTLE", 0)
    wf = ol.Workflow("w")
    wf.source("right", "k int, g string", key="k")
    lake = Lake(spark, tmp_path, wf)
    base = lake.arrive("right", [(1, "a"), (2, "c")], 10, kind="base")
    held = lake.apply(base, lake.arrive("right", [(1, "b", False)], 20, 10, "replace"))
    keys = spark.createDataFrame([(1, "a")], "k int, g string")
    met = lake.store.operand(spark, "right", BASE, held.content).met_by(keys, [on], small=True)
    assert [tuple(row) for row in met.collect()] == ([(1, "b")] if on == "k" else [])


def follows_a_delta(variant: Variant) -> bool:
    """Whether it makes a delta of one; those that compare two bases read both, and what is linked reads nothing."""
    kinds = [kind for reads in variant.signature.reads for kind in reads.kinds]
    return variant.signature.incremental and any(k != BASE for k in kinds) and variant.listed


def reads_a_base(variant: Variant) -> bool:
    return any(BASE in reads.kinds for reads in variant.signature.reads)


def look(store: Store, session: SparkSession, variant: Variant) -> Iterator[str]:
    """What is wrong with the plan of `variant` on large bases and small deltas."""
    assert variant.operator is not None
    operands = []
    for channel, reads in zip(variant.inputs, variant.signature.reads, strict=True):
        for kind in reads.kinds:
            seen = see(block(store, session, channel, kind), variant.operator.view, tombstones=is_weak(kind))
            operands.append(Operand(seen, kind) if kind == BASE else Operand(seen, kind, SMALL, "the delta"))
    for made, channel in zip(variant.operator.run(operands), variant.outputs, strict=True):
        plan = store.shaped(channel, variant.signature.writes, made)._jdf.queryExecution().executedPlan()
        paths = list(walk(plan))
        scans = Counter(where for where, _ in paths)
        yield from (f"scans {where} {n} times" for where, n in scans.items() if where.endswith(BASE) and n > 1)
        yield from (f"shuffles {where}: {above}" for where, above in paths if where.endswith(BASE) and shuffled(above))


def block(store: Store, session: SparkSession, channel: str, kind: Kind) -> DataFrame:
    """The rows of a block as Spark sees them before it looks into the files, of which there are none."""
    from pyspark.sql.types import BooleanType, LongType, StructType

    schema = StructType([*store.schemas.stored[channel].fields])
    if is_strong(kind):
        schema = schema.add(WEIGHT, LongType())
    elif is_weak(kind) and isinstance(store.weak(channel, kind), Replace) and DELETED not in schema.names:
        schema = schema.add(DELETED, BooleanType())
    path = Path(store.path(f"{store.place(channel)}/{kind if kind == BASE else 'delta'}"))
    path.mkdir(parents=True, exist_ok=True)
    return session.read.schema(schema).parquet(str(path))
