"""`olston check`: is the definition sound, before anything is done by it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from olston.cli.options import AsJson, InProject

if TYPE_CHECKING:
    from olston.project_file import Project
    from olston.workflow import Workflow


def check(
    spark: Annotated[bool, typer.Option(help="Also look whether columns fit, which takes Spark some seconds.")] = True,
    project: InProject = None,
    as_json: AsJson = False,
) -> None:
    """Look at the project file and the workflow: can its promises be kept, do its columns fit? Starts Spark.

    Promises no plan could keep are errors, and so are columns that are not there; what is odd is told. Nothing is run.

    [bold]Examples:[/bold] olston check; olston check --no-spark
    """
    from contextlib import chdir

    from olston.cli import opened
    from olston.cli.answers import emit_json
    from olston.cli.show import console

    found = opened.project(project)
    with chdir(found.folder):
        workflow, _ = found.find_workflow()
        remarks = workflow.check()
        if not as_json:
            console.print(f"{workflow!r} in {found.file}", markup=False)
            for remark in remarks or ["its promises can be kept"]:
                console.print(f"odd: {remark}" if remarks else remark, markup=False)
        columns = _columns(found, workflow) if spark else None
    if as_json:
        emit_json(
            {
                "workflow": workflow.name,
                "project": str(found.file),
                "home": found.lake,
                "sources": workflow.sources,
                "outputs": list(workflow.outputs),
                "remarks": remarks,
                "columns": columns,
            }
        )
    elif columns is not None:
        console.print("its columns fit")
        for output in workflow.outputs:
            listed = ", ".join(f"{name} {kind}" for name, kind in columns[output].items())
            console.print(f"  {output}: {listed}", markup=False)


def _columns(project: Project, workflow: Workflow) -> dict[str, dict[str, str]]:
    """The columns of every channel and their types, as Spark finds them on no rows."""
    from rich.console import Console

    from olston import polling, session, shipped
    from olston.schema import resolve

    with Console(stderr=True).status("looking at columns on Spark"), session.started(project.spark) as spark:
        shipped.register()
        schemas = resolve(spark, workflow, polling.columns_now(spark, workflow))
    return {name: {f.name: f.dataType.simpleString() for f in schemas.public(name)} for name in workflow.public}
