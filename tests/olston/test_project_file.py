"""`olston.yml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from olston.errors import OlstonError
from olston.project_file import find_project, read_project

TWO = """
import olston as ol
one, other = ol.Workflow("first"), ol.Workflow("second")
again = one
"""


def project(folder: Path, text: str) -> Path:
    file = folder / "olston.yml"
    file.write_text(text)
    return file


def test_what_is_not_said_has_a_default(tmp_path: Path) -> None:
    found = read_project(project(tmp_path, "# nothing\n"))
    assert (found.workflow, found.catalog, found.spark) == ("workflow.py", None, {})
    assert found.lake == str(tmp_path / "lake")


def test_settings_of_spark_are_text_whatever_yaml_makes_of_them(tmp_path: Path) -> None:
    text = "home: s3a://bucket/lake\nspark:\n  spark.ui.enabled: true\n  spark.executor.cores: 8\n  a: b\n"
    found = read_project(project(tmp_path, text))
    assert found.spark == {"spark.ui.enabled": "true", "spark.executor.cores": "8", "a": "b"}
    assert found.lake == "s3a://bucket/lake"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hom: lake", "field 'hom': no such field in .*olston.yml; did you mean 'home'?"),
        ("file: x", "field 'file': no such field"),
        ("workflow: [1]", "workflow: input should be a valid string, got \\[1\\]"),
        ("spark: fast", "spark: input should be a valid dictionary"),
        ("spark: {a: [1]}", "spark.a: input should be a valid string"),
        ("- a", "has fields, workflow, home, catalog, retention, spark; not list"),
        ("home: [", "olston.yml:1: not YAML"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(OlstonError, match=message) as caught:
        read_project(project(tmp_path, text))
    assert caught.value.code == "BAD_PROJECT"


def test_what_is_wrong_with_what_it_names_is_told_with_the_project_file(tmp_path: Path) -> None:
    file = project(tmp_path, "workflow: flow.py")
    with pytest.raises(OlstonError, match=r"olston\.yml: workflow: flow\.py: no such file") as caught:
        read_project(file).find_workflow()
    assert caught.value.code == "NO_SUCH_FILE"
    with pytest.raises(OlstonError, match=r"olston\.yml: retention") as caught:
        read_project(project(tmp_path, "retention: soon"))
    assert caught.value.code == "BAD_DURATION"


def test_the_nearest_project_upwards_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    outer = project(tmp_path, "home: outer")
    assert find_project(inner).file == outer
    assert find_project(outer).home == "outer"
    project(tmp_path / "a", "home: inner")
    assert find_project(inner).home == "inner"
    with pytest.raises(OlstonError, match="no such folder"):
        find_project(tmp_path / "nowhere")


def test_one_workflow_of_several_is_named(tmp_path: Path) -> None:
    (tmp_path / "flows.py").write_text(TWO)
    for name, workflow in {"first": "first", "other": "second", "again": "first"}.items():
        found = read_project(project(tmp_path, f"workflow: flows.py:{name}"))
        assert found.find_workflow()[0].name == workflow
    with pytest.raises(OlstonError, match="did you mean 'second'"):
        read_project(project(tmp_path, "workflow: flows.py:secnd")).find_workflow()
    with pytest.raises(OlstonError, match=r"flows\.py:NAME"):
        read_project(project(tmp_path, "workflow: flows.py")).find_workflow()
