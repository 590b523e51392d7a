"""Names that a shell completes: the channels of the project around the current folder."""

from __future__ import annotations

from olston.errors import OlstonError


def channels(incomplete: str) -> list[str]:
    """The public channels that begin so."""
    return _names(incomplete, sources=False)


def sources(incomplete: str) -> list[str]:
    """The sources that begin so."""
    return _names(incomplete, sources=True)


def _names(incomplete: str, *, sources: bool) -> list[str]:
    from contextlib import chdir

    from olston.cli import opened

    try:
        found = opened.project(None)
        with chdir(found.folder):
            workflow, _ = found.find_workflow()
    except OlstonError:  # a shell shows no errors; the verb will
        return []
    return [name for name in (workflow.sources if sources else workflow.public) if name.startswith(incomplete)]
