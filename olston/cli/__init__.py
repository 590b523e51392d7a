"""The command line. Each verb is a module; this one puts them together and turns errors into messages.

Exit codes: 0 done, also if `plan --problem` answers that there is no plan; 1 an unexpected failure; 2 wrong usage or
bad input; 3 no plan can keep the promises of a workflow.
"""

from __future__ import annotations

import json
import sys

import typer

from olston.cli.plan import plan
from olston.cli.simulate import simulate
from olston.errors import InfeasibleError, OlstonError

app = typer.Typer(
    name="olston",
    help="Schedules asynchronous incremental workflows for batch data products on Spark and Delta.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("plan")(plan)
app.command("simulate")(simulate)


@app.callback()
def options(
    debug: bool = typer.Option(False, "--debug", help="Show tracebacks of errors."),
) -> None:
    """Options of all verbs."""
    _settings["debug"] = debug


_settings = {"debug": False}


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        app(given)
    except OlstonError as error:
        if _settings["debug"]:
            raise
        if "--json" in given:
            print(json.dumps({"error": {"code": error.code, "message": error.message}}))
        print(f"error: {error}", file=sys.stderr)
        sys.exit(3 if isinstance(error, InfeasibleError) else 2)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)
