"""Exit codes, stable across releases; `docs/reference/cli.md` explains them to users."""

from __future__ import annotations

from olston.errors import CatalogError, InfeasibleError, OlstonError, SparkError, StepError, StoreError

DONE = 0
UNEXPECTED = 1
WRONG = 2
INFEASIBLE = 3
FAILED = 4
STALE = 5
UNUSABLE = 6
PAUSED = 7
INTERRUPTED = 130

_BY_CODE = {InfeasibleError.code: INFEASIBLE, "PAUSED": PAUSED}
"""An error that another scheduler tells has its code, not its class."""


def exit_code(error: OlstonError) -> int:
    """The exit code that tells of `error`."""
    if error.code in _BY_CODE:
        return _BY_CODE[error.code]
    if isinstance(error, StepError):
        return FAILED
    return UNUSABLE if isinstance(error, SparkError | CatalogError | StoreError) else WRONG
