"""What to tell of a failure on Spark: the line that says why, and not the thousand around it."""

from __future__ import annotations

import re
import sysconfig
from typing import Any

from olston.errors import BlockError, OlstonError, StepError, StoreError
from olston.operators.bag import MISSING

_FULL = ("No space left on device", "Disk quota exceeded", "There is not enough space on the disk")
_TRACEBACK = "Traceback (most recent call last)"
_LIBRARIES = ("olston", "pyspark", "py4j", "delta")
_INSTALLED = ("/site-packages/", "/dist-packages/", sysconfig.get_path("stdlib"), "<frozen ", "pyspark.zip/")
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')
_STATE = re.compile(r"\s*SQLSTATE: \w{5}(?:; line \d+ pos \d+| \(line \d+, pos \d+\))?;?$")


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


def place(error: BaseException) -> str:
    """Where in code of the user's own `error` came about, here or on a worker: `FILE:LINE, in FUNCTION`, or nothing."""
    found, trace = "", error.__traceback__
    while trace is not None:
        code, module = trace.tb_frame.f_code, str(trace.tb_frame.f_globals.get("__name__"))
        if module.partition(".")[0] not in _LIBRARIES and not _is_installed(code.co_filename):
            found = f"{code.co_filename}:{trace.tb_lineno}, in {code.co_name}"
        trace = trace.tb_next
    told = [f"{file}:{line}, in {name}" for file, line, name in _FRAME.findall(str(error)) if not _is_installed(file)]
    return found or (told[-1] if told else "")


def _is_installed(file: str) -> bool:
    return any(sign in file for sign in _INSTALLED)


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
    where = f" It was raised at {at}." if (at := place(error)) else ""
    return StepError(f"{what}: {reason(error)}{where} Nothing readable has changed; mend what failed and run again.")


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
