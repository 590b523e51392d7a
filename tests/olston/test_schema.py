"""The columns of every channel, found without running anything."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

import olston as ol
from olston.errors import SchemaError, WorkflowError
from olston.schema import Schemas, nullable, resolve
from tests.lake import jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = "url string, site string, size int"


def stored(schemas: Schemas, channel: str) -> str:
    return schemas.stored[channel].simpleString()


def public(schemas: Schemas, channel: str) -> str:
    return schemas.public(channel).simpleString()


def test_every_widget_says_its_columns_and_no_job_is_run(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    wf = ol.Workflow("w")
    pages = wf.source("pages", PAGES)
    sites = wf.source("sites", "site string, rank double", key="site")
    big, small = pages.split({"big": "size > 9"}, rest="small")
    big.union("all", small).distinct("once").aggregate("per", by="site", n=ol.count(), mean=ol.avg("size"))
    pages.aggregate("total", by=[], n=ol.count(), sum=ol.sum("size"))
    pages.map("upper", lambda df: df.select(F.upper("url").alias("u.p"))).filter("some", "`u.p` > 'A'")
    pages.join("ranked", sites, on="site", how="left")
    wf.batch("top", [pages, sites], lambda p, s: p.crossJoin(s.select("rank")).limit(3))
    before = jobs(spark)
    found = resolve(spark, wf)
    assert jobs(spark) == before
    assert {c: public(found, c) for c in wf.channels} == {
        "pages": "struct<url:string,site:string,size:int>",
        "sites": "struct<site:string,rank:double>",
        "big": "struct<url:string,site:string,size:int>",
        "small": "struct<url:string,site:string,size:int>",
        "all": "struct<url:string,site:string,size:int>",
        "once#counts": "struct<url:string,site:string,size:int>",
        "once": "struct<url:string,site:string,size:int>",
        "per#sums": "struct<site:string,n:bigint>",
        "per": "struct<site:string,n:bigint,mean:double>",
        "total": "struct<n:bigint,sum:bigint>",
        "upper": "struct<u.p:string>",
        "some": "struct<u.p:string>",
        "ranked": "struct<site:string,url:string,size:int,rank:double>",
        "top": "struct<url:string,site:string,size:int,rank:double>",
    }
    assert stored(found, "once#counts") == "struct<url:string,site:string,size:int,__rows:bigint>"
    assert stored(found, "total") == "struct<n:bigint,__n_sum:bigint,sum:bigint,__rows:bigint>"
    assert not found.drifting


def test_rows_carry_when_they_arrived_only_where_extract_asks(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    pages, other = wf.source("pages", PAGES), wf.source("other", PAGES)
    pages.filter("big", "size > 9").extract("newest", lambda df: df.select("url", "size"), key="url")
    pages.union("both", other)
    found = resolve(spark, wf)
    assert {c for c in wf.channels if "__arrival" in found.stored[c].names} == {"pages", "big"}
    assert "__arrival" not in found.public("pages").names


def test_a_keyed_source_with_an_order_keeps_its_tombstones(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    wf.source("pages", PAGES, key="url", order="size")
    assert stored(resolve(spark, wf), "pages") == "struct<url:string,site:string,size:int,_deleted:boolean>"


def test_aggregates_whose_sums_would_drift_are_named(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    rows = wf.source("rows", "k string, d double, n int, m decimal(30,2)")
    rows.aggregate("doubles", by="k", x=ol.sum("d"))
    rows.aggregate("integers", by="k", x=ol.sum("n"), y=ol.var("n"))
    rows.aggregate("wide", by="k", x=ol.avg("m"))
    assert resolve(spark, wf).drifting == {"doubles", "wide"}


def test_maps_that_may_give_their_key_other_values_are_named(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    pages = wf.source("pages", PAGES, key="url")
    pages.map(
        "passed", lambda df: df.selectExpr("url AS address", "size + 1 AS n").selectExpr("address AS url"), key="url"
    )
    pages.map("computed", lambda df: df.selectExpr("lower(url) AS url"), key="url")
    pages.map("another", lambda df: df.selectExpr("site AS url"), key="url")
    pages.map("by_python", lambda df: df.mapInPandas(lambda parts: parts, PAGES), key="url")
    pages.map("without", lambda df: df.selectExpr("lower(url) AS url"))
    assert resolve(spark, wf).drifting == {"computed", "another", "by_python"}


def test_what_may_be_null_is_data_and_not_type(spark: SparkSession) -> None:
    from pyspark.sql.types import StructType

    kind = StructType.fromDDL("a int not null, b array<struct<c: int not null>> not null")
    assert nullable(kind) == StructType.fromDDL("a int, b array<struct<c: int>>")


@pytest.mark.parametrize(
    ("columns", "fault"),
    [
        ("no columns at all !", "columns 'no columns at all !' cannot be read"),
        ("", "has no columns"),
        ("a int, A int", "column 'A' twice; names are told apart without regard to case"),
        ("_weight int", "'_weight' is kept for olston; choose another name"),
        ("_deleted boolean", "'_deleted' is kept for olston"),
        ("__mine int", "'__mine' is kept for olston"),
        ("`*` int", "'*' is kept for olston"),  # as a key it would be all columns
        ("`my column` int", "'my column' cannot be stored under its name; choose one without blanks"),
        ("a map<string,int>", "is of type map<string,int>, which Spark cannot compare"),
        ("a array<struct<b: map<string,int>>>", "which Spark cannot compare"),
        ("a variant", "which Spark cannot compare"),
        ("a interval day to second", "which Delta cannot store; cast it"),
        ("a time", "which Delta cannot store"),
        ("a varchar(3)", "which Delta cannot store"),
        ("a struct<`b c`: int>", "which Delta cannot store"),
        ("a struct<b: int, B: int>", "which Delta cannot store"),
        ("a string collate UTF8_LCASE", "in which texts that differ count as equal"),
        ("a array<struct<b: string collate UNICODE_CI>>", "in which texts that differ count as equal"),
        ("a geometry(0)", "which Delta cannot store"),
    ],
)
def test_columns_that_cannot_be_kept_are_refused_with_the_name_of_the_source(
    spark: SparkSession, columns: str, fault: str
) -> None:
    wf = ol.Workflow("w")
    wf.source("odd", columns)
    with pytest.raises(SchemaError, match="odd: ") as raised:
        resolve(spark, wf)
    assert fault in str(raised.value)


def test_a_source_without_columns_is_told_how_to_declare_them(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    wf.source("pages")
    with pytest.raises(SchemaError, match=r"declare them, as in wf\.source\('pages', 'url string'\)"):
        resolve(spark, wf)


def test_a_key_that_is_no_column_is_refused(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    wf.source("pages", PAGES, key="uri")
    with pytest.raises(SchemaError, match=r"pages: key or order 'uri' is no column of it: struct<url:string"):
        resolve(spark, wf)


Placing = Callable[[ol.Channel, ol.Channel], Any]

FAULTS: dict[str, tuple[Placing, str]] = {
    "a function that fails": (
        lambda pages, sites: pages.map("out", lambda df: df.select("uri")),
        "out: fails on rows of struct<url:string,site:string,size:int>: ",
    ),
    "a function that is no function of DataFrames": (
        lambda pages, sites: pages.map("out", lambda df: 1 / 0),
        "out: fails on rows of struct<url:string,site:string,size:int>: ZeroDivisionError: division by zero.",
    ),
    "a function that does not return a DataFrame": (
        lambda pages, sites: pages.map("out", lambda df: None),
        "out: its function returns None, and not a DataFrame",
    ),
    "a reserved column out of a function": (
        lambda pages, sites: pages.map("out", lambda df: df.withColumnRenamed("url", "_deleted")),
        "out: column '_deleted' is kept for olston",
    ),
    "a reserved column of an aggregate": (
        lambda pages, sites: pages.aggregate("out", by="site", __rows=ol.count()),
        "out: column '__rows' is kept for olston",
    ),
    "a column of nothing but nulls": (
        lambda pages, sites: pages.map("out", lambda df: df.selectExpr("url", "null AS x")),
        "out: column 'x' is of type void, which Delta cannot store; cast it",
    ),
    "an unknown column in a condition": (
        lambda pages, sites: pages.filter("out", "uri = 'x'"),
        "out: fails on rows of struct<url:string,site:string,size:int>: ",
    ),
    "an unknown column to group by": (
        lambda pages, sites: pages.aggregate("out", by="sight", n=ol.count()),
        "out: fails on rows of ",
    ),
    "a join on what one side does not have": (
        lambda pages, sites: pages.join("out", sites, on="url"),
        "out: joins on 'url', which its right does not have: ['site', 'size']",
    ),
    "a join of sides that share a column": (
        lambda pages, sites: pages.join("out", sites, on="site"),
        "out: both sides have size, and only columns of on= may be shared; rename or drop them in a map",
    ),
    "text joined with numbers": (
        lambda pages, sites: pages.join(
            "out", sites.map("codes", lambda df: df.selectExpr("string(size) AS size")), on="size"
        ),
        "out: joins on 'size', which is int on its left and string on its right; cast one of them in a map",
    ),
    "great numbers joined with doubles": (
        lambda pages, sites: pages.map("great", lambda df: df.selectExpr("bigint(size) AS size", "url")).join(
            "out", sites.map("codes", lambda df: df.selectExpr("double(size) AS size")), on="size"
        ),
        "out: joins on 'size', which is bigint on its left and double on its right; cast one of them in a map",
    ),
    "text under a collation that a function makes": (
        lambda pages, sites: pages.map("out", lambda df: df.selectExpr("url collate utf8_lcase AS url")),
        "out: column 'url' is of type string collate UTF8_LCASE, in which texts that differ count as equal",
    ),
    "a key that the function drops": (
        lambda pages, sites: pages.map("out", lambda df: df.select("site"), key="url"),
        "out: key names 'url', and its columns are struct<site:string>; name one of them",
    ),
    "a key that the function spells otherwise": (
        lambda pages, sites: pages.map("out", lambda df: df.selectExpr("url AS URL"), key="url"),
        "out: key names 'url', and its columns are struct<URL:string>; name one of them, spelt as it is there",
    ),
    "extract by an order that is no column": (
        lambda pages, sites: pages.extract("out", lambda df: df, key="url", order_by="Size"),
        "out: order_by names 'Size', and its columns are ",
    ),
    "an output clustered by what is no column": (
        lambda pages, sites: pages.workflow.output(pages.filter("out", "true"), cluster_by=["site", "sight"]),
        "out: cluster_by names 'sight', and its columns are ",
    ),
    "an output clustered by what Delta does not order": (
        lambda pages, sites: pages.workflow.output(
            pages.map("out", lambda df: df.selectExpr("array(size) AS sizes")), cluster_by="sizes"
        ),
        "out: cluster_by names 'sizes', which is array<int>, and Delta clusters by numbers, texts, dates and times",
    ),
    "an output clustered twice by a column": (
        lambda pages, sites: pages.workflow.output(pages.filter("out", "true"), cluster_by=["site", "site"]),
        "out: cluster_by names site, site, and Delta takes up to 4 columns, each once; leave some out.",
    ),
    "a union of different columns": (lambda pages, sites: pages.union("out", sites), "out: fails on rows of "),
    "extract that loses its key": (
        lambda pages, sites: pages.extract("out", lambda df: df.select("site"), key="url"),
        "out: the function drops the key column 'url', by which new rows supersede old ones; keep it",
    ),
    "extract that gives its key other values": (
        lambda pages, sites: pages.extract("out", lambda df: df.selectExpr("lower(url) AS url", "site"), key="url"),
        "out: the function gives the key column 'url' other values than its rows have, and new rows supersede old ones",
    ),
}


@pytest.mark.parametrize(("placing", "fault"), FAULTS.values(), ids=FAULTS)
def test_what_does_not_fit_is_found_with_the_name_of_its_widget(
    spark: SparkSession, placing: Placing, fault: str
) -> None:
    wf = ol.Workflow("w")
    placing(wf.source("pages", PAGES), wf.source("sites", "site string, size int"))
    with pytest.raises(SchemaError) as raised:
        resolve(spark, wf)
    assert fault in str(raised.value)
    assert f"It is declared at {__file__}:" in str(raised.value)


def test_the_error_of_a_function_is_kept_as_the_cause(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    wf.source("pages", PAGES).map("out", lambda df: 1 / 0)
    with pytest.raises(SchemaError) as raised:
        resolve(spark, wf)
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


def test_a_strict_sum_of_all_doubles_is_refused_once_the_types_are_known(spark: SparkSession) -> None:
    wf = ol.Workflow("w")
    wf.source("s", "v double").aggregate("out", by=[], x=ol.sum("v"), policy="incremental_strict")
    with pytest.raises(WorkflowError, match=r"\[IMPOSSIBLE_POLICY\] out: .*could only recompute"):
        resolve(spark, wf)


@pytest.mark.parametrize("example", ["search_preprocessing", "crawl_selection", "feedback_prioritization"])
def test_the_functions_of_the_examples_fit_their_columns(spark: SparkSession, example: str) -> None:
    workflow = importlib.import_module(f"olston.examples.{example}.workflow").wf
    assert set(resolve(spark, workflow).stored) == set(workflow.channels)
