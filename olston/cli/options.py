"""Options that several verbs have in common."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from olston.cli.complete import outputs
from olston.errors import unknown

if TYPE_CHECKING:
    from olston.workflow import Workflow

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
InProject = Annotated[
    Path | None,
    typer.Option(
        "-C", "--project", help="Folder of the project; else the nearest with an olston.yml, upwards.", metavar="DIR"
    ),
]
Select = Annotated[
    str | None,
    typer.Option(
        help="Only these outputs, brought up to date whatever their bounds say: a,b.",
        metavar="OUTPUTS",
        autocompletion=outputs,
    ),
]
FullRefresh = Annotated[
    str | None,
    typer.Option(help="Compute these outputs anew from the sources: a,b.", metavar="OUTPUTS", autocompletion=outputs),
]
FullRefreshAll = Annotated[bool, typer.Option("--full-refresh-all", help="Compute all outputs anew.")]


def names(given: str | None, option: str) -> list[str]:
    """The names in a list such as `a,b`, none if the option is not given; an empty list is not taken for all."""
    found = [name.strip() for name in (given or "").split(",") if name.strip()]
    if given is not None and not found:
        raise typer.BadParameter("it names nothing; write names, a,b, or leave it out.", param_hint=f"'{option}'")
    return found


def demands(select: str | None, full_refresh: str | None, full_refresh_all: bool) -> list[tuple[list[str], bool]]:
    """What is asked for: outputs, and whether in full. With no option, what is due."""
    full, chosen = names(full_refresh, "--full-refresh"), names(select, "--select")
    asked: list[tuple[list[str], bool]] = []
    if full or full_refresh_all:
        asked.append(([] if full_refresh_all else full, True))
    selected = [] if full_refresh_all else [name for name in chosen if name not in full]
    if selected or not asked:
        asked.append((selected, False))
    return asked


def check_outputs(workflow: Workflow, given: Iterable[str]) -> None:
    """An error if one of them is no output, before anything is started."""
    for name in given:
        if name not in workflow.outputs:
            raise unknown("output", name, workflow.outputs, f"workflow {workflow.name!r}")
