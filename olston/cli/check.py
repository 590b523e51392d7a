"""`olston check`: is the definition sound, before anything is done by it?"""

from __future__ import annotations

from olston.cli.options import AsJson, InProject


def check(project: InProject = None, as_json: AsJson = False) -> None:
    """Look at the project file and the workflow: promises no plan could keep are errors, what is odd is told.

    [bold]Example:[/bold] olston check
    """
    from contextlib import chdir

    from olston.cli import opened
    from olston.cli.show import console, emit_json

    found = opened.project(project)
    with chdir(found.folder):
        workflow, _ = found.find_workflow()
        remarks = workflow.check()
    if as_json:
        emit_json(
            {
                "workflow": workflow.name,
                "project": str(found.file),
                "home": found.lake,
                "sources": workflow.sources,
                "outputs": list(workflow.outputs),
                "remarks": remarks,
            }
        )
        return
    console.print(f"{workflow!r} in {found.file}", markup=False)
    for remark in remarks:
        console.print(f"odd: {remark}", markup=False)
    if not remarks:
        console.print("its promises can be kept")
