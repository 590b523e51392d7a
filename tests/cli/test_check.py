"""`olston check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.stage import WORKFLOW, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_what_is_odd_is_told(stage: Stage) -> None:
    found = stage.json("check", "--no-spark")
    assert found["sources"] == ["orders", "customers"]
    assert found["outputs"] == ["totals", "located"]
    assert found["columns"] is None
    assert len(found["remarks"]) == 1
    assert "'located' has no staleness bound" in found["remarks"][0]
    assert "odd: output 'located'" in stage.run("check", "--no-spark").out
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace("wf.output(located)", ""))
    told = stage.run("check", "--no-spark").out
    assert "its promises can be kept" in told
    assert "columns" not in told


def test_promises_that_no_plan_can_keep_have_an_exit_code_of_their_own(stage: Stage) -> None:
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace("wf.output(totals)", 'wf.output(totals, feed={"Δ⁺"})'))
    told = stage.run("check", "--json")
    assert told.code == 3
    assert told.json["error"]["code"] == "INFEASIBLE_BOUNDS"
    assert "'totals'" in told.err


def test_a_fault_in_the_workflow_is_told_with_its_line(stage: Stage) -> None:
    (stage.folder / "workflow.py").write_text("import olston as ol\n1 / 0\n")
    told = stage.run("check")
    assert told.code == 2
    assert "workflow.py:2: ZeroDivisionError" in told.err
    assert "Traceback" not in told.err


@pytest.mark.usefixtures("spark")
def test_the_columns_of_every_channel_are_found_and_nothing_is_written(stage: Stage) -> None:
    found = stage.json("check")
    assert found["columns"]["totals"] == {"country": "string", "orders": "bigint", "amount": "bigint"}
    assert set(found["columns"]) == {"orders", "customers", "paid", "located", "totals"}
    told = stage.run("check").out
    assert "its columns fit\n  totals: country string, orders bigint, amount bigint\n  located: customer" in told
    assert not (stage.folder / "lake").exists()


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('orders.filter("paid", "amount > 0")', 'orders.map("paid", lambda df: df.select("id", "custome"))',
         ("[BAD_SCHEMA] paid: fails on rows of struct<id:bigint,customer:string,amount:int>: ", "`custome` cannot be",
          "workflow.py:7, in <lambda>")),
        ('orders.filter("paid", "amount > 0")', 'orders.filter("paid", "amout > 0")',
         ("paid: fails on rows of struct<id:bigint,customer:string,amount:int>: ",
          "[`amount`, `id`, `customer`]. Correct what paid is given", "It is declared at FILE:7.")),
        ('orders.filter("paid", "amount > 0")', 'orders.split({"paid": "amout > 0"}, rest="free")[0]',
         ("split(paid,free): fails on rows of struct<", "[`amount`, `id`, `customer`]", "It is declared at FILE:7.")),
        ('on="customer"', 'on="id"',
         ("located: joins on 'id', which its right does not have: ['customer', 'country']. It is declared at FILE:7.",
          )),
        ('on="customer"', 'on="custmer"',
         ("joins on 'custmer', which its left does not have: ['id', 'customer', 'amount']; did you mean 'customer'? "
          "It is declared at FILE:7.",)),
        ('by="country"', 'by="land"',
         ("totals: ", "`land` cannot be resolved", "country:string", "It is declared at FILE:8.")),
        ('ol.sum("amount")', 'ol.sum("amout")', ("totals: ", "[`amount`, ", "It is declared at FILE:8.")),
        ('ol.sum("amount")', 'ol.agg("max(amout)")', ("totals: ", "[`amount`, ", "It is declared at FILE:8.")),
        ('key="customer"', 'key="customers"',
         ("customers: key or order 'customers' is no column of it: struct<customer:string,country:string>; did you "
          "mean 'customer'? It is declared at FILE:6.",)),
        ('orders.filter("paid", "amount > 0")', 'orders.map("paid", lambda df: df, key="ids")',
         ("paid: key names 'ids', and its columns are struct<id:", "did you mean 'id'? It is declared at FILE:7.")),
        ('orders.filter("paid", "amount > 0")',
         'orders.extract("paid", lambda df: df, key="id", order_by="amout")',
         ("paid: order_by names 'amout', and its columns are struct<id:bigint,customer:string,amount:int>; name one of",
          "did you mean 'amount'? It is declared at FILE:7.")),
        ("amount int", "amount integr", ('orders: columns ', '"INTEGR"', "It is declared at FILE:5.")),
        ("wf.output(totals)", 'wf.output(totals, cluster_by=["countri"])',
         ("totals: cluster_by names 'countri'", "did you mean 'country' or 'amount'? It is declared at FILE:9.")),
    ],
    ids=["map", "filter", "split", "join", "on", "by", "sum", "agg", "key", "key of map", "order_by", "columns",
         "cluster_by"],
)  # fmt: skip
def test_columns_that_are_not_there_are_errors(stage: Stage, right: str, wrong: str, said: tuple[str, ...]) -> None:
    assert right in WORKFLOW
    file = stage.folder / "workflow.py"
    file.write_text(WORKFLOW.replace(right, wrong))
    told = stage.run("check")
    assert told.code == 2
    for part in said:
        assert part.replace("FILE", str(file)) in told.err
    assert "Traceback" not in told.err
    assert stage.run("check", "--json").json["error"]["code"] == "BAD_SCHEMA"


@pytest.mark.usefixtures("spark")
def test_all_that_is_wrong_is_told_at_once(stage: Stage) -> None:
    wrong = 'orders.filter("few", "amout > 0")\norders.filter("many", "nothing > 0")\nwf.output(totals)'
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace("wf.output(totals)", wrong))
    told = stage.run("check")
    assert told.code == 2
    first, also = told.err.splitlines()
    assert first.startswith("error: [BAD_SCHEMA] few: ")
    assert also.startswith("  also: [BAD_SCHEMA] many: ")


def test_sources_without_declared_columns_have_those_that_lie_there(stage: Stage, spark: SparkSession) -> None:
    files = f'files="{stage.folder}/data/*.parquet"'  # in full: this Java was started elsewhere
    (stage.folder / "workflow.py").write_text(WORKFLOW.replace('"id bigint, customer string, amount int"', files))
    told = stage.run("check")
    assert told.code == 2
    assert "data/*.parquet, of which there is none yet to tell the columns" in told.err
    rows = spark.createDataFrame([(1, "ann", 3)], "id bigint, customer string, amount int")
    rows.write.parquet(str(stage.folder / "data"))
    assert stage.json("check")["columns"]["orders"] == {"id": "bigint", "customer": "string", "amount": "int"}
