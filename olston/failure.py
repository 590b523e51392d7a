"""What to tell of a failure on Spark: the line that says why, and not the thousand around it."""

from __future__ import annotations

import re
from typing import Any

from olston.errors import BlockError, OlstonError, StepError, StoreError
from olston.operators.bag import MISSING

_FULL = ("No space left on device", "Disk quota exceeded", "There is not enough space on the disk")
_TRACEBACK = "Traceback (most recent call last)"
_STATE = re.compile(r"\s*SQLSTATE: \w{5};?$")


def reason(error: BaseException) -> str:
    """Why something failed, in one sentence: the end of a worker's traceback, or the innermost cause in Java."""
    innermost = _innermost(getattr(error, "java_exception", None))
    text = (innermost or str(error)).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return f"{type(error).__name__}."
    said = _STATE.sub("", lines[-1] if _TRACEBACK in text else lines[0])
    if not type(error).__module__.startswith(("pyspark.", "py4j.", "delta.")):
        said = f"{type(error).__name__}: {said}"
    return said if said.endswith((".", "!", "?")) else f"{said}."


def failed(what: str, error: Exception) -> OlstonError:
    """The error for `what` was done, if `error` came of it; what was readable is as it was."""
    text = str(error)
    if MISSING in text:
        said = _STATE.sub("", text[text.index(MISSING) + len(MISSING) + 2 :].splitlines()[0])
        return BlockError(
            f"{what}: {said}. Nothing readable has changed. If the delta arrived, what is behind it waits until its "
            'source is given a delta that adds what was missing, or all there is: ingest(…, kind="base").',
            code=MISSING,
        )
    return StepError(f"{what}: {reason(error)} Nothing readable has changed; mend what failed and run again.")


def raise_if_full(path: str, error: Exception) -> None:
    """A clear error if writing to `path` failed since there was no room."""
    text = f"{error} {_innermost(getattr(error, 'java_exception', None))}"
    if any(sign in text for sign in _FULL):
        raise StoreError(
            f"{path}: cannot be written, since the disk is full: {reason(error)} Nothing readable has changed; make "
            "room, for instance by vacuum, and run again.",
            code="DISK_FULL",
        ) from error


def _innermost(java: Any) -> str | None:
    """The message of the innermost of a chain of Java exceptions that has one."""
    found = None
    while java is not None:
        message = java.getMessage()
        found = f"{java.getClass().getSimpleName()}: {message}" if message else found
        java = java.getCause()
    return found
