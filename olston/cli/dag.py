"""`olston dag`: the workflow as a picture."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from olston.cli.options import AsJson, InProject
from olston.errors import WorkflowError


class Format(StrEnum):
    """What to draw with."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    SVG = "svg"
    HTML = "html"


def dag(
    format: Annotated[
        Format | None,
        typer.Option(help="What to draw with; by the suffix of --output by default, else text. None needs a network."),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write to this file.", metavar="FILE")] = None,
    status: Annotated[bool, typer.Option("--status", help="Also show how the outputs stand.")] = False,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Draw sources, what is made of them, outputs and bounds. Internal channels are left out.

    [bold]Examples:[/bold] olston dag; olston dag --format mermaid; olston dag --status -o dag.html
    """
    from contextlib import chdir

    from olston.cli import opened
    from olston.cli.answers import emit_json
    from olston.dag import dot, graph_of, mermaid, page, svg, text

    target = None if output is None else output.resolve()
    if status:
        with opened.opened(project) as engine:
            graph = graph_of(engine.workflow, engine.status())
    else:
        found = opened.project(project)
        with chdir(found.folder):
            graph = graph_of(found.find_workflow()[0])
    if as_json and target is None:
        emit_json(graph.to_dict())
        return
    draw = {
        Format.TEXT: text.text,
        Format.MERMAID: mermaid.mermaid,
        Format.DOT: dot.dot,
        Format.SVG: svg.svg,
        Format.HTML: page.html,
    }[format or _by_suffix(output)]
    drawn = draw(graph)
    if target is None:
        print(drawn)
        return
    try:
        target.write_text(drawn + "\n", encoding="utf-8")
    except OSError as error:
        raise WorkflowError(f"{output}: cannot be written: {error.strerror}.", code="NOT_WRITTEN") from None
    if as_json:
        emit_json(graph.to_dict())
    else:
        print(f"drawn to {output}")


def _by_suffix(output: Path | None) -> Format:
    """The format that the name of a file asks for; text if it has no suffix."""
    suffix = "" if output is None else output.suffix[1:].lower()
    if not suffix:
        return Format.TEXT
    known = {"txt": Format.TEXT, "mmd": Format.MERMAID, **{str(f): f for f in Format}}
    if suffix not in known:
        raise WorkflowError(
            f"{output}: no format is called by its suffix .{suffix}; end its name in .{', .'.join(known)}, or say "
            "which by --format.",
            code="NOT_WRITTEN",
        )
    return known[suffix]
