"""Fenced blocks of a Markdown page: what a reader would run, and what is shown to come of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>.+?) -->\n)?^```(?P<language>\w+)[^\n]*\n(?P<body>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Fence:
    """A block of `page`. `reason` says why it is not run, if it is not; `start` and `end` are where its body lies."""

    page: Path
    language: str
    body: str
    start: int
    end: int
    reason: str | None
    follows: bool
    """Whether nothing but blank lines stands between it and the block before."""

    def __str__(self) -> str:
        line = self.page.read_text()[: self.start].count("\n") + 1
        return f"{self.page.name}:{line}"


def fences(page: Path) -> Iterator[Fence]:
    """The blocks of a page that name a language, in order."""
    text, before = page.read_text(), 0
    for match in _FENCE.finditer(text):
        follows = before > 0 and not text[before : match.start()].strip()
        yield Fence(page, match["language"], match["body"], *match.span("body"), match["reason"], follows)
        before = match.end()


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with what is shown to come of it."""
    shown: list[tuple[str, str]] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            shown.append((line[2:], ""))
        else:
            shown[-1] = (shown[-1][0], f"{shown[-1][1]}{line}\n")
    return shown
