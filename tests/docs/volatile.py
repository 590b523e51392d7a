"""What differs from one run to the next, and is not compared.

- times of day; durations of less than a minute or of several units; the ids of blocks; the folder of the test;
- seconds and what is learned of them: numbers with a fraction, shares, and columns of such;
- how wide columns are. A plan and a status are compared word by word in no order, since their cells break where a
  number is wide; and not what a plan rejected, which follows from seconds.

What the simulator says is the same every time, but for the seconds that deciding took.
"""

from __future__ import annotations

import re
from pathlib import Path

_UNIT = r"(?:microsecond|millisecond|second|minute|hour|day|week)s?"
_RULES = (
    (re.compile(r"\d{4}-\d\d-\d\d"), "<date>"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "<time>"),
    (re.compile(r"\b\d{16}\b"), "<stamp>"),
    (re.compile(rf"\b\d+ {_UNIT}(?: \d+ {_UNIT})+"), "<duration>"),
    (re.compile(r"\b(?!0 seconds)\d+ (?:microsecond|millisecond|second)s?\b"), "<duration>"),
    (re.compile(r"\b[\d,]+\.\d+(?:e-?\d+)?\b|\b\d+%|(?<=about )\d+(?= s\b)"), "<number>"),
    (re.compile(r"\b[0-9a-f]{12,}\b"), "<id>"),
)
_MEASURED = re.compile(r"(?<=  )(?:scheduler|seconds|base|delta|shuffled|written|overlay)(?=  |$)")
"""Titles of columns of numbers that end where the title does."""


def comparable(said: str, command: str = "", folder: Path | None = None) -> list[str]:
    """What is left of `said` without what differs from run to run."""
    text = _without_measured(said if folder is None else at_home(said, folder))
    verb = "".join(command.split()[1:2])
    if verb != "simulate":
        for pattern, name in _RULES:
            text = pattern.sub(name, text)
    if verb in ("plan", "status"):
        return sorted(re.findall(r"[^\s│├└─]+", text.partition("└── rejected")[0]))
    return [" ".join(line.split()) for line in text.rstrip().splitlines()]


def at_home(said: str, folder: Path) -> str:
    """`said` as a user would see it whose folder `folder` is."""
    return said.replace(f"{folder}/demo/data/", "data/").replace(str(folder), "/home/ann")


def _without_measured(text: str) -> str:
    lines: list[str] = []
    ends: list[int] = []
    for line in text.splitlines():
        titles = [match.end() for match in _MEASURED.finditer(line.rstrip())]
        if titles:
            ends = titles
        else:
            for end in reversed(ends):
                line = re.sub(r"(?<=\s)[\d.,e+-]+$", "<measured>", line[:end]) + line[end:]
        lines.append(line)
    return "\n".join(lines)
