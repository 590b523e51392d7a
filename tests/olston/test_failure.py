"""Right under failure: whatever goes wrong half-way, everything reads as before, and the next try may succeed."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

import olston as ol
from olston import ingest, table
from olston.attempt import new_attempt
from olston.block import BASE, DELTA, Block
from olston.errors import BlockError, IngestError, StepError, StoreError
from olston.failure import reason
from olston.operators.bag import MISSING
from olston.provenance import Provenance
from olston.published import Published
from olston.step import Stored, run
from tests.lake import Lake, bag, bag_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

T = Provenance.at


class Fault:
    """What a user's function does wrong at the moment, written down where Spark's workers read it too."""

    def __init__(self, file: Path) -> None:
        self.file = str(file)

    @contextmanager
    def set(self, fault: str) -> Iterator[None]:
        Path(self.file).write_text(fault)
        try:
            yield
        finally:
            Path(self.file).write_text("")

    def function(self, df: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        file = self.file
        if Path(file).read_text() == "at once":
            raise LookupError("no such model")

        def measured(n: int) -> int:
            import os
            import time
            from pathlib import Path

            fault = Path(file).read_text()
            if fault == "some rows" and n == 3:
                raise ValueError("cannot measure 3")
            if fault == "worker dies" and n == 3:
                os._exit(1)
            for _ in range(600 if fault == "slow" else 0):
                time.sleep(0.1)
            return n * 10

        return df.withColumn("n", F.udf(lambda x: measured(x), "int")("n"))


@pytest.fixture(scope="module")
def fault(tmp_path_factory: pytest.TempPathFactory) -> Fault:
    file = tmp_path_factory.mktemp("fault") / "fault"
    file.write_text("")
    return Fault(file)


def workflow(fault: Fault) -> ol.Workflow:
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string, n int")
    wf.output(pages.map("measured", fault.function))
    pages.map("copied", lambda df: df)
    wf.channel("measured").split({"low": "n < 20"}, rest="high")
    return wf


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fault: Fault) -> Lake:
    return Lake(spark, tmp_path_factory.mktemp("home"), workflow(fault))


class Everything:
    """All blocks that can be read, and what they hold."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.pages = lake.arrive("pages", [("a", 1), ("b", 2), ("c", 3)], 1)
        self.base = lake.apply(lake.nothing("pages"), self.pages)
        self.measured = lake.run("measured.incremental", [self.pages], T(1), T(0))
        self.whole = lake.run("measured.batch", [self.base], T(1))
        self.output = Published(lake.store, "measured")
        self.output.deliver(lake.session, self.whole.block, lake.operand(self.whole), T(1), 1, new_attempt())
        self.before = self.read()

    def read(self) -> list[Any]:
        blocks = (self.base, self.measured, self.whole)
        consumer = self.output.held(self.lake.session), bag_of(self.output.read(self.lake.session))
        return [*map(self.lake.rows, blocks), *consumer]

    def commits(self) -> int:
        """To the table that the incremental step writes."""
        path = self.lake.store.path(self.measured.content.parts[0].table)
        return len(list(table.history(self.lake.session, path)))

    def is_as_before(self) -> bool:
        return self.read() == self.before


@pytest.fixture(scope="module")
def everything(lake: Lake) -> Everything:
    return Everything(lake)


@contextmanager
def cancelling(spark: SparkSession) -> Iterator[None]:
    """Somebody cancels all jobs, again and again, in another thread."""
    over = Event()

    def cancel() -> None:
        while not over.wait(0.5):
            spark.sparkContext.cancelAllJobs()

    thread = Thread(target=cancel)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


READ = "pages Δ⁺ to 1"
FAULTS = {
    "at once": "LookupError: no such model.",
    "some rows": "ValueError: cannot measure 3.",
    "worker dies": "Python worker exited unexpectedly (crashed)",
}


