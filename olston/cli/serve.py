"""`olston serve`: keep the promises until told to stop."""

from __future__ import annotations

from olston.cli.options import AsJson, InProject


def serve(project: InProject = None, as_json: AsJson = False) -> None:
    """Keep the promises until SIGTERM or Ctrl-C; steps that run then may finish. Starts Spark.

    Followed sources are polled, deadlines met before bounds break. While another process serves the workflow, it waits.
    With --json every step that begins or ends is a line of JSON.

    [bold]Example:[/bold] olston serve
    """
    import logging
    import os
    import sys
    import threading

    from olston.cli import exits
    from olston.cli.opened import opened
    from olston.cli.watch import tell_json, watching
    from olston.scheduling import STEP

    with opened(project) as engine:
        print(f"{engine.workflow.name}: serving; Ctrl-C stops", file=sys.stderr)
        with watching(engine, lines=tell_json if as_json else None, waits=True):
            # inside, where standard error is what keeps warnings and the live lines apart
            logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
            logging.getLogger("apscheduler").setLevel(logging.ERROR)  # a poll that takes longer than its interval
            engine.serve()
    print(f"{engine.workflow.name}: stopped", file=sys.stderr)
    if any(thread.name.startswith(STEP) for thread in threading.enumerate()):  # Python would wait for it
        sys.stdout.flush()
        os._exit(exits.DONE)
