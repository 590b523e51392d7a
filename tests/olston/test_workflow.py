from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest

import olston as ol
from olston.definition import digests
from olston.errors import ConstraintError, OlstonError, OptionError, UnknownNameError, WorkflowError
from olston.workflow import Workflow


def search() -> Workflow:
    """The example of DESIGN 8."""
    wf = ol.Workflow("search")
    pages = wf.source("pages", "url string, site string, content string")
    clicks = wf.source("clicks", "user string, site string")
    digests = pages.map("digests", lambda df: df)
    scores = (
        clicks.distinct("pairs")
        .aggregate("counts", by="site", clicks=ol.count())
        .map("scores", lambda df: df, key="site")
    )
    wf.output(digests.join("output", scores, on="site"))
    return wf


def same(df: Any) -> Any:
    return df


def test_a_workflow_is_declared_as_the_design_shows() -> None:
    wf = search()
    wf.bound_staleness("output", 0, 0)
    wf.bound_staleness("scores", 0, "1 day")
    wf.bound_inconsistency("output", "1 week")
    assert wf.sources == ["pages", "clicks"]
    assert wf.public == ["pages", "clicks", "digests", "pairs", "counts", "scores", "output"]
    assert [p.name for p in wf.pathways("output")] == ["pages>digests", "clicks>pairs>counts>scores"]
    assert [(s.channel, s.pathway, s.bound) for s in wf.staleness] == [("output", 0, 0), ("scores", 0, 86_400_000_000)]
    assert [(s.channel, s.bound) for s in wf.inconsistency] == [("output", 604_800_000_000)]


def test_the_graph_leads_from_every_source_through_internal_channels_to_the_output() -> None:
    graph = search().graph
    assert nx.is_directed_acyclic_graph(graph)
    assert nx.ancestors(graph, "output") == {"pages", "clicks", "digests", "pairs#counts", "pairs", "counts", "scores"}
    assert nx.has_path(graph, "clicks", "pairs#counts")
    assert not graph.has_edge("clicks", "pairs")


def test_a_bound_is_declared_on_a_channel_or_its_name_alike() -> None:
    wf = search()
    wf.bound_staleness(wf.channel("output"), "pages>digests", 1)
    wf.bound_staleness("output", 1, 1)
    assert [s.pathway for s in wf.staleness] == [0, 1]


def foreign() -> Any:
    return ol.Workflow("other").source("pages")