@pytest.mark.parametrize(("kind", "why"), FAULTS.items(), ids=FAULTS)
def test_a_step_whose_function_fails_says_so_and_changes_nothing(
    lake: Lake, everything: Everything, fault: Fault, kind: str, why: str
) -> None:
    commits = everything.commits()
    with fault.set(kind), pytest.raises(StepError) as raised:
        lake.run("measured.incremental", [everything.pages], T(1), T(0))
    assert everything.commits() == commits
    text = str(raised.value)
    assert f"measured.incremental: failed reading {READ}: " in text
    assert why in text
    assert "Nothing readable has changed; mend what failed and run again." in text
    assert len(text.splitlines()) == 1, "a sentence, and not a stack trace"
    assert raised.value.__cause__ is not None, "which is kept beside it"
    assert everything.is_as_before()


def test_the_traceback_of_a_function_is_kept(lake: Lake, everything: Everything, fault: Fault) -> None:
    with fault.set("at once"), pytest.raises(StepError) as raised:
        lake.run("measured.batch", [everything.base], T(1))
    assert isinstance(raised.value.__cause__, LookupError)
    assert re.search(r"It was raised at \S+test_failure\.py:\d+, in function\. ", str(raised.value))
    with fault.set("some rows"), pytest.raises(StepError) as raised:
        lake.run("measured.batch", [everything.base], T(1))
    assert "in measured" in str(raised.value.__cause__), "where in the function of the user it was"
    assert re.search(r"It was raised at \S+test_failure\.py:\d+, in measured\. ", str(raised.value))


def test_a_job_that_is_cancelled_changes_nothing(lake: Lake, everything: Everything, fault: Fault) -> None:
    started = time.time()
    with fault.set("slow"), cancelling(lake.session), pytest.raises(StepError, match="cancelled") as raised:
        lake.run("measured.batch", [everything.base], T(1))
    assert time.time() - started < 60
    assert "measured.batch: failed reading pages B at 1: " in str(raised.value)
    assert everything.is_as_before()


def test_a_delivery_that_is_cancelled_leaves_what_the_consumer_holds(
    lake: Lake, everything: Everything, fault: Fault
) -> None:
    rows = lake.operand(everything.base)
    slow = type(rows)(fault.function(rows.rows), BASE)
    block = Block("measured", BASE, T(2), id="b")
    with fault.set("slow"), cancelling(lake.session), pytest.raises(StepError, match="measured: delivery 2, of "):
        everything.output.deliver(lake.session, block, slow, T(2), 2, new_attempt())
    assert everything.is_as_before()


def test_once_mended_the_same_step_succeeds_under_a_new_attempt(
    lake: Lake, everything: Everything, fault: Fault
) -> None:
    """And what the failed attempts left behind is not seen."""
    again = lake.run("measured.incremental", [everything.pages], T(1), T(0))
    assert lake.rows(again) == lake.rows(everything.measured) == bag(("a", 10), ("b", 20), ("c", 30))
    assert lake.rows(lake.run("measured.batch", [everything.base], T(1))) == lake.rows(again)


def test_a_split_of_which_one_output_fails_makes_none(lake: Lake, everything: Everything) -> None:
    """The first output is written when the second fails: it is known to nobody, and the next attempt starts anew."""
    results = [Block(c, DELTA, T(1), T(0)) for c in ("low", "high")]
    step = lake.step("split(low,high).incremental", [everything.measured], *results)
    home = Path(lake.store.home, "blocks")
    (home / "high").write_text("in the way")
    with pytest.raises(StepError, match=r"split\(low,high\)\.incremental: failed reading measured"):
        run(lake.store, lake.session, step, new_attempt())
    (home / "high").unlink()
    low, high = run(lake.store, lake.session, step, new_attempt())
    assert lake.rows(low) == bag(("a", 10))
    assert lake.rows(high) == bag(("b", 20), ("c", 30))
    assert len(list((home / "low").glob("*/_block=*"))) == 2, "both attempts wrote, beside each other"


def test_deleting_what_is_not_there_is_an_error_of_the_step_that_reads_it(lake: Lake, everything: Everything) -> None:
    frame = lake.frame("pages", [("b", 2, -2)], "_weight bigint")
    label = "pages Δ to 2, made by somewhere.incremental"
    _, wrong = lake.store.write_delta("pages", DELTA, frame, new_attempt(), {}, label)
    base = Stored(Block("pages", BASE, T(2)), everything.base.content.then(wrong))
    with pytest.raises(BlockError) as raised:
        lake.run("copied.batch", [base], T(2))
    assert raised.value.code == MISSING
    said = f"copied.batch: failed reading pages B at 2: {label} deletes a row that is not there: {{b, 2}}"
    assert said in str(raised.value)
    assert raised.value.__cause__ is not None
    assert everything.is_as_before()


