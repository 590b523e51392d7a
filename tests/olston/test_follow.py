"""Followed sources on real files and real Delta tables: what is new arrives, once."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston import polling, taken
from olston.engine import Engine
from tests.lake import at_once, bag

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = 1_700_000_000_000_000


class Lab:
    """Engines on one home, and a folder in which files land."""

    def __init__(self, spark: SparkSession, home: Path) -> None:
        self.spark, self.home, self.landing = spark, home, home / "landing"
        self.landing.mkdir(parents=True)
        self.clock = ol.ManualClock(START)
        self.opened: list[Engine] = []

    def engine(self, *sources: dict[str, Any]) -> Engine:
        """An engine on a workflow of these sources, each with a copy of it as an output."""
        wf = ol.Workflow("followed")
        for i, options in enumerate(sources):
            source = wf.source(f"s{i}", **options)
            wf.output(source.filter(f"copy{i}", "true"))
            wf.bound_staleness(f"copy{i}", 0, 0)
        made = Engine(wf, home=str(self.home / "lake"), clock=self.clock, spark=self.spark)
        self.opened.append(made)
        return made

    def text(self, name: str, text: str, at: int = 0) -> Path:
        """A file, made `at` seconds after the others."""
        path = self.landing / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_600_000_000 + at, 1_600_000_000 + at))
        return path

    def put(self, name: str, rows: list[Any], columns: str, format: str = "parquet") -> Path:
        """A file as Spark writes it, renamed into place."""
        folder = self.home / "written"
        self.spark.createDataFrame(rows, columns).coalesce(1).write.format(format).mode("overwrite").save(str(folder))
        (part,) = folder.glob("part-*")
        return part.rename(self.landing / name)

    def table(self, name: str, columns: str = "k string, v int", feed: bool = True) -> str:
        path = str(self.home / name)
        properties = f"TBLPROPERTIES (delta.enableChangeDataFeed = {str(feed).lower()})"
        self.spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta {properties}")
        return path

    def sql(self, *statements: str) -> None:
        for statement in statements:
            self.spark.sql(statement)


@pytest.fixture
def lab(spark: SparkSession, tmp_path: Path) -> Iterator[Lab]:
    made = Lab(spark, tmp_path)
    yield made
    for engine in made.opened:
        engine.close()


def rows(engine: Engine, channel: str = "s0") -> Counter[tuple[Any, ...]]:
    return Counter(tuple(r) for r in engine.read(channel).collect())


def test_files_that_came_are_one_wave_and_each_is_taken_once(lab: Lab) -> None:
    lab.put("a [1].parquet", [("a", 1)], "k string, v int")
    lab.put("b{2}%20.parquet", [(2, "b")], "v int, k string")  # another order of columns
    lab.spark.createDataFrame([("c", 3), ("c", 3)], "k string, v int").write.parquet(f"{lab.landing}/c.parquet")
    for left in (".d.parquet", "_e.parquet", "f.parquet.tmp", "g.parquet._COPYING_"):
        lab.text(left, "not yet")
    lab.text("empty.parquet", "")
    engine = lab.engine({"files": f"{lab.landing}/*", "format": "parquet", "poll": "5 min"})
    assert not engine.workflow.check()
    assert engine.plan().due == ("copy0",)  # without having looked at a file
    (block,) = engine.poll()
    assert (block.channel, block.kind, block.stamp, block.rows) == ("s0", "Δ⁺", START, 4)
    assert rows(engine) == Counter({("a", 1): 1, ("b", 2): 1, ("c", 3): 2})
    assert engine.poll() == []

    lab.put("h.parquet", [("d", 4)], "k string, v int")
    (lab.landing / "a [1].parquet").unlink()  # archived: it stays taken
    again = lab.engine({"files": f"{lab.landing}/*.parquet"})
    (second,) = again.poll("s0")
    assert (second.rows, second.stamp) == (1, START + 1)
    again.refresh()
    assert rows(again, "copy0") == Counter({("a", 1): 1, ("b", 2): 1, ("c", 3): 2, ("d", 4): 1})


def test_of_a_keyed_source_the_newest_file_wins_and_one_file_has_a_key_once(lab: Lab) -> None:
    engine = lab.engine({"schema": "k string, v int", "key": "k", "files": f"{lab.landing}/*.csv"})
    lab.text("later.csv", "v,k,_deleted\n2,a,\n,b,true\n", at=10)
    lab.text("earlier.csv", 'k,v\na,1\nb,1\n"c ""x""\nd",\n')
    (block,) = engine.poll()
    assert block.kind == "δ_replace(k)"
    engine.refresh()
    assert rows(engine, "copy0") == bag(("a", 2), ('c "x"\nd', None))
    lab.text("twice.csv", "k,v\nz,1\nz,2\n", at=20)
    with pytest.raises(ol.IngestError, match=r"s0: one wave has several rows of one key \(k\): {z, 1}; {z, 2}"):
        engine.poll()
    (lab.landing / "twice.csv").unlink()
    (base,) = engine.poll(anew=True)
    assert (base.kind, rows(engine)) == ("B", bag(("a", 2), ('c "x"\nd', None)))


MISFITS = {
    "a column is missing": ("k string", "parquet", [("a",)], "column 'v' is missing"),
    "a column is retyped": ("k string, v bigint", "orc", [("a", 1)], "column 'v' is bigint and not int"),
    "a field is not declared": ("k string, v int, w int", "json", [("a", 1, 2)], "column 'w' is not declared"),
    "a value does not fit": ("k string, v string", "json", [("a", "x")], "could not be read and written"),
    "a header is another": ("k string, w int", "csv", [("a", 1)], "'k' is missing"),
}


@pytest.mark.parametrize(("columns", "format", "data", "says"), MISFITS.values(), ids=MISFITS)
def test_a_file_that_does_not_fit_is_named_and_nothing_of_its_wave_arrives(
    lab: Lab, columns: str, format: str, data: list[Any], says: str
) -> None:
    engine = lab.engine({"schema": "k string, v int", "files": f"{lab.landing}/*.{format}"})
    if format != "csv":
        lab.put(f"good.{format}", [("a", 1)], "k string, v int", format)
    bad = lab.put(f"bad.{format}", data, columns, format)
    with pytest.raises(ol.IngestError) as caught:
        engine.poll()
    assert says in str(caught.value)
    assert bad.name in str(caught.value)
    assert engine.read("s0").count() == 0
    bad.unlink()
    assert len(engine.poll()) == (format != "csv")


def test_a_file_that_changed_after_it_was_taken_is_an_error_until_all_is_taken_anew(lab: Lab) -> None:
    engine = lab.engine({"schema": "k string, v int", "files": f"{lab.landing}/*.json"})
    lab.text("a.json", '{"k": "a", "v": 1}\n')
    lab.text("b.json", '{"k": "b"}\n')
    engine.poll()
    lab.text("a.json", '{"k": "a", "v": 22}\n', at=60)
    with pytest.raises(ol.IngestError, match="has changed since it was taken") as caught:
        engine.poll()
    assert caught.value.code == "CHANGED_FILE"
    assert f"{lab.landing}/a.json, which had 19 bytes of 2020-09-13 12:26:40.000+00:00" in str(caught.value)
    assert "engine.poll('s0', anew=True)" in str(caught.value)
    (base,) = engine.poll("s0", anew=True)
    assert base.kind == "B"
    assert rows(engine) == bag(("a", 22), ("b", None))
    assert engine.poll() == []


def test_of_two_who_poll_at_once_one_takes_it_and_who_dies_before_has_taken_nothing(lab: Lab) -> None:
    options = {"schema": "k string, v int", "files": f"{lab.landing}/*.parquet"}
    table = lab.table("t")
    lab.sql(f"INSERT INTO delta.`{table}` VALUES ('x', 1)")
    engines = [lab.engine(options, {"table": table}) for _ in range(2)]
    lab.put("a.parquet", [("a", 1)], "k string, v int")
    first = engines[0]
    with first._catalog.look() as db:
        known = taken.position(db, "followed", "s0")
    with first._sessions.lent() as session:  # written, and then killed before the catalog knew
        assert polling.look(first.store, session, "s0", known, first._digests["s0"]) is not None
    assert engines[1].store is not first.store
    made = at_once(lab.spark, *[lambda _, e=e: e.poll() for e in engines])
    assert sorted(b.channel for blocks in made for b in blocks) == ["s0", "s1"]
    assert (rows(first), rows(first, "s1")) == (bag(("a", 1)), bag(("x", 1)))


def test_sources_polled_together_arrive_together_and_one_that_fails_holds_back_no_other(lab: Lab) -> None:
    one, two = lab.table("one"), lab.table("two", feed=False)
    lab.put("a.parquet", [("a", 1)], "k string, v int")
    lab.sql(f"INSERT INTO delta.`{one}` VALUES ('x', 1)", f"INSERT INTO delta.`{two}` VALUES ('y', 1)")
    engine = lab.engine({"files": f"{lab.landing}/*.parquet"}, {"table": one}, {"table": two})
    with pytest.raises(ol.IngestError) as caught:
        engine.poll()
    assert caught.value.code == "NO_CHANGE_FEED"
    line = f"ALTER TABLE delta.`{two}` SET TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    assert line in str(caught.value)
    held = [engine.provenance(f"s{i}").to_dict()["pathways"][0]["snapshots"] for i in range(3)]
    assert held == [[START], [START], [0]]
    lab.sql(line)
    (late,) = engine.poll()
    assert (late.channel, late.kind, late.rows) == ("s2", "B", 1)


def test_a_table_is_taken_once_and_then_by_what_changed_in_its_rows(lab: Lab) -> None:
    path = lab.table("t")
    lab.sql(f"INSERT INTO delta.`{path}` VALUES ('a', 1), ('b', 2), ('b', 2)")
    engine = lab.engine({"table": path, "poll": "1 min"})
    (base,) = engine.poll()
    assert (base.kind, base.rows) == ("B", 3)
    engine.refresh()
    lab.sql(
        f"UPDATE delta.`{path}` SET v = 9 WHERE k = 'a'",
        f"UPDATE delta.`{path}` SET v = 3 WHERE k = 'a'",
        f"INSERT INTO delta.`{path}` VALUES ('c', 4), ('d', 5)",
        f"DELETE FROM delta.`{path}` WHERE k = 'd'",
    )
    (delta,) = engine.poll()
    assert (delta.kind, delta.rows) == ("Δ", 3), "what came and went, or changed twice, is netted"
    held = Counter(tuple(r) for r in engine.read("s0", delta.id).collect())
    assert held == {("a", 3): 1, ("b", 2): 2, ("c", 4): 1}
    engine.refresh()
    assert rows(engine, "copy0") == Counter({("a", 3): 1, ("b", 2): 2, ("c", 4): 1})

    lab.sql(f"OPTIMIZE delta.`{path}`", f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES (x = 'y')")
    assert engine.poll() == []
    lab.sql(f"INSERT INTO delta.`{path}` VALUES ('e', 6)")
    (added,) = lab.engine({"table": path}).poll()
    assert (added.kind, added.rows) == ("Δ⁺", 1)
    with pytest.raises(ol.IngestError, match=r"s0: follows table .*, and is what that is; write there, then poll"):
        engine.ingest("s0", lab.spark.table(f"delta.`{path}`"))


def test_a_table_whose_changes_are_gone_or_are_of_other_columns_is_taken_anew(lab: Lab) -> None:
    lab.sql(
        "DROP TABLE IF EXISTS gone",
        "CREATE TABLE gone (k string, v int) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)",
        "INSERT INTO gone VALUES ('a', 1)",
    )
    engine = lab.engine({"table": "gone", "key": "k"})
    engine.poll()
    lab.sql("UPDATE gone SET v = 2", "INSERT INTO gone VALUES ('b', 1)")
    where = Path(lab.spark.sql("DESCRIBE DETAIL gone").collect()[0]["location"].removeprefix("file:"))
    shutil.rmtree(where / "_change_data")  # what VACUUM does, later
    with pytest.raises(ol.IngestError, match="after version 1 cannot be read") as caught:
        engine.poll()
    assert caught.value.code == "CHANGES_GONE"
    (base,) = engine.poll("s0", anew=True)
    assert (base.kind, rows(engine)) == ("B", bag(("a", 2), ("b", 1)))

    lab.sql("ALTER TABLE gone ADD COLUMN w int", "INSERT INTO gone VALUES ('c', 1, 1)")
    with pytest.raises(ol.IngestError, match=r"'w' is not declared.* declare them, then take all there is now"):
        engine.poll()
    wider = lab.engine({"schema": "k string, v int, w int", "table": "gone", "key": "k"})
    with pytest.raises(ol.IngestError, match="declared otherwise than when it was last polled") as caught:
        wider.poll()
    assert caught.value.code == "REDECLARED"
    wider.poll(anew=True)
    wider.refresh()
    assert rows(wider, "copy0") == bag(("a", 2, None), ("b", 1, None), ("c", 1, 1))

    lab.sql(
        "DROP TABLE gone",
        "CREATE TABLE gone (k string, v int, w int) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)",
    )
    with pytest.raises(ol.IngestError, match="is not the one that was taken up to version") as caught:
        wider.poll()
    assert caught.value.code == "REPLACED_TABLE"
    lab.sql("DROP TABLE gone")
    with pytest.raises(ol.IngestError, match="s0: follows table gone, which cannot be read"):
        wider.poll()


def test_after_the_catalog_was_lost_polling_goes_on_where_it_was(lab: Lab) -> None:
    path = lab.table("t")
    lab.sql(f"INSERT INTO delta.`{path}` VALUES ('a', 1)")
    lab.put("1.parquet", [("x", 1)], "k string, v int")
    sources = {"table": path}, {"files": f"{lab.landing}/*.parquet", "key": "k"}
    engine = lab.engine(*sources)
    engine.poll()
    lab.sql(f"INSERT INTO delta.`{path}` VALUES ('b', 2)")
    engine.poll()
    engine.refresh()
    engine.close()

    (lab.home / "lake" / "catalog.db").unlink()
    lab.sql(f"INSERT INTO delta.`{path}` VALUES ('c', 3)", f"ALTER TABLE delta.`{path}` ADD COLUMN w int")
    again = lab.engine(*sources)
    again.recover()
    assert rows(again) == bag(("a", 1), ("b", 2)), "by the columns that were there when it was first looked at"
    with pytest.raises(ol.IngestError, match=r"'w' is not declared"):
        again.poll()
    lab.put("2.parquet", [("y", 2)], "k string, v int")
    (new,) = again.poll("s1")
    assert new.rows == 1, "the first file was taken before"
    again.refresh()
    assert rows(again, "copy1") == bag(("x", 1), ("y", 2))


def test_what_cannot_be_polled_is_said(lab: Lab) -> None:
    path = lab.table("t")
    engine = lab.engine({"schema": "k string, v int"}, {"files": f"{lab.landing}/*.parquet"})
    with pytest.raises(ol.UnknownNameError, match="followed source 's0': no such followed source"):
        engine.poll("s0")
    with pytest.raises(ol.SchemaError, match=r"s1: follows files .*, of which there is none yet to tell the columns"):
        engine.poll()
    inside = lab.engine({"schema": "k string, v int", "files": f"{path}/*.parquet"})
    lab.sql(f"INSERT INTO delta.`{path}` VALUES ('a', 1)")
    with pytest.raises(ol.IngestError, match="is a Delta table, whose files are not all data; follow it with table="):
        inside.poll()