BAD: dict[str, tuple[Callable[[Workflow], object], type[OlstonError], str]] = {
    "an unknown pathway by index": (lambda wf: wf.bound_staleness("output", 2, 0), UnknownNameError, "pathway 2"),
    "an unknown pathway by name": (
        lambda wf: wf.bound_staleness("output", "pages>digest", 0), UnknownNameError, "did you mean 'pages>digests'",
    ),
    "a bound on an unknown channel": (
        lambda wf: wf.bound_staleness("outptu", 0, 0), UnknownNameError, "did you mean 'output'",
    ),
    "an inconsistency bound on an unknown channel": (
        lambda wf: wf.bound_inconsistency("outptu", 0), UnknownNameError, "did you mean 'output'",
    ),
    "an output that is not there": (lambda wf: wf.output("score"), UnknownNameError, "did you mean 'scores'"),
    "a negative staleness bound": (lambda wf: wf.bound_staleness("output", 0, -1), ConstraintError, "negative"),
    "a negative inconsistency bound": (lambda wf: wf.bound_inconsistency("output", -0.5), ConstraintError, "negative"),
    "a staleness bound on an input channel": (
        lambda wf: wf.bound_staleness("pages", 0, 0), ConstraintError, "'pages' is an input channel",
    ),
    "an inconsistency bound on an input channel": (
        lambda wf: wf.bound_inconsistency("clicks", 0), ConstraintError, "'clicks' is an input channel",
    ),
    "an input channel as output": (lambda wf: wf.output("pages"), ConstraintError, "'pages' is an input channel"),
    "a bound on an internal channel by name": (
        lambda wf: wf.bound_staleness("pairs#counts", 0, 0), UnknownNameError, "did you mean",
    ),
    "a bound on an internal channel": (
        lambda wf: wf.bound_inconsistency(wf.channels["pairs#counts"], 0),
        ConstraintError, "internal to widget 'pairs'",
    ),
    "an internal channel as output": (
        lambda wf: wf.output(wf.channels["pairs#counts"]), ConstraintError, "internal to widget 'pairs'",
    ),
    "a read of an internal channel from outside": (
        lambda wf: wf.channels["pairs#counts"].map("m", same), WorkflowError, "internal to widget 'pairs'",
    ),
    "a bound declared twice": (
        lambda wf: (wf.bound_staleness("output", 0, 0), wf.bound_staleness("output", "pages>digests", 1)),  # type: ignore[func-returns-value]
        ConstraintError, "declared twice",
    ),
    "an inconsistency bound declared twice": (
        lambda wf: (wf.bound_inconsistency("output", 0), wf.bound_inconsistency("output", 1)),  # type: ignore[func-returns-value]
        ConstraintError, "declared twice",
    ),
    "two sources of one name": (lambda wf: wf.source("pages"), WorkflowError, "names are unique"),
    "two derived channels of one name": (
        lambda wf: wf.channel("pages").map("digests", same), WorkflowError, "names are unique",
    ),
    "a derived channel named as a source": (
        lambda wf: wf.channel("pages").map("clicks", same), WorkflowError, "names are unique",
    ),
    "a source named as a derived channel": (lambda wf: wf.source("digests"), WorkflowError, "names are unique"),
    "two outputs of a split of one name": (
        lambda wf: wf.channel("pages").split({"a": "x"}, rest="a"), WorkflowError, "names are unique",
    ),
    "a name with a blank": (lambda wf: wf.source("my pages"), WorkflowError, "no blanks"),
    "a name like a pathway": (lambda wf: wf.channel("pages").map("a>b", same), WorkflowError, "no '>'"),
    "an empty name": (lambda wf: wf.channel("pages").map("", same), WorkflowError, "not empty"),
    "a source named like an internal channel": (lambda wf: wf.source("a#1"), WorkflowError, "'#' is kept"),
    "a join with a channel of another workflow": (
        lambda wf: wf.channel("digests").join("j", foreign(), on="k"), WorkflowError, "belongs to workflow 'other'",
    ),
    "a union with a channel of another workflow": (
        lambda wf: wf.channel("digests").union("u", foreign()), WorkflowError, "belongs to workflow 'other'",
    ),
    "a batch job on a channel of another workflow": (
        lambda wf: wf.batch("b", [wf.channel("digests"), foreign()], same),
        WorkflowError, "belongs to workflow 'other'",
    ),
    "an output of another workflow": (
        lambda wf: wf.output(search().channel("output")), WorkflowError, "another workflow",
    ),
    "a bound on a channel of another workflow": (
        lambda wf: wf.bound_staleness(search().channel("output"), 0, 0), WorkflowError, "another workflow",
    ),
    "an input that is no channel": (
        lambda wf: wf.channel("digests").join("j", "scores", on="site"), WorkflowError, "'scores' is no channel",  # type: ignore[arg-type]
    ),
    "an unknown policy": (
        lambda wf: wf.channel("pages").map("m", same, policy="incremntal"),
        UnknownNameError, "did you mean 'incremental",
    ),
    "a batch job that may only be incremental": (
        lambda wf: wf.batch("b", [wf.channel("pages")], same, policy="incremental_strict"),
        WorkflowError, "[IMPOSSIBLE_POLICY] b: policy incremental_strict",
    ),
    "an unknown option": (lambda wf: wf.channel("pages").map("m", same, polcy="full"), OptionError, "policy"),
    "an unknown kind in a feed": (
        lambda wf: wf.output("digests", feed={"B", "D"}), UnknownNameError, "kind of block 'D': no such kind of block",
    ),
    "a weak kind that the channel does not have in a feed": (
        lambda wf: wf.output("counts", feed={"δ_increment(sit)"}), UnknownNameError, "did you mean 'δ_increment(site)'",
    ),
    "an output declared twice": (lambda wf: wf.output("output"), WorkflowError, "declared twice"),
    "a poll of no time": (lambda wf: wf.source("s", files="x/*.parquet", poll=0), WorkflowError, "every so often"),
    "an aggregate named like its group": (
        lambda wf: wf.channel("pages").aggregate("n", by="site", site=ol.count()), WorkflowError, "grouped by already",
    ),
    "a name with the planner's arrow": (lambda wf: wf.source("→output"), WorkflowError, "no '→'"),
    "a bound before nothing": (lambda wf: wf.bound_inconsistency("digests", "-1 day"), ConstraintError, "negative"),
    "a feed of nothing": (lambda wf: wf.output("digests", feed=set()), WorkflowError, "at least one kind"),
    "a join of an unknown sort": (
        lambda wf: wf.channel("digests").join("j", wf.channel("scores"), on="site", how="outer"),
        WorkflowError, "'inner' or 'left'",
    ),
    "a join without columns": (
        lambda wf: wf.channel("digests").join("j", wf.channel("scores"), on=[]), WorkflowError, "without columns",
    ),
    "a union of one": (lambda wf: wf.channel("digests").union("u"), WorkflowError, "two inputs or more"),
    "a split into one": (lambda wf: wf.channel("pages").split({"a": "x"}), WorkflowError, "use filter"),
    "a batch job of nothing": (lambda wf: wf.batch("b", [], same), WorkflowError, "at least one channel"),
    "an aggregate of nothing": (
        lambda wf: wf.channel("clicks").aggregate("n", by="site"), WorkflowError, "nothing to aggregate",
    ),
    "an aggregate that is none": (
        lambda wf: wf.channel("clicks").aggregate("n", by="site", clicks="count"),  # type: ignore[arg-type]
        WorkflowError, "ol.count()",
    ),
    "a source that follows two things": (
        lambda wf: wf.source("s", files="d/*.parquet", table="t"), WorkflowError, "not both",
    ),
    "a poll of nothing": (lambda wf: wf.source("s", poll="5 min"), WorkflowError, "files= or table="),
    "a poll that is no duration": (
        lambda wf: wf.source("s", files="d/*.parquet", poll="often"), WorkflowError, "s: poll='often': not a duration",
    ),
    "files of an unknown format": (
        lambda wf: wf.source("s", files="d/*", format="parqet"), UnknownNameError, "did you mean 'parquet'",
    ),
    "files whose name does not tell": (lambda wf: wf.source("s", files="d/*"), WorkflowError, "add format=, one of"),
    "a format of nothing": (lambda wf: wf.source("s", "k int", format="csv"), WorkflowError, "give files= too"),
    "a table of another format": (
        lambda wf: wf.source("s", table="t", format="csv"), WorkflowError, "leave format= out",
    ),
    "a table without a name": (lambda wf: wf.source("s", table=" "), WorkflowError, "names nothing to follow"),
    "text files without columns": (
        lambda wf: wf.source("s", files="d/*.csv"), WorkflowError, "csv files do not say of which types",
    ),
    "a key of no column": (lambda wf: wf.source("s", key=[]), WorkflowError, "a column or a list of different ones"),
    "a key that names a column twice": (lambda wf: wf.source("s", key=["a", "a"]), WorkflowError, "different ones"),
    "an order without a key": (lambda wf: wf.source("s", order="time"), WorkflowError, "give key= too"),
    "a weak representation given twice": (
        lambda wf: wf.weak_delta("counts", wf.channel("counts").weak[0]), WorkflowError, "already",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("act", "error", "says"), BAD.values(), ids=BAD)
def test_bad_input_is_refused_with_a_way_out(
    act: Callable[[Workflow], object], error: type[OlstonError], says: str
) -> None:
    with pytest.raises(error) as caught:
        act(search())
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"[{caught.value.code}] ")


