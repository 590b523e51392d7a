"""Where something was declared."""

from __future__ import annotations

import importlib

import olston as ol


def test_a_channel_and_an_output_know_the_line_of_the_users_code() -> None:
    wf = ol.Workflow("w")
    first = wf.source("s", "a int")
    few, many = first.split({"few": "a < 3"}, rest="many")
    once = few.distinct("once")
    wf.output(once)
    line = int(first.declared_at.removeprefix(f"{__file__}:"))
    assert few.declared_at == many.declared_at == f"{__file__}:{line + 1}"
    assert wf.channels["once#counts"].declared_at == once.declared_at == f"{__file__}:{line + 2}"
    assert wf.outputs["once"].declared_at == f"{__file__}:{line + 3}"


def test_the_examples_are_users_too() -> None:
    module = importlib.import_module("olston.examples.search_preprocessing.workflow")
    assert {c.declared_at.rpartition(":")[0] for c in module.wf.channels.values()} == {module.__file__}
