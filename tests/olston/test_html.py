"""What notebooks show: the same answers as in a terminal, as tables."""

from __future__ import annotations

import pytest
from rich.console import Group
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

import olston as ol
from olston.html import html
from olston.report import Report, Shown


def table() -> Table:
    made = Table("step", title="two steps")
    made.add_column("seconds", justify="right")
    made.add_row("join → output", "1.5")
    made.add_row(Text("a < b"), "[bold]2[/bold]")
    return made


def test_a_table_has_its_title_its_headings_and_a_row_for_each_row() -> None:
    made = html(table())
    assert made.startswith("<table><caption style='text-align: left'>two steps</caption>")
    assert made.count("<tr>") == 3
    assert "<th style='text-align: right'>seconds</th>" in made
    assert "<td style='text-align: left'>join → output</td>" in made


def test_text_is_escaped_and_markup_goes() -> None:
    assert "a &lt; b" in html(table())
    assert "<td style='text-align: right'>2</td>" in html(table())
    assert html(Text("[bold]stays")) == "[bold]stays"


def test_a_tree_is_nested_lists_and_a_group_is_what_is_in_it() -> None:
    tree = Tree("plan")
    tree.add("due").add("output")
    assert html(tree) == "plan<ul><li>due<ul><li>output</li></ul></li></ul>"
    assert html(Group("a", table())).startswith("<div>a</div><div><table>")


def test_an_answer_of_the_engine_is_a_table_in_a_notebook() -> None:
    answer = Report((("output.batch → output", 2.0, 1.25),), plans=1)
    assert "<td style='text-align: left'>output.batch → output</td>" in answer._repr_html_()
    assert Report()._repr_html_() == "nothing was due"


def test_printed_an_answer_is_plain_text_also_where_colours_are_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in str(Report((("output.batch → output", 2.0, 1.25),), plans=1))


def test_a_workflow_is_its_picture_in_a_notebook() -> None:
    wf = ol.Workflow("w")
    wf.output(wf.source("pages", "url string").filter("kept", "url > ''"))
    assert wf._repr_svg_().startswith("<svg ")
    assert ">kept</text>" in wf._repr_svg_()


def test_no_answer_shows_its_insides_at_a_prompt() -> None:
    import olston.engine  # noqa: F401  knows all answers

    answers = [one for one in Shown.__subclasses__() if one.__module__.startswith("olston.")]
    assert len(answers) > 6
    assert [one for one in answers if one.__repr__ is not Shown.__repr__] == []