CHANGING_NOTHING: dict[str, Callable[[Workflow], object]] = {
    "a split with a bad second name": lambda wf: wf.channel("pages").split({"fine": "x"}, rest="not fine"),
    "a split with a name twice": lambda wf: wf.channel("pages").split({"fine": "x"}, rest="fine"),
    "a distinct with a bad name": lambda wf: wf.channel("pages").distinct("a>b"),
    "a union with too many pathways": lambda wf: wf.channel("pages").union("u", *[wf.channel("pages")] * 300),
    "an impossible policy": lambda wf: wf.batch("b", [wf.channel("pages")], same, policy="incremental_strict"),
}


@pytest.mark.parametrize("act", CHANGING_NOTHING.values(), ids=CHANGING_NOTHING)
def test_a_widget_that_is_refused_leaves_the_workflow_as_it_was(act: Callable[[Workflow], object]) -> None:
    """So that the corrected line can be run again, as in a notebook."""
    wf = search()
    channels, widgets = list(wf.channels), list(wf.widgets)
    with pytest.raises(WorkflowError):
        act(wf)
    assert list(wf.channels) == channels
    assert list(wf.widgets) == widgets


def test_a_workflow_needs_a_name() -> None:
    with pytest.raises(WorkflowError, match="needs a name"):
        ol.Workflow("")


