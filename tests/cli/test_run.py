"""The verbs that need Spark, on a project that `olston init` made."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from olston.cli import main
from tests.cli.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITH_UDF = """
import olston as ol
import rounding
from parts.signs import negative
from pyspark.sql import functions as F

MORE = 100

def rounded(amount):
    return negative(rounding.tens(amount) + MORE)

wf = ol.Workflow("shop")
orders = wf.source("orders", "id bigint, customer string, amount int", files="FILES")
wf.output(orders.map("rounded", lambda df: df.select(F.udf(rounded, "int")("amount").alias("rounded"))))
"""


@pytest.fixture
def demo(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Stage:
    """A new project; the session of the tests runs already, so the command line uses it."""
    with pytest.raises(SystemExit):
        main(["init", str(tmp_path / "demo")])
    workflow = tmp_path / "demo" / "workflow.py"  # the JVM began elsewhere, so paths must be whole here
    workflow.write_text(workflow.read_text().replace('files="', f'files="{tmp_path}/demo/'))
    return Stage(tmp_path / "demo", capsys)


def totals(stage: Stage, *options: str) -> dict[str, tuple[int, int]]:
    rows = csv.DictReader(io.StringIO(stage.run("read", "totals", "--format", "csv", *options).out))
    return {row["country"]: (int(row["orders"]), int(row["amount"])) for row in rows}


def test_run_takes_what_is_new_and_does_what_is_due_twice_in_a_row(demo: Stage) -> None:
    first = demo.run("run")
    assert first.code == 0, first.err
    assert "orders: 40 rows arrived" in first.out
    assert "begins" in first.err
    assert totals(demo) == {"FR": (1, 30), "US": (1, 5), "TR": (1, 12)}
    again = demo.run("run")
    assert (again.code, again.out) == (0, "nothing was due\n")
    shutil.copy(demo.folder / "later" / "orders-2.csv", demo.folder / "data" / "orders" / "2.csv")
    told = demo.json("run")
    assert [(w["channel"], w["rows"]) for w in told["arrived"]] == [("orders", 2)]
    assert told["runs"][0]["steps"]
    assert totals(demo) == {"FR": (2, 50), "US": (2, 12), "TR": (1, 12)}
    assert demo.run("status", "--fail-if-stale").code == 0
    assert demo.run("history").out.count("→ totals") == 2


def test_functions_of_the_workflows_file_and_of_modules_beside_it_work_on_the_workers(demo: Stage) -> None:
    (demo.folder / "rounding.py").write_text("def tens(x):\n    return x // 10 * 10\n")
    (demo.folder / "parts").mkdir()
    (demo.folder / "parts" / "signs.py").write_text("def negative(x):\n    return -x\n")
    (demo.folder / "workflow.py").write_text(WITH_UDF.replace("FILES", str(demo.folder / "data" / "orders" / "*.csv")))
    told = demo.run("run")
    assert told.code == 0, told.err
    assert sorted(row["rounded"] for row in demo.json("read", "rounded", "--limit", "0"))[:2] == [-130, -110]


def test_a_function_that_fails_on_its_columns_is_told_with_its_line_and_stays_in_the_status(demo: Stage) -> None:
    """Also though no step was begun: nothing could be planned."""
    file = demo.folder / "workflow.py"
    good = file.read_text()
    file.write_text(
        good.replace('orders.filter("paid", "amount > 0")', 'orders.map("paid", lambda df: df.where(1 / 0))')
    )
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "1 / 0" in text)
    told = demo.run("run")
    assert told.code == 2
    assert "[BAD_SCHEMA] paid: fails on rows of struct<id:bigint,customer:string,amount:int>: ZeroDivision" in told.err
    assert f"It was raised at {file}:{line}, in <lambda>; correct it there, and run again" in told.err
    assert "failed: totals: paid: fails on rows" in demo.run("status").out
    file.write_text(good)
    assert demo.run("run").code == 0
    assert "failed" not in demo.run("status").out


@pytest.mark.long
def test_outputs_are_named_to_be_brought_up_to_date_or_computed_anew(demo: Stage) -> None:
    demo.run("run")
    told = demo.json("run", "--full-refresh", "totals")
    assert any("totals.batch" in s["step"] for s in told["runs"][0]["steps"])
    assert demo.json("run", "--select", "totals", "--no-poll") == {
        "arrived": [],
        "runs": [{"plans": 0, "steps": [], "delivered": {}}],
    }
    assert demo.run("run", "--select", "total").code == 2


@pytest.mark.long
def test_files_arrive_and_are_read_as_they_were_then(demo: Stage, tmp_path: Path) -> None:
    demo.run("run")
    before = demo.json("provenance", "totals")["pathways"][1]["snapshots"][-1]
    moved = tmp_path / "moved.jsonl"
    moved.write_text('{"customer": "bob", "country": "FR"}\n')
    told = demo.json("ingest", "customers", str(moved))
    assert (told["channel"], told["rows"]) == ("customers", 1)
    extra = tmp_path / "extra.csv"
    extra.write_text("id,customer,amount,_weight\n1,ann,30,-1\n7,ann,8,1\n")
    assert demo.json("ingest", "orders", str(extra), "--kind", "delta")["rows"] == 2
    assert demo.run("run", "--select", "totals").code == 0
    assert totals(demo) == {"FR": (2, 13), "TR": (1, 12)}
    held_before = demo.json("history")["steps"][-1]["started_at"]
    assert held_before > before
    rows = demo.json("read", "orders", "--limit", "0")
    assert {"id": 7, "customer": "ann", "amount": 8} in rows
    assert len(demo.json("read", "orders", "--limit", "2")) == 2
    assert "customer" in demo.run("read", "customers").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["totals", "a.csv"], "is no source"),
        (["orders", "nowhere.csv"], "nowhere.csv: no such file"),
        (["orders", "odd.csv"], "SCHEMA_DRIFT"),
        (["orders", "odd.bin"], "format"),
        (["orders", "odd.csv", "--kind", "replac"], "replace"),
        (["ordrs", "odd.csv"], "did you mean 'orders'?"),
    ],
)
def test_what_cannot_arrive_is_refused(
    demo: Stage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.csv").write_text("id,who\n1,ann\n")
    (tmp_path / "odd.bin").write_text("x")
    told = demo.run("ingest", *arguments)
    assert told.code == 2
    assert message in told.err
    assert told.out == ""


@pytest.mark.long
def test_a_row_is_traced_to_the_snapshots_it_may_come_from(demo: Stage) -> None:
    demo.run("run")
    shutil.copy(demo.folder / "later" / "orders-2.csv", demo.folder / "data" / "orders" / "2.csv")
    demo.run("run")
    told = demo.json("provenance", "totals", "--where", "country = 'US'")
    (row,) = told["rows"]
    assert row["row"] == {"country": "US", "orders": 2, "amount": 12}
    assert [p["name"] for p in row["pathways"]] == ["orders>paid>located", "customers>located"]
    assert "may come from" in demo.run("provenance", "totals", "--where", "country = 'TR'").out
    assert "has no row where" in demo.run("provenance", "totals", "--where", "country = 'XX'").out
    wrong = demo.run("provenance", "totals", "--where", "contry = 'US'")
    assert wrong.code == 2
    assert "country, orders, amount" in wrong.err


@pytest.mark.long
def test_tidying_up_and_rebuilding(demo: Stage) -> None:
    demo.run("run")
    found = demo.json("vacuum", "--older-than", "0 s", "--dry-run")
    assert found["dry_run"] is True
    assert demo.run("vacuum", "--older-than", "0 s").code == 0
    assert demo.run("vacuum", "--older-than", "soon").code == 2
    assert "NOTHING_LOST" in demo.run("recover").err
    for file in (demo.folder / "lake").glob("catalog.db*"):
        file.unlink()
    told = demo.json("recover")
    assert told["arrivals"] == {"orders": 1, "customers": 1}
    assert told["deliveries"] == {"totals": 1}
    assert "recovered from" in demo.run("recover", "--force").out
    assert totals(demo) == {"FR": (1, 30), "US": (1, 5), "TR": (1, 12)}


@pytest.mark.long
def test_a_new_project_runs_twice_as_a_program(tmp_path: Path) -> None:
    def olston(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "olston", *arguments]
        return subprocess.run(command, cwd=cwd, env=dict(os.environ), capture_output=True, text=True, check=False)

    assert olston("init", "demo", cwd=tmp_path).returncode == 0
    first = olston("run", cwd=tmp_path / "demo")
    assert first.returncode == 0, first.stderr
    assert "→ totals" in first.stdout
    assert olston("run", cwd=tmp_path / "demo").stdout == "nothing was due\n"
    rows = json.loads(olston("read", "totals", "--json", cwd=tmp_path / "demo").stdout)
    assert {r["country"]: r["amount"] for r in rows} == {"FR": 30, "US": 5, "TR": 12}
