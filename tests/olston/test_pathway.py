from __future__ import annotations

import pytest

import olston as ol
from olston.errors import UnknownNameError, WorkflowError
from olston.pathway import LIMIT


def names(channel: ol.Channel) -> list[str]:
    return [p.name for p in channel.pathways]


def test_a_source_has_one_pathway_with_its_own_name() -> None:
    pages = ol.Workflow("w").source("pages")
    assert [(p.index, p.name, p.input) for p in pages.pathways] == [(0, "pages", "pages")]


def test_a_name_lists_the_channels_from_the_input_up_to_not_including_the_channel_itself() -> None:
    pages = ol.Workflow("w").source("pages")
    digests = pages.map("digests", lambda df: df)
    assert names(digests) == ["pages"]
    assert names(digests.filter("long", "n > 1")) == ["pages>digests"]


def test_the_pathways_of_the_first_input_come_first_then_those_of_the_second() -> None:
    wf = ol.Workflow("w")
    a, b = wf.source("a"), wf.source("b")
    ab = a.join("ab", b, on="k")
    out = b.map("m", lambda df: df).join("out", ab, on="k")
    assert names(out) == ["b>m", "a>ab", "b>ab"]
    assert [p.input for p in out.pathways] == ["b", "a", "b"]
    assert [p.index for p in out.pathways] == [0, 1, 2]


def test_a_channel_used_twice_gives_its_pathways_twice_and_repeated_names_are_numbered() -> None:
    a = ol.Workflow("w").source("a")
    assert names(a.join("twice", a, on="k")) == ["a#0", "a#1"]
    m = a.map("m", lambda df: df)
    assert names(m.union("both", m, a)) == ["a>m#0", "a>m#1", "a"]


def test_numbers_are_given_anew_at_each_channel_and_stay_unique_further_down() -> None:
    a = ol.Workflow("w").source("a")
    twice = a.union("twice", a)
    assert names(twice.map("m", lambda df: df)) == ["a>twice#0", "a>twice#1"]


def test_an_n_ary_union_adds_no_name() -> None:
    wf = ol.Workflow("w")
    a, b, c, d = (wf.source(n) for n in "abcd")
    union = a.union("all", b, c, d)
    assert names(union) == ["a", "b", "c", "d"]
    assert names(union.map("m", lambda df: df)) == ["a>all", "b>all", "c>all", "d>all"]


def test_internal_channels_add_no_name() -> None:
    a = ol.Workflow("w").source("a")
    assert names(a.distinct("d").map("m", lambda df: df)) == ["a>d"]
    assert names(a.aggregate("means", by="k", x=ol.avg("v")).map("n", lambda df: df)) == ["a>means"]


def test_internal_channels_have_the_pathways_of_what_they_are_computed_from() -> None:
    wf = ol.Workflow("w")
    a, b, c = (wf.source(n) for n in "abc")
    a.union("all", b, c).distinct("d")
    assert [p.input for p in wf.channels["all#1"].pathways] == ["a", "b"]
    assert [p.input for p in wf.channels["d#counts"].pathways] == ["a", "b", "c"]
    assert [p.input for p in wf.channels["d"].pathways] == ["a", "b", "c"]


def test_the_variants_of_a_join_are_no_separate_pathways() -> None:
    wf = ol.Workflow("w")
    a, b = wf.source("a", key="k"), wf.source("b", key="k")
    assert len(a.join("j", b, on="k").pathways) == 2


def test_the_crawl_example_has_the_six_pathways_of_figure_7() -> None:
    from olston.examples.crawl_selection.workflow import output

    assert names(output) == [
        "fetches>successful_fetches>top_unfetched",
        "fetches>links>indegrees>top_unfetched",
        "fetches>successful_fetches>periodic_recrawl",
        "fetches>links>indegrees>periodic_recrawl",
        "fetches>content_digests>adaptive_recrawl",
        "fetches>links>indegrees>adaptive_recrawl",
    ]


def test_a_bound_may_name_a_pathway_by_index_or_by_name() -> None:
    wf = ol.Workflow("w")
    a = wf.source("a")
    by_index, by_name = a.join("x", a, on="k"), a.join("y", a, on="k")
    wf.bound_staleness(by_index, 1, 5)
    wf.bound_staleness(by_name, "a#1", 5)
    assert [(s.pathway, s.bound) for s in wf.staleness] == [(1, 5_000_000), (1, 5_000_000)]


@pytest.mark.parametrize("which", [2, -1, "a", "a#2", "j", True, ""])
def test_an_unknown_pathway_is_refused_with_all_pathways_listed(which: int | str) -> None:
    wf = ol.Workflow("w")
    a = wf.source("a")
    j = a.join("j", a, on="k")
    with pytest.raises(UnknownNameError, match=r"channel 'j'.*Its pathways are 0: a#0; 1: a#1"):
        wf.bound_staleness(j, which, 0)
    assert wf.staleness == []


def test_a_misspelt_pathway_is_answered_with_the_nearest() -> None:
    wf = ol.Workflow("w")
    out = wf.source("pages").map("digests", lambda df: df).map("out", lambda df: df)
    with pytest.raises(UnknownNameError, match="did you mean 'pages>digests'"):
        wf.bound_staleness(out, "page>digest", 0)


def test_paths_that_multiply_in_diamonds_are_refused_above_the_documented_limit() -> None:
    channel = ol.Workflow("w").source("c0")
    paths, level = 1, 0
    while 2 * paths <= LIMIT:
        level, paths = level + 1, 2 * paths
        channel = channel.union(f"c{level}", channel)
    assert len(channel.pathways) == paths
    assert len(set(names(channel))) == paths
    with pytest.raises(WorkflowError, match=rf"\[TOO_MANY_PATHWAYS\] more: {2 * paths} pathways, the limit is {LIMIT}"):
        channel.union("more", channel)


def test_as_many_pathways_as_the_limit_are_allowed() -> None:
    wf = ol.Workflow("w")
    sources = [wf.source(f"s{i}") for i in range(LIMIT + 1)]
    assert len(wf.batch("all", sources[:LIMIT], lambda *dfs: dfs[0]).pathways) == LIMIT
    with pytest.raises(WorkflowError, match="TOO_MANY_PATHWAYS"):
        wf.batch("more", sources, lambda *dfs: dfs[0])


def test_every_pathway_of_a_channel_has_a_name_of_its_own() -> None:
    """A name that looks like a numbered one would be taken for it."""
    a = ol.Workflow("w").source("a")
    with pytest.raises(WorkflowError, match="'#' is kept"):
        a.map("x#0", lambda df: df)