def test_a_keyed_source_takes_replacements_and_another_takes_none() -> None:
    wf = ol.Workflow("w")
    assert [w.kind for w in wf.source("a", key="url").weak] == ["δ_replace(url)"]
    assert [w.kind for w in wf.source("b", key=["x", "y"], order="time").weak] == ["δ_replace(x,y; time)"]
    assert wf.source("c").weak == ()


def test_a_published_table_takes_what_needs_no_hidden_columns_and_a_feed_what_was_asked() -> None:
    wf = search()
    wf.output("counts")
    wf.output("digests", feed=["B", "Δ"])
    assert wf.outputs["counts"].accepts == {"B", "Δ", "Δ⁺"}
    assert wf.outputs["digests"].accepts == {"B", "Δ"}
    assert wf.outputs["digests"].feed


def test_columns_of_a_source_may_be_given_as_spark_has_them() -> None:
    from pyspark.sql.types import ArrayType, DecimalType, LongType, StringType, StructField, StructType

    def of(schema: Any) -> ol.Workflow:
        wf = ol.Workflow("w")
        wf.source("rows", schema)
        return wf

    nested = StructType([StructField("a", LongType())])
    columns = StructType([StructField("k", StringType(), False), StructField("price in €", DecimalType(10, 2))])
    columns = columns.add("tags", ArrayType(nested))
    declared, written = of(columns), of("k string, `price in €` decimal(10, 2), tags array<struct<a: long>>")
    assert declared.channels["rows"].schema == "k string, `price in €` decimal(10,2), tags array<struct<a:bigint>>"
    assert digests(declared) == digests(written)
    with pytest.raises(WorkflowError, match="neither text, such as"):
        of(["k", "v"])


def test_a_followed_source_says_what_and_how_often() -> None:
    wf = ol.Workflow("w")
    wf.source("s", files="dir/*.parquet", poll="5 min")
    assert (wf.follows["s"].files, wf.follows["s"].poll) == ("dir/*.parquet", 300_000_000)
    wf.source("t", table="cat.db.t", poll=60)
    assert (wf.follows["t"].table, wf.follows["t"].poll) == ("cat.db.t", 60_000_000)


FORMATS = {
    "a/*.parquet": "parquet", "a/*.snappy.parquet": "parquet", "a/*.orc": "orc", "s3a://b/*/x-*.csv.gz": "csv",
    "a/*.JSON": "json", "a/{b,c}/*.jsonl": "json", "a/part-*.parquet/": "parquet",
}  # fmt: skip


@pytest.mark.parametrize(("files", "format"), FORMATS.items())
def test_the_suffix_of_files_tells_their_format(files: str, format: str) -> None:
    wf = ol.Workflow("w")
    wf.source("s", "k int", files=files)
    assert wf.follows["s"].format == format


def test_by_on_and_key_take_a_name_or_a_list() -> None:
    wf = ol.Workflow("w")
    a, b = wf.source("a", key="k"), wf.source("b", key=["k"])
    assert a.key == b.key == ("k",)
    assert a.aggregate("x", by="k", n=ol.count()).key == a.aggregate("y", by=["k"], n=ol.count()).key
    assert a.join("j", b, on="k").key == a.join("i", b, on=["k"]).key == ("k",)


def test_split_returns_its_channels_in_order_with_rest_last() -> None:
    made = ol.Workflow("w").source("s").split({"one": "x = 1", "two": "x = 2"}, rest="other")
    assert [c.name for c in made] == ["one", "two", "other"]


def test_a_table_holds_one_output() -> None:
    wf = ol.Workflow("w")
    pages = wf.source("pages", "url string")
    wf.output(pages.filter("some", "url > 'a'"), table="db.t")
    with pytest.raises(WorkflowError, match=r"output\(others\): table 'DB.T' is that of output 'some' too"):
        wf.output(pages.filter("others", "url > 'b'"), table="DB.T")


def test_a_consumer_of_deltas_alone_cannot_follow_what_has_a_row_before_anything_arrived() -> None:
    wf = ol.Workflow("w")
    total = wf.source("rows", "k int").aggregate("total", by=[], n=ol.count())
    twice = total.map("twice", lambda df: df)
    for channel in (total, twice):
        with pytest.raises(ol.WorkflowError, match=r"total has a row before anything has arrived.*accept B too"):
            wf.output(channel, feed={"Δ"})
    wf.output(twice, feed={"B", "Δ"})