def test_data_that_fails_half_way_does_not_arrive(lake: Lake, everything: Everything, fault: Fault) -> None:
    for kind in ("some rows", "worker dies"):
        offered = fault.function(lake.frame("pages", [("x", 1), ("y", 3)]))
        with fault.set(kind), pytest.raises(IngestError, match="Nothing of it has arrived"):
            ingest.write(lake.store, lake.session, "pages", offered, "append", new_attempt())
    assert everything.is_as_before()


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("only root may make a little disk")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


def test_a_full_disk_changes_nothing_and_more_room_is_enough(
    spark: SparkSession, little_disk: Path, fault: Fault
) -> None:
    from pyspark.sql import functions as F

    lake = Lake(spark, little_disk / "home", workflow(fault))
    base = lake.apply(lake.nothing("pages"), lake.arrive("pages", [("a", 1)], 1))
    noise = F.concat(*[F.sha2(F.concat(F.col("id"), F.lit(i)), 512) for i in range(4)])  # does not compress
    offered = spark.range(20_000).select(noise.alias("url"), F.col("id").cast("int").alias("n"))
    with pytest.raises(StoreError, match=r"DISK_FULL.*No space left on device") as raised:
        ingest.write(lake.store, spark, "pages", offered, "append", new_attempt())
    assert raised.value.__cause__ is not None
    assert lake.rows(base) == bag(("a", 1))
    subprocess.run(["mount", "-o", "remount,size=100m", little_disk], check=True)
    arrived = ingest.write(lake.store, spark, "pages", offered, "append", new_attempt()).at(2, 1)
    assert arrived.block.rows == 20_000
    assert lake.frame_of(lake.apply(base, arrived)).count() == 20_001


def test_a_place_that_cannot_be_written_is_named(spark: SparkSession, tmp_path: Path, fault: Fault) -> None:
    (tmp_path / "file").touch()
    lake = Lake(spark, tmp_path / "file" / "home", workflow(fault))
    with pytest.raises(IngestError, match=r"pages: .*Parent path is not a directory: .*/file"):
        lake.arrive("pages", [("a", 1)], 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("too bad"), "ValueError: too bad."),
        (KeyError("column"), "KeyError: 'column'."),
        (ValueError("one line\n\nand another"), "ValueError: one line."),
        (RuntimeError(""), "RuntimeError."),
        (TypeError("Really?"), "TypeError: Really?"),
        (
            AnalysisException("[NO_COLUMN] no `q`. SQLSTATE: 42703;\n'Project"),
            "[NO_COLUMN] no `q`.",
        ),
        (
            AnalysisException("\n[SYNTAX] at end of input. SQLSTATE: 42601 (line 1, pos 11)\n\n== SQL =="),
            "[SYNTAX] at end of input.",
        ),
    ],
)
def test_a_failure_is_told_in_one_sentence(error: Exception, said: str) -> None:
    assert reason(error) == said


def test_a_delivery_that_fails_names_the_steps_done_in_its_job_and_what_they_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F

    def checked(df: DataFrame) -> DataFrame:
        odd = F.when(df.size < 0, F.raise_error(F.lit("a size below 0")).cast("int"))
        return df.withColumn("size", F.coalesce(odd, "size"))

    wf = ol.Workflow("w")
    out = wf.source("pages", "url string, size int").map("checked", checked).filter("out", "size <> 5")
    wf.output(out)
    wf.bound_staleness(out, 0, 0)
    with ol.Engine(wf, str(tmp_path), spark=spark) as engine:
        engine.ingest("pages", spark.createDataFrame([("a", 1)], "url string, size int"))
        engine.refresh()
        engine.ingest("pages", spark.createDataFrame([("b", -1)], "url string, size int"))
        named = r"out: delivery 2, of .*, made by checked\.\w+ \+ out\.\w+ reading pages .* failed: .*a size below 0"
        with pytest.raises(StepError, match=named):
            engine.refresh()
        assert bag_of(engine.read("out")) == {("a", 1): 1}
