"""What the pages show is what comes of it.

Every block of `python` is run, and of `console` every command; a block of `text` right after one of `python` is what
it prints. `<!-- not run: why -->` before a block spares it. `OLSTON_DOCS=write` puts into the pages what was said this
time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from olston.cli.show import console
from tests.docs.fences import Fence, commands, fences
from tests.docs.reader import Reader
from tests.docs.volatile import at_home, comparable

DOCS = Path(__file__).parents[2] / "docs"
WRITES = os.environ.get("OLSTON_DOCS") == "write"
WIDTH = 130
"""Columns of what pages show: so many that tables seldom need to break words."""

WITHOUT_SPARK = {
    "index.md",
    "how-to/declare-bounds.md",
    "how-to/tune-costs.md",
    "concepts/time-and-consistency.md",
    "concepts/blocks.md",
    "concepts/scheduling-model.md",
    "reference/problem-files.md",
    "simulator.md",
}
SHORT = {"tutorial.md", *WITHOUT_SPARK} - {"simulator.md"}
"""Pages that `make test` runs; the others take longer."""


def pages() -> Iterator[object]:
    for page in sorted(DOCS.glob("**/*.md")):
        if any(f.language in ("python", "console") and f.reason is None for f in fences(page)):
            name = page.relative_to(DOCS).as_posix()
            marks = [
                *([] if name in WITHOUT_SPARK else [pytest.mark.spark]),
                *([] if name in SHORT else [pytest.mark.long]),
            ]
            yield pytest.param(name, marks=marks, id=name)


@pytest.mark.parametrize("name", list(pages()))
def test_what_a_page_shows_is_what_comes_of_it(
    name: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if name not in WITHOUT_SPARK:
        request.getfixturevalue("spark")  # runs already when the page asks for one
    monkeypatch.setattr(console, "width", WIDTH)
    home = tmp_path_factory.mktemp("ann")  # a short name: paths break lines
    page, reader, printed = DOCS / name, Reader(home), ""
    written: list[tuple[Fence, str]] = []
    for fence in fences(page):
        if fence.reason is not None:
            continue
        if fence.language == "python":
            printed = reader.python(fence.body, str(fence))
        elif fence.language == "text" and fence.follows:
            written.append((fence, at_home(printed, home)))
            if not WRITES:
                assert comparable(printed, folder=home) == comparable(fence.body), fence
        elif fence.language == "console":
            said = ""
            for command, shown in commands(fence.body):
                answer = reader.command(command)
                said += f"$ {command}\n{at_home(answer, home)}"
                if not WRITES:
                    assert comparable(answer, command, home) == comparable(shown, command), f"{fence}: {command}"
            written.append((fence, said))
    if WRITES:
        write(page, written)


def write(page: Path, said: list[tuple[Fence, str]]) -> None:
    text = page.read_text()
    for fence, answer in reversed(said):
        assert text[fence.start : fence.end] == fence.body, f"{page}: was changed meanwhile"
        lines = "".join(f"{line.rstrip()}\n" for line in answer.rstrip().splitlines())
        text = text[: fence.start] + lines + text[fence.end :]
    page.write_text(text)
