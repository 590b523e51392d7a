"""Every error olston raises.

One root, `OlstonError`; each subclass is also the builtin a Python programmer would catch. A message
names the thing, the place, the fault and a way out, behind a stable code in brackets.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class OlstonError(Exception):
    """Root of all errors of olston; `code` is stable across releases."""

    code = "OLSTON"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        if code is not None:
            self.code = code
        self.message = message
        super().__init__(message)

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class DurationError(OlstonError, ValueError):
    """A text or number that is no duration."""

    code = "BAD_DURATION"


class TimelineError(OlstonError, ValueError):
    """An arrival that does not advance its timeline, or a stamp that never arrived."""

    code = "BAD_TIMELINE"


class ProvenanceError(OlstonError, ValueError):
    """Temporal provenance that cannot exist, or two that cannot be combined."""

    code = "BAD_PROVENANCE"


class BlockError(OlstonError, ValueError):
    """A block that cannot exist, or one that was applied where it does not fit."""

    code = "BAD_BLOCK"


class WorkflowError(OlstonError, ValueError):
    """A definition that makes no sense: duplicate names, cycles, unknown columns or policies."""

    code = "BAD_WORKFLOW"


class UnknownNameError(OlstonError, LookupError):
    """A channel, pathway, widget or case that is not there; the nearest valid names are suggested."""

    code = "UNKNOWN_NAME"


class OptionError(OlstonError, TypeError):
    """A keyword argument that is not taken; the message lists those that are."""

    code = "UNKNOWN_OPTION"


class ConstraintError(OlstonError, ValueError):
    """A bound that cannot be declared where it was declared."""

    code = "BAD_BOUND"


class WeakDeltaError(OlstonError, ValueError):
    """A weak representation without the converters it needs."""

    code = "BAD_WEAK_DELTA"


class SchemaError(OlstonError, ValueError):
    """Columns that do not fit: of a function, of a join, or of data that arrives."""

    code = "BAD_SCHEMA"


class IngestError(OlstonError, ValueError):
    """Data that does not fit the source it is offered to; nothing of it has arrived."""

    code = "BAD_ARRIVAL"


class StoreError(OlstonError, RuntimeError):
    """A block that could not be written, or was not there to be read."""

    code = "STORE"


class CatalogError(OlstonError, RuntimeError):
    """A catalog that cannot be opened or written."""

    code = "CATALOG"


class StepError(OlstonError, RuntimeError):
    """A step that failed; nothing readable has changed. The failure itself is the cause."""

    code = "STEP_FAILED"


class ProblemError(OlstonError, ValueError):
    """A malformed or contradictory planning problem."""

    code = "BAD_PROBLEM"


class RatesError(OlstonError, ValueError):
    """A malformed file of arrival rates, selectivities and costs."""

    code = "BAD_RATES"


class InfeasibleError(OlstonError, ValueError):
    """No plan can keep the promises; the message names the bound and the widget in the way."""

    code = "INFEASIBLE_BOUNDS"


class SparkError(OlstonError, RuntimeError):
    """Spark cannot be started or used: no Java it runs on, no jars of Delta, or a session without Delta."""

    code = "NO_SPARK"


def unknown(thing: str, name: object, known: Iterable[str], place: str = "") -> UnknownNameError:
    """The error for `name`, which is no `thing` of `place`, with the nearest valid names."""
    names = list(known)
    listed = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    hint = meant(name, names) or f"known: {listed or 'none'}."
    where = f" in {place}" if place else ""
    return UnknownNameError(f"{thing} {name!r}: no such {thing}{where}; {hint}")


def meant(name: object, known: Iterable[str]) -> str:
    """Asks whether one of `known` that is near to `name` was meant; empty if none is near."""
    near = get_close_matches(str(name), list(known), n=3, cutoff=0.5)
    return f"did you mean {' or '.join(repr(n) for n in near)}?" if near else ""
