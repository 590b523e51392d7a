"""Where in code of the user's own something was declared."""

from __future__ import annotations

import sys
from types import FrameType


def caller() -> str:
    """`FILE:LINE` of the innermost code that is not olston's, or nothing; the examples are users of olston too."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module.partition(".")[0] != "olston" or module.startswith("olston.examples."):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
