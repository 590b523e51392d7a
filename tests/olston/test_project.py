"""Finding workflows in Python files: what is wrong with a file is told with its line and a way out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import olston as ol
from olston.definition import digests
from olston.errors import WorkflowError
from olston.project import find_workflow

HEAD = (
    'import olston as ol\nfrom pyspark.sql import functions as F\nwf = ol.Workflow("w")\na = wf.source("a", "x int")\n'
)


def define(folder: Path, *lines: str) -> str:
    file = folder / "workflow.py"
    file.write_text(HEAD + "\n".join(lines) + "\n")
    return str(file)


@pytest.mark.parametrize(
    "line",
    [
        'a.filter("c", F.col("x") > 1)',
        'a.aggregate("c", by=[], n=ol.agg(F.max_by("x", "x")))',
        'twice = F.udf(lambda x: 2 * x, "int")',
    ],
)
def test_what_needs_a_session_where_none_is_says_so_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    file = define(tmp_path, line)
    with pytest.raises(WorkflowError, match="need a Spark session") as caught:
        find_workflow(file)
    assert caught.value.code == "NO_SESSION"
    assert caught.value.message.startswith(f"{file}:5: ")
    assert "lambda df" in caught.value.message


def test_an_assertion_of_the_users_own_is_told_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    with pytest.raises(WorkflowError, match=r":5: AssertionError: too few") as caught:
        find_workflow(define(tmp_path, 'assert wf.outputs, "too few"'))
    assert caught.value.code == "BAD_WORKFLOW"


def test_a_file_that_ends_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ol.WorkflowError, match=r":6: ends Python by exit\(3\).*__main__"):
        find_workflow(define(tmp_path, "import sys", "sys.exit(3)"))


def test_a_change_in_a_module_beside_the_workflow_is_a_change_of_definition(tmp_path: Path) -> None:
    def digest(body: str) -> str:
        (tmp_path / "odd_helpers.py").write_text(f"def doubled(df):\n    return {body}\n")
        file = define(tmp_path, "import odd_helpers", 'a.map("b", lambda df: odd_helpers.doubled(df))')
        try:
            return digests(find_workflow(file)[0])["b"]
        finally:
            sys.modules.pop("odd_helpers", None)
            shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)

    assert digest("df") == digest("(df)")
    assert digest("df") != digest("df.union(df)")


def test_a_definition_is_the_same_however_its_file_is_run(tmp_path: Path) -> None:
    """By the command line, as a script, or imported by one: else processes would retire each other's work."""
    (tmp_path / "helping_all.py").write_text("def f(df):\n    return df\n")
    told = "from olston.definition import digests; print(digests(wf)['c'])"
    file = define(
        tmp_path,
        "import helping_all",
        'a.map("c", lambda df: helping_all.f(df))',
        f'if __name__ == "__main__":\n    {told}',
    )
    by_cli = f"from olston.project import find_workflow; wf = find_workflow({file!r})[0]; {told}"
    ways = [[file], ["-c", f"from workflow import wf; {told}"], ["-c", by_cli]]
    run = [
        subprocess.run([sys.executable, *way], cwd=tmp_path, capture_output=True, text=True, check=True) for way in ways
    ]
    assert len({done.stdout for done in run}) == 1
    (tmp_path / "helping_all.py").write_text("def f(df):\n    return df.distinct()\n")
    other = subprocess.run([sys.executable, file], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert other.stdout != run[0].stdout


def test_a_definition_within_a_package_is_the_same_however_its_file_is_found(tmp_path: Path) -> None:
    package = tmp_path / "odd_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    told = "from olston.definition import digests; print(digests(wf)['c'])"
    file = define(package, "from odd_package.helping import f", 'a.map("c", lambda df: f(df))')
    by_cli = f"from olston.project import find_workflow; wf = find_workflow({file!r})[0]; {told}"
    by_import = f"from odd_package.workflow import wf; {told}"

    def digest(way: str, body: str) -> str:
        (package / "helping.py").write_text(f"def f(df):\n    return {body}\n")
        shutil.rmtree(package / "__pycache__", ignore_errors=True)
        return subprocess.run(
            [sys.executable, "-c", way], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout

    assert digest(by_cli, "df") == digest(by_import, "df")
    assert digest(by_cli, "df.distinct()") == digest(by_import, "df.distinct()") != digest(by_import, "df")
