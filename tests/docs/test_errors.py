"""The page of errors has every code that the source has, raised as the classes that raise it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_THE_COMMAND_LINE = {"USAGE": set[str](), "UNEXPECTED": set[str]()}
"""What `olston.cli` calls errors that are not olston's own."""


def trees() -> Iterator[ast.Module]:
    for folder in ("olston", "operators", "scheduler", "widgets"):
        for module in sorted((ROOT / folder).glob("**/*.py")):
            if "template" not in module.parts:
                yield ast.parse(module.read_text())


def constants() -> dict[str, str]:
    """Names that stand for codes, `MISSING` or `bag.MISSING`, and the codes."""
    found: dict[str, str] = {}
    for tree in trees():
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                value = node.value.value if isinstance(node.value, ast.Constant) else None
                if isinstance(value, str) and re.fullmatch(r"[A-Z]+(_[A-Z]+)+", value):
                    found[node.targets[0].id] = value
    return found


def raised() -> dict[str, set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    names = constants()
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                for line in node.body:
                    if isinstance(line, ast.Assign) and isinstance(line.value, ast.Constant):
                        found[str(line.value.value)].add(node.name)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error"):
                for given in (k.value for k in node.keywords if k.arg == "code"):
                    name = given.id if isinstance(given, ast.Name) else getattr(given, "attr", "")
                    code = given.value if isinstance(given, ast.Constant) else names.get(name)
                    if isinstance(code, str):  # else it passes on the code of another error
                        found[code].add(node.func.id)
    return dict(found)


def explained() -> dict[str, set[str]]:
    page = (ROOT / "docs/reference/errors.md").read_text()
    rows = re.findall(r"^\| `([A-Z_]+)` \|([^|]*)\|", page, re.MULTILINE)
    return {code: set(re.findall(r"`(\w+)`", classes)) for code, classes in rows}


def test_every_error_is_explained_with_the_class_it_is_raised_as() -> None:
    assert explained() == raised() | OF_THE_COMMAND_LINE


def test_every_explanation_has_a_meaning_and_a_way_out() -> None:
    page = (ROOT / "docs/reference/errors.md").read_text()
    tables = page.partition("## Values")[0]  # those are for whoever makes values by hand
    for row in re.findall(r"^\| `[A-Z_]+` \|.*$", tables, re.MULTILINE):
        _, _, _, meaning, way_out, _ = (cell.strip() for cell in row.split("|"))
        assert meaning, row
        assert way_out, row
