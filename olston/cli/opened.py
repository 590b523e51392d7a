"""Opening the project that a verb is about. Starts no JVM: an engine does when it first needs one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from olston.cli.settings import settings
from olston.project_file import Project, find_project

if TYPE_CHECKING:
    from olston.engine import Engine


def project(given: Path | None) -> Project:
    """The project named by -C, before or after the verb, else the one around the current folder."""
    return find_project(given or settings.project or Path.cwd())


@contextmanager
def opened(given: Path | None) -> Iterator[Engine]:
    """An engine on the project. Meanwhile its folder is the current one: what it follows is named from there."""
    from olston.engine import Engine

    found = project(given)
    with chdir(found.folder):
        workflow, _ = found.find_workflow()
        with Engine(
            workflow, found.lake, catalog=found.catalog, spark=found.spark, retention=found.retention
        ) as engine:
            yield engine
