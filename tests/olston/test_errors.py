from __future__ import annotations

import ast
import builtins
import inspect
import pickle
import re
from pathlib import Path

import pytest

from olston import errors
from olston.errors import OlstonError, unknown

ROOT = Path(__file__).resolve().parent.parent.parent
EXCEPTIONS = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, Exception)]
CLASSES = [c for c in EXCEPTIONS if issubclass(c, OlstonError)]
SUBCLASSES = [c for c in CLASSES if c is not OlstonError]


def test_there_is_one_root() -> None:
    assert CLASSES == EXCEPTIONS
    assert len(SUBCLASSES) >= 10


@pytest.mark.parametrize("error", SUBCLASSES)
def test_each_error_is_also_a_builtin(error: type[OlstonError]) -> None:
    known = [
        b for b in vars(builtins).values() if inspect.isclass(b) and issubclass(b, Exception) and b is not Exception
    ]
    assert any(issubclass(error, b) for b in known)


@pytest.mark.parametrize("error", CLASSES)
def test_each_error_has_a_code_of_its_own_in_brackets_before_the_message(error: type[OlstonError]) -> None:
    assert re.fullmatch(r"[A-Z_]+", error.code)
    assert str(error("output: broken; mend it.")) == f"[{error.code}] output: broken; mend it."
    assert [c.code for c in CLASSES].count(error.code) == 1


@pytest.mark.parametrize("error", CLASSES)
def test_an_error_may_carry_a_more_precise_code_without_changing_its_class(error: type[OlstonError]) -> None:
    usual = error.code
    assert str(error("x", code="SPECIAL")) == "[SPECIAL] x"
    assert error.code == usual


@pytest.mark.parametrize("error", CLASSES)
def test_errors_survive_pickling(error: type[OlstonError]) -> None:
    again = pickle.loads(pickle.dumps(error("x", code="SPECIAL")))
    assert (type(again), str(again)) == (error, "[SPECIAL] x")


@pytest.mark.parametrize("error", CLASSES)
def test_each_error_says_what_it_means(error: type[OlstonError]) -> None:
    assert (error.__doc__ or "").strip()


def raised() -> list[tuple[str, str]]:
    """Where the packages raise a builtin by name."""
    found = []
    for folder in ("olston", "operators", "widgets", "scheduler"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.relative_to(ROOT).parts[1:2] in (
                ("cli",),
                ("operators",),
                ("widgets",),
                ("scheduler",),
                ("examples",),
            ):
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Raise)
                    and isinstance(node.exc, ast.Call)
                    and isinstance(node.exc.func, ast.Name)
                ):
                    name = node.exc.func.id
                    # a module's __getattr__ must raise AttributeError
                    if inspect.isclass(vars(builtins).get(name)) and name != "AttributeError":
                        found.append((f"{path.relative_to(ROOT)}:{node.lineno}", name))
    return found


def test_nothing_but_errors_of_olston_is_raised() -> None:
    assert raised() == []


def test_the_nearest_valid_names_are_suggested() -> None:
    error = unknown("channel", "otuput", ["output", "pages"], "workflow 'w'")
    assert str(error) == "[UNKNOWN_NAME] channel 'otuput': no such channel in workflow 'w'; did you mean 'output'?"


def test_where_nothing_is_near_the_known_names_are_listed() -> None:
    assert "known: output, pages." in str(unknown("channel", "zzz", ["output", "pages"]))
    assert "known: none." in str(unknown("channel", "zzz", []))


def test_a_long_list_of_names_is_cut() -> None:
    message = str(unknown("channel", "zzz", [f"c{i}" for i in range(100)]))
    assert "c7, …" in message
    assert "c8" not in message
