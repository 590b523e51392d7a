"""The formats in which a workflow is drawn."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import olston as ol
from olston.dag import Graph, graph_of
from olston.dag.dot import dot
from olston.dag.layout import Box, layout
from olston.dag.mermaid import mermaid
from olston.dag.page import html
from olston.dag.svg import svg
from olston.dag.text import text

NAMESPACE = "http://www.w3.org/2000/svg"


def workflow() -> ol.Workflow:
    """Long and short edges, a split, a union of three, and names that have to be escaped."""
    wf = ol.Workflow('odd "names" & <co>')
    a, b = wf.source("a", "k string", key="k"), wf.source('b&<"b', "k string")
    short = a.map("short", lambda df: df)
    good, bad = short.split({"good": "k = 'x'"}, rest="bad")
    far = good.filter("one", "true").filter("two", "true").filter("three", "true")
    every = far.union("every", b, bad)
    counts = every.aggregate("counts", by="k", n=ol.avg("k"))
    wf.output(counts.join("out", a, on="k"))
    wf.bound_staleness("out", 0, "1 day")
    wf.bound_staleness("out", 1, 0)
    wf.bound_inconsistency("out", 0)
    wf.output(every, feed={"B"}, refresh="6 hours")
    return wf


def drawn() -> Graph:
    return graph_of(workflow())


def test_internal_channels_are_left_out_and_edges_lead_around_them() -> None:
    graph = drawn()
    assert not [n.name for n in graph.nodes if "#" in n.name]
    assert graph.inputs("every") == ["three", 'b&<"b', "bad"]
    assert graph.inputs("counts") == ["every"]
    assert graph.inputs("good") == graph.inputs("bad") == ["short"]
    assert {n.name: n.role for n in graph.nodes if n.role != "channel"} == {
        "a": "source",
        'b&<"b': "source",
        "every": "output",
        "out": "output",
    }


def test_bounds_stand_on_their_channel() -> None:
    (out,) = [n for n in drawn().nodes if n.name == "out"]
    assert out.bounds[0].endswith(": ≤ 1 day stale")
    assert out.bounds[1].endswith(": never stale")
    assert out.bounds[2] == "consistent"


def test_text_has_a_line_for_each_channel() -> None:
    lines = text(drawn()).splitlines()
    assert lines[0] == 'odd "names" & <co>'
    assert any(line.split() == ["every", "union", "←", "three,", 'b&<"b,', "bad", "[output,", "feed", "of", "B,",
                                "refreshed", "6", "hours]"] for line in lines)  # fmt: skip
    assert any(line.split() == ["a", "source", "key", "k"] for line in lines)


def test_mermaid_and_dot_escape_what_means_something_there() -> None:
    drawing = mermaid(drawn())
    assert drawing.startswith("flowchart LR\n")
    assert "<b>b&#lt;#quot;b</b>" in drawing
    assert drawing.count("-->") == len(drawn().edges)
    drawing = dot(drawn())
    assert drawing.startswith('digraph "odd \\"names\\" & <co>" {')
    assert drawing.count("->") == len(drawn().edges)
    assert drawing.endswith("}")


def test_svg_is_well_formed_and_fetches_nothing() -> None:
    picture = svg(drawn())
    root = ElementTree.fromstring(picture)
    assert len(root.findall(f"{{{NAMESPACE}}}rect")) == len(drawn().nodes)
    assert picture.count("http") == 1  # the name of the namespace
    words = [t.text for t in root.iter(f"{{{NAMESPACE}}}text")]
    assert 'b&<"b' in words
    page = html(drawn())
    assert page.count("http") == 1
    assert "<script" not in page
    assert "odd &quot;names&quot; &amp; &lt;co&gt;" in page


def test_boxes_do_not_overlap_and_edges_pass_between_them() -> None:
    found = layout(drawn())
    for one, other in combinations([b for b in found.boxes if b.node], 2):
        assert apart(one, other), (one, other)
    for box in found.boxes:
        assert 0 <= box.x <= box.x + box.width <= found.width
        assert 0 <= box.y <= box.y + box.height <= found.height
    for route in found.routes:
        assert [b.layer for b in route] == list(range(route[0].layer, route[-1].layer + 1))


def apart(one: Box, other: Box) -> bool:
    return (
        one.x + one.width <= other.x
        or other.x + other.width <= one.x
        or one.y + one.height <= other.y
        or other.y + other.height <= one.y
    )


def test_an_empty_workflow_can_be_drawn_too() -> None:
    graph = graph_of(ol.Workflow("empty"))
    assert text(graph) == "empty"
    for draw in (mermaid, dot, svg, html):
        assert draw(graph)
