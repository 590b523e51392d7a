"""Names that a shell completes: the channels of the project around the current folder."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from olston.errors import OlstonError

if TYPE_CHECKING:
    from olston.workflow import Workflow


def channels(incomplete: str) -> list[str]:
    """The public channels that begin so."""
    workflow = _workflow()
    return [] if workflow is None else _begun(incomplete, workflow.public)


def sources(incomplete: str) -> list[str]:
    """The sources that begin so."""
    workflow = _workflow()
    return [] if workflow is None else _begun(incomplete, workflow.sources)


def outputs(incomplete: str) -> list[str]:
    """Lists such as `a,b` whose last output begins so."""
    workflow = _workflow()
    return [] if workflow is None else _listed(incomplete, workflow.outputs)


def followed(incomplete: str) -> list[str]:
    """Lists such as `a,b` whose last followed source begins so."""
    workflow = _workflow()
    return [] if workflow is None else _listed(incomplete, workflow.follows)


def _begun(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _listed(incomplete: str, names: Iterable[str]) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _begun(last, names) if name not in before.split(",")]


def _workflow() -> Workflow | None:
    from contextlib import chdir

    from olston.cli import opened

    try:
        found = opened.project(None)
        with chdir(found.folder):
            return found.find_workflow()[0]
    except OlstonError:  # a shell shows no errors; the verb will
        return None
