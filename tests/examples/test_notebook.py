"""The notebook: it runs from top to bottom, and what is committed was really run."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FILE = Path(__file__).parents[2] / "examples" / "notebook" / "tour.ipynb"


def test_it_is_committed_with_its_outputs_and_without_a_path_of_the_machine_it_ran_on() -> None:
    cells = [cell for cell in nbformat.read(FILE, 4).cells if cell.cell_type == "code"]  # type: ignore[no-untyped-call]
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {kind for cell in cells for output in cell.outputs for kind in output.get("data", {})}
    assert {"text/html", "image/png", "image/svg+xml"} <= kinds
    for place in ("/tmp/", "/home/", "/Users/", f"{Path.home()}/", f"{Path(__file__).parents[2]}/"):
        assert place not in FILE.read_text(encoding="utf-8")


@pytest.mark.long
def test_it_runs_from_top_to_bottom_and_ends_at_the_batch_result(tmp_path: Path) -> None:
    notebook = nbformat.read(FILE, 4)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    compared = notebook.cells[-2]
    assert compared.outputs[-1]["data"]["text/plain"] == "(0, 0)"
