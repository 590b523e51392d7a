"""Where JSON goes: to standard output, and alone.

What else prints, such as a function of the workflow that looks at its rows, is sent to standard error meanwhile.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO

_out: TextIO | None = None


@contextmanager
def alone() -> Iterator[None]:
    """Keep standard output for JSON."""
    global _out
    _out = sys.stdout
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        _out = None


def emit_json(value: Any) -> None:
    """Print a value as JSON, on one line."""
    emit_text(json.dumps(value, ensure_ascii=False))


def emit_text(text: str) -> None:
    """Print what is JSON already."""
    print(text, file=_out or sys.stdout, flush=True)
