"""What is served: answers to paths at a moment. A folder of HTML is one, the web that changes another."""

from __future__ import annotations

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import quote, unquote


@dataclass(frozen=True)
class Answer:
    """What a request is answered with."""

    status: int
    body: bytes = b""
    type: str = "text/html; charset=utf-8"
    location: str | None = None


class Site(Protocol):
    """Answers paths, and tells which pages there are, for whoever measures."""

    def get(self, path: str, now: int) -> Answer: ...

    def pages(self, now: int) -> set[str]: ...


class Folder:
    """The files below `root`, as they are when they are asked for; the pages are those that end in .html or .htm."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve(strict=True)
        if not self._root.is_dir():
            raise NotADirectoryError(f"{root}: no folder; --site takes a folder of HTML.")

    def pages(self, now: int) -> set[str]:
        files = (f for f in self._root.rglob("*.htm*") if f.suffix in (".html", ".htm") and f.is_file())
        return {"/" + quote(f.relative_to(self._root).as_posix()) for f in files}

    def get(self, path: str, now: int) -> Answer:
        try:
            file = (self._root / unquote(path).lstrip("/")).resolve()
            if not file.is_relative_to(self._root):  # by .. or by a link that leads outside
                return Answer(404)
            if file.is_dir():
                return Answer(301, location=f"{path.rstrip('/')}/index.html")
            return Answer(200, file.read_bytes(), mimetypes.guess_type(file.name)[0] or "application/octet-stream")
        except (OSError, ValueError):
            return Answer(404)
