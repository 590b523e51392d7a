"""Finding a workflow by the name of an example or in a Python file."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import redirect_stdout
from pathlib import Path

from olston import shipped
from olston.errors import OlstonError, WorkflowError, unknown
from olston.workflow import Workflow

_NO_SESSION = (
    "Columns, and types in SQL text, need a Spark session, and there is none while a workflow is declared; write a "
    'condition or an aggregate as SQL text, "x > 1", or as a function, lambda df: df.x > 1, and make a UDF inside the '
    "function that uses it, or with a type such as IntegerType()."
)
EXAMPLES = ("search_preprocessing", "feedback_prioritization", "crawl_selection")


def find_workflow(name: str) -> tuple[Workflow, Path]:
    """The workflow of an example, or the one that a Python file defines, and the folder it is in.

    `file.py:name` is the one of several in the file that has this name, or is called so there.
    """
    name, _, which = name.partition(".py:")
    if which:
        name += ".py"
    if name in EXAMPLES:
        module = importlib.import_module(f"olston.examples.{name}.workflow")
        return module.wf, Path(str(module.__file__)).parent
    path = Path(name)
    if path.is_dir():
        path = path / "workflow.py"
    if not path.exists():
        if path.suffix == ".py" or len(path.parts) > 1:
            raise WorkflowError(f"{path}: no such file.", code="NO_SUCH_FILE")
        raise unknown("workflow", name, EXAMPLES)
    return _from_file(path, which), path.parent


def _from_file(path: Path, which: str = "") -> Workflow:
    spec = importlib.util.spec_from_file_location(f"_olston_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise WorkflowError(f"{path}: not a Python file; a workflow is defined in one.")
    module = importlib.util.module_from_spec(spec)
    before = set(sys.modules)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no part of an answer
            spec.loader.exec_module(module)
    except OlstonError as error:
        if place := _line_in(error, path):
            error.message = f"{path}{place}: {error.message}"
        raise
    except SystemExit as error:
        place = _line_in(error, path)
        raise WorkflowError(
            f"{path}{place}: ends Python by exit({error.code!r}); a workflow is declared by importing its file, so "
            'put what is to be run as a program under if __name__ == "__main__".'
        ) from error
    except Exception as error:
        place = _line_in(error, path)
        if _misses_session(error):
            raise WorkflowError(f"{path}{place}: {_NO_SESSION}", code="NO_SESSION") from error
        raise WorkflowError(f"{path}{place}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent))
    shipped.note({spec.name, *shipped.beside(path.parent.resolve(), before)})
    variables = {name: value for name, value in vars(module).items() if isinstance(value, Workflow)}
    if which:
        called = {**{w.name: w for w in variables.values()}, **variables}
        if which not in called:
            raise unknown("workflow", which, called, str(path))
        return called[which]
    found = list({id(w): w for w in variables.values()}.values())
    if len(found) != 1:
        names = ", ".join(w.name for w in found) or "none"
        raise WorkflowError(
            f"{path}: it must define one workflow at its top level, but defines {len(found)} ({names}); "
            f"of several, name one: {path.name}:NAME."
        )
    return found[0]


def _line_in(error: BaseException, path: Path) -> str:
    """`:LINE` of the last frame of `error` in `path`."""
    if isinstance(error, SyntaxError):
        return f":{error.lineno}"
    line, trace = "", error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return line


def _misses_session(error: Exception) -> bool:
    """Whether pyspark raised `error` since no session runs; often it only asserts that one does."""
    pyspark, trace = sys.modules.get("pyspark"), error.__traceback__
    if pyspark is None or pyspark.SparkContext._active_spark_context is not None or trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    raised_in = str(trace.tb_frame.f_globals.get("__name__"))
    return raised_in.startswith("pyspark.") and isinstance(error, AssertionError | RuntimeError)
