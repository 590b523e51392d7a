"""The project file `olston.yml`: which workflow, where its data lies, and on which Spark it runs.

It is found by walking up from a folder. Paths in it, and those that the workflow follows, are relative to where it is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from olston.duration import span_of
from olston.errors import DurationError, WorkflowError, unknown

if TYPE_CHECKING:
    from olston.workflow import Workflow

NAME = "olston.yml"
BAD = "BAD_PROJECT"


def _settings(given: Any) -> Any:
    """Settings as Spark writes them: `true`, `8`."""
    if not isinstance(given, dict):
        return {} if given is None else given
    return {k: str(v).lower() if isinstance(v, bool) else str(v) if isinstance(v, int | float) else v
            for k, v in given.items()}  # fmt: skip


class Project(BaseModel):
    """A project: `workflow` is a Python file, or `file.py:name`; the rest is what `ol.Engine` takes."""

    model_config = ConfigDict(strict=True, frozen=True)

    file: Path
    workflow: str = "workflow.py"
    home: str = "lake"
    catalog: str | None = None
    retention: str | None = None
    spark: Annotated[dict[str, str], BeforeValidator(_settings)] = {}

    @property
    def folder(self) -> Path:
        return self.file.parent

    def find_workflow(self) -> tuple[Workflow, Path]:
        """The workflow, and the folder it is defined in."""
        from olston.project import find_workflow

        path, colon, name = self.workflow.partition(":")
        if not (self.folder / path).exists():
            raise WorkflowError(
                f"{self.file}: workflow: {path}: no such file in {self.folder}; name the Python file that defines it.",
                code="NO_SUCH_FILE",
            )
        return find_workflow(f"{self.folder / path}{colon}{name}")

    @property
    def lake(self) -> str:
        """The home; a plain folder with its whole path."""
        return self.home if ":" in self.home else str(self.folder / self.home)


def find_project(start: Path) -> Project:
    """The project that `start`, a folder or a project file, belongs to."""
    where = start.resolve()
    if where.is_file():
        return read_project(where)
    if not where.is_dir():
        raise WorkflowError(f"{start}: no such folder; -C names the folder of a project.", code=BAD)
    for folder in (where, *where.parents):
        if (folder / NAME).is_file():
            return read_project(folder / NAME)
    raise WorkflowError(
        f"{where}: no {NAME} there or in a folder above; `olston init NAME` makes a project, -C DIR names one.",
        code="NO_PROJECT",
    )


def read_project(file: Path) -> Project:
    """The project that `file` describes; refuses what it does not know."""
    try:
        found = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise WorkflowError(f"{file}: cannot be read: {error.strerror}.", code=BAD) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        place = getattr(error, "problem_mark", None)
        line = "" if place is None else f":{place.line + 1}"
        raise WorkflowError(f"{file}{line}: not YAML: {getattr(error, 'problem', None) or error}.", code=BAD) from None
    fields = [name for name in Project.model_fields if name != "file"]
    if not isinstance(found, dict | None):
        raise WorkflowError(f"{file}: has fields, {', '.join(fields)}; not {type(found).__name__}.", code=BAD)
    for name in found or ():
        if name not in fields:
            raise WorkflowError(unknown("field", name, fields, str(file)).message, code=BAD)
    try:
        project = Project(file=file, **(found or {}))
        if project.retention is not None:
            span_of("retention", project.retention)
        return project
    except DurationError as error:
        error.message = f"{file}: {error.message}"
        raise
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(p) for p in first["loc"])
        raise WorkflowError(f"{file}: {place}: {first['msg'].lower()}, got {first['input']!r}.", code=BAD) from None
