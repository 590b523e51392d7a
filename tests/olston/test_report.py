"""Answers as they are printed."""

from __future__ import annotations

import pytest
from rich.console import Console

from olston.pathway import Pathway
from olston.provenance import Provenance
from olston.report import ProvenanceOf, Report, Shown
from olston.timeline import History, Timeline

NOW = 1_772_000_000_000_000
SHORT = ["fetches>successful_fetches>periodic_recrawl", "fetches>links[1]>indegrees>top_unfetched"]
LONG = [f"{'a_rather_long_channel>' * 5}{end}" for end in ("one", "two")]


def printed(shown: Shown, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(shown)
    return captured.get()


def reflecting(names: list[str]) -> ProvenanceOf:
    line = Timeline("fetches")
    for day in range(4):
        line.arrive(NOW + day * 86_400_000_000)
    content = Provenance([line.arrivals[1:]] * len(names))
    pathways = tuple(Pathway(i, name, "fetches", tuple(name.split(">"))) for i, name in enumerate(names))
    return ProvenanceOf("output", content, pathways, History({"fetches": line}, NOW))


@pytest.mark.parametrize("width", [80, 120])
def test_the_names_of_pathways_are_whole_where_they_can_be(width: int) -> None:
    text = printed(reflecting(SHORT), width)
    assert all(name in text for name in SHORT)
    assert "…" not in text


@pytest.mark.parametrize("width", [80, 120])
def test_names_that_are_too_long_are_folded_and_never_cut(width: int) -> None:
    text = printed(reflecting(LONG), width)
    folded = "".join(line[3 : line.find("  ", 3)] for line in text.splitlines()[2:-1] if line[3:4] != " ")
    assert folded == "".join(LONG)
    assert "2026-02-25" in text


def test_the_names_of_steps_are_not_cut_either() -> None:
    name = " + ".join(f"channel_{i}.incremental" for i in range(9))
    assert " ".join(printed(Report(((name, 1.0, 2.0),)), 60).split()).count("incremental") == 9
