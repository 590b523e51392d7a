"""The command line. Each verb is a module; this one puts them together and turns errors into messages.

    0    done; also if `plan --problem` answers that there is no plan
    1    an unexpected failure
    2    wrong usage, or bad input: a name, an option, a file, a definition, data that does not fit
    3    no plan can keep the promises
    4    a step failed; nothing readable has changed
    5    `status --fail-if-stale`: an output breaks a bound, or holds nothing of its definition
    6    Spark, the catalog or the home cannot be used, or there is nothing to be read yet
    7    the workflow is paused
    130  interrupted

Errors are one line `error: [CODE] …` on standard error, with `--json` also `{"error": {"code", "message"}}` on standard
output; `--debug` shows tracebacks before. Nothing heavy is imported before a verb needs it: `olston --help` is quick.
"""

from __future__ import annotations

import gc
import io
import logging
import sys
import traceback
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from olston.cli import answers, exits
from olston.cli.settings import settings
from olston.errors import OlstonError

VERBS = (
    "init", "check", "plan", "run", "serve", "ingest", "read", "status", "provenance", "history", "dag", "simulate",
    "pause", "resume", "vacuum", "recover",
)  # fmt: skip

app = typer.Typer(
    name="olston",
    help="Schedules asynchronous incremental workflows for batch data products on Spark and Delta.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in VERBS:
    app.command(verb)(getattr(import_module(f"olston.cli.{verb}"), verb))


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    project: Annotated[
        Path | None,
        typer.Option("-C", "--project", help="Folder of the project, for all verbs.", metavar="DIR"),
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Options of all verbs."""
    settings.debug, settings.project = debug, project
    if version:
        from olston import __version__

        print(f"olston {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    # importing makes many objects and no garbage; looking for it after every 700, as is usual, takes a tenth of a verb
    gc.set_threshold(20_000)
    _speak_unicode()
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--debug" in given:  # wherever it stands
        given = ["--debug", *(a for a in given if a != "--debug")]
    else:
        logging.getLogger().addFilter(_is_not_of_py4j)
    as_json = "--json" in given and not {"-h", "--help"} & set(given)
    try:
        with answers.alone() if as_json else nullcontext():
            code = app(given, standalone_mode=False)
    except typer.Abort:
        code = exits.INTERRUPTED
    except Exception as error:
        code = _tell(error, as_json=as_json)
    if code == exits.INTERRUPTED:
        print("interrupted", file=sys.stderr)
    sys.exit(code if isinstance(code, int) else exits.DONE)


def _speak_unicode() -> None:
    """Files and pipes get UTF-8 whatever the locale says, as JSON and data need; a terminal what it can show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
            if stream.isatty():
                stream.reconfigure(errors="replace")
            else:
                stream.reconfigure(encoding="utf-8")


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Of what it raises, and of Ctrl-C, py4j shows a traceback of its own."""
    return record.module != "java_gateway"


def _tell(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong; with --debug after the traceback."""
    if settings.debug:
        traceback.print_exception(error)
    usage = getattr(error, "format_message", None)  # typer's own errors, whichever click it brings along
    if usage is not None:
        code, name, message = exits.WRONG, "USAGE", str(usage()).replace("Value error, ", "")
        context = getattr(error, "ctx", None)
        if context is not None and message.startswith("Missing"):
            message += f" See olston {context.info_name} --help."
        elif message.startswith("No such command") and "Did you mean" not in message:
            message += " See olston --help."
    elif isinstance(error, OlstonError):
        code, name, message = exits.exit_code(error), error.code, error.message
    else:
        code, name = exits.UNEXPECTED, "UNEXPECTED"
        message = f"{type(error).__name__}: {error}; olston --debug … shows where."
    if as_json:
        answers.emit_json({"error": {"code": name, "message": message}})
    print(f"error: [{name}] {message}", file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        print(f"  also: {note}", file=sys.stderr)
    return code
