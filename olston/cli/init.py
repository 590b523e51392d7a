"""`olston init`: a small project that runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olston.cli.options import AsJson
from olston.cli.settings import settings
from olston.errors import WorkflowError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_RENAMED = {"gitignore": ".gitignore"}
"""Files that would mean something where the template lies."""


def init(
    name: Annotated[str, typer.Argument(help="The folder to make; its last part names the workflow.")],
    as_json: AsJson = False,
) -> None:
    """Make a small project that runs: a project file, a workflow, some data.

    [bold]Example:[/bold] olston init demo && cd demo && olston run && olston read totals
    """
    from importlib.resources import files

    from olston.cli.answers import emit_json
    from olston.cli.show import console

    folder = (settings.project or Path()) / name
    workflow = folder.resolve().name
    if re.fullmatch(r"[A-Za-z_][\w.-]*", workflow) is None:
        raise WorkflowError(
            f"init {name!r}: a workflow is named by letters, digits, '_', '-' and '.', a letter first; choose another."
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WorkflowError(f"{folder}: is there already, and not empty; choose another name.", code="ALREADY_THERE")
    try:
        made = _copy(files("olston.cli") / "template", folder, workflow)
    except OSError as error:
        raise WorkflowError(f"{folder}: cannot be made: {error.strerror}.", code="NOT_WRITTEN") from None
    if as_json:
        emit_json({"project": str(folder.resolve()), "workflow": workflow, "files": sorted(map(str, made))})
        return
    console.print(f"made {folder}: {', '.join(sorted(str(f.relative_to(folder)) for f in made))}", markup=False)
    console.print(f"try: cd {folder} && olston run && olston read totals", markup=False)


def _copy(template: Traversable, target: Path, workflow: str) -> list[Path]:
    """Copy the template; returns the files made."""
    target.mkdir(parents=True, exist_ok=True)
    made = []
    for part in template.iterdir():
        place = target / _RENAMED.get(part.name, part.name)
        if part.is_dir():
            if part.name != "__pycache__":
                made += _copy(part, place, workflow)
            continue
        text = part.read_text(encoding="utf-8")
        if part.name == "workflow.py":
            text = text.replace('Workflow("demo")', f'Workflow("{workflow}")')
        place.write_text(text, encoding="utf-8")
        made.append(place)
    return made
