"""`olston dag`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.stage import Stage


@pytest.mark.parametrize(
    ("format", "begins"),
    [
        ("text", "shop\n"),
        ("mermaid", "flowchart LR"),
        ("dot", 'digraph "shop"'),
        ("svg", "<svg "),
        ("html", "<!doctype html>"),
    ],
)
def test_every_format_is_printed_or_written(stage: Stage, tmp_path: Path, format: str, begins: str) -> None:
    told = stage.run("dag", "--format", format)
    assert told.code == 0
    assert told.out.startswith(begins)
    file = tmp_path / "drawn"
    assert stage.run("dag", "--format", format, "-o", str(file)).out == f"drawn to {file}\n"
    assert file.read_text() == told.out
    assert not (stage.folder / "lake").exists()


def test_the_suffix_of_the_file_says_what_to_draw_with(stage: Stage, tmp_path: Path) -> None:
    for name, begins in (("d.svg", "<svg "), ("d.HTML", "<!doctype html>"), ("d.dot", "digraph"), ("d.txt", "shop\n")):
        stage.run("dag", "-o", str(tmp_path / name))
        assert (tmp_path / name).read_text().startswith(begins)
    stage.run("dag", "--format", "dot", "-o", str(tmp_path / "d.svg"))
    assert (tmp_path / "d.svg").read_text().startswith("digraph")


def test_a_suffix_that_no_format_has_is_refused(stage: Stage, tmp_path: Path) -> None:
    told = stage.run("dag", "-o", str(tmp_path / "d.pdf"))
    assert (told.code, told.out) == (2, "")
    assert "d.pdf: no format" in told.err
    assert ".svg" in told.err
    assert not (tmp_path / "d.pdf").exists()


def test_channels_and_edges_as_json(stage: Stage) -> None:
    found = stage.json("dag")
    assert [c["name"] for c in found["channels"]] == ["orders", "customers", "paid", "located", "totals"]
    assert {"from": "paid", "to": "located"} in found["edges"]


def test_a_file_is_written_beside_the_json_too(stage: Stage, tmp_path: Path) -> None:
    plain, file = stage.json("dag"), tmp_path / "d.svg"
    assert stage.json("dag", "-o", str(file)) == plain
    assert file.read_text().startswith("<svg ")
    told = stage.run("dag", "-o", str(tmp_path / "d.pdf"), "--json")
    assert (told.code, told.json["error"]["code"]) == (2, "NOT_WRITTEN")


def test_status_says_how_outputs_stand(stage: Stage) -> None:
    assert [c["state"] for c in stage.json("dag", "--status")["channels"]][-2:] == ["holds nothing"] * 2
    stage.fill(("orders", "customers"))
    assert "[output, kept]" in stage.run("dag", "--status").out
    assert "#c8e6c9" in stage.run("dag", "--status", "--format", "svg").out
    file = stage.folder / "workflow.py"
    file.write_text(file.read_text().replace("amount > 0", "amount > 1"))
    for told in (stage.run("status"), stage.run("dag", "--status")):
        assert "of another definition" in told.out, "the same words"


def test_an_unknown_format_is_refused_with_those_there_are(stage: Stage) -> None:
    told = stage.run("dag", "--format", "png")
    assert told.code == 2
    assert "mermaid" in told.err
