"""DESIGN 7: what counts as a change of a definition, and what it touches."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import olston as ol
from olston.definition import digests, own
from olston.meaning import describe


def workflow(
    function: Callable[[Any], Any], *, version: str | None = None, condition: str = "v > 1", **options: Any
) -> ol.Workflow:
    wf = ol.Workflow("w")
    rows = wf.source("rows", "k int, v int")
    mapped = rows.map("mapped", function, version=version, **options)
    mapped.aggregate("counts", by="k", n=ol.count())
    rows.filter("kept", condition)
    return wf


def changed(before: ol.Workflow, after: ol.Workflow) -> set[str]:
    old, new = digests(before), digests(after)
    return {name for name in old | new if old.get(name) != new.get(name)}


def twice(df: Any) -> Any:
    return df.selectExpr("k", "v * 2 AS v")


def test_the_same_definition_has_the_same_digests() -> None:
    assert changed(workflow(twice), workflow(twice)) == set()


def test_formatting_comments_and_docstrings_are_no_change() -> None:
    def other(df: Any) -> Any:
        """It doubles."""
        # twice as much
        return df.selectExpr(
            "k",
            "v * 2 AS v",
        )

    assert changed(workflow(twice), workflow(other)) == set()


def test_a_changed_function_changes_its_channel_and_all_downstream_and_nothing_else() -> None:
    def thrice(df: Any) -> Any:
        return df.selectExpr("k", "v * 3 AS v")

    assert changed(workflow(twice), workflow(thrice)) == {"mapped", "counts"}


def test_what_a_function_closes_over_is_part_of_it() -> None:
    def times(n: int) -> Callable[[Any], Any]:
        return lambda df: df.selectExpr("k", f"v * {n} AS v")

    assert changed(workflow(times(2)), workflow(times(2))) == set()
    assert changed(workflow(times(2)), workflow(times(3))) == {"mapped", "counts"}


def test_a_version_stands_for_the_code() -> None:
    def thrice(df: Any) -> Any:
        return df.selectExpr("k", "v * 3 AS v")

    assert changed(workflow(twice, version="1"), workflow(thrice, version="1")) == set()
    assert changed(workflow(twice, version="1"), workflow(twice, version="2")) == {"mapped", "counts"}


def test_a_changed_condition_is_a_change() -> None:
    assert changed(workflow(twice), workflow(twice, condition="v > 2")) == {"kept"}


@pytest.mark.parametrize("options", [{"policy": "full"}, {"keep": True}])
def test_how_it_is_run_is_no_change(options: dict[str, Any]) -> None:
    assert changed(workflow(twice), workflow(twice, **options)) == set()


def test_bounds_and_outputs_are_no_change() -> None:
    bounded = workflow(twice)
    bounded.output("counts")
    bounded.bound_staleness("counts", 0, "1 day")
    assert changed(workflow(twice), bounded) == set()


def test_a_source_with_other_columns_changes_everything_downstream() -> None:
    other = ol.Workflow("w")
    rows = other.source("rows", "k int, v bigint")
    rows.map("mapped", twice).aggregate("counts", by="k", n=ol.count())
    rows.filter("kept", "v > 1")
    assert changed(workflow(twice), other) == {"rows", "mapped", "counts", "kept"}


@pytest.mark.parametrize(
    ("columns", "otherwise"),
    [
        ("k int, v int", "k int,v int"),
        ("k int, v int", " K  INT ,\n V integer "),
        ("k int, v int", "k: int, v: int"),
        ("k int, v int", "k int COMMENT 'a, b', v int"),
        ("k decimal(10,2), v map<string,bigint>", "k numeric( 10, 2 ), v MAP<string, long>"),
        ("k struct<long:bigint,b:array<int>>", "k STRUCT<long: LONG, b: array< integer >>"),
        ("long double, comment string", "long double,comment string"),
        ("`a,b  c` int, v string not null", "`a,b  c` int,v string NOT NULL"),
    ],
)
def test_columns_are_the_same_however_they_are_written(columns: str, otherwise: str) -> None:
    def of(schema: str) -> str:
        wf = ol.Workflow("w")
        wf.source("rows", schema)
        return digests(wf)["rows"]

    assert of(columns) == of(otherwise)
    assert of(columns) == _digest_of("source", "rows", columns, "None", ""), "and as catalogs know it"


def _digest_of(*words: str) -> str:
    own_ = hashlib.sha256("\x1f".join(words).encode()).hexdigest()[:16]
    return hashlib.sha256(own_.encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    "other", ["k int, v bigint", "v int, k int", "k int", "k int, w int", "k int, v array<int>", "k int, `v ` int"]
)
def test_other_columns_are_others(other: str) -> None:
    wf, changed_ = ol.Workflow("w"), ol.Workflow("w")
    wf.source("rows", "k int, v int")
    changed_.source("rows", other)
    assert changed(wf, changed_) == {"rows"}


def module(text: str) -> dict[str, Any]:
    """The names that a module of that text defines."""
    names: dict[str, Any] = {"__name__": "jobs"}
    exec(text, names)
    return names


NAMED = """
LIMIT, SITES = {limit}, ("a", "b")
def helper(df):
    return df.where(f"v < {{LIMIT}}")
def function(df):
    return [helper(df) for _ in SITES][0]
"""


def test_functions_and_constants_that_a_function_names_are_part_of_it() -> None:
    before, same, after = (module(NAMED.format(limit=n))["function"] for n in (5, 5, 6))
    assert changed(workflow(before), workflow(same)) == set()
    assert changed(workflow(before), workflow(after)) == {"mapped", "counts"}


def test_a_default_that_is_given_by_keyword_only_is_part_of_a_function() -> None:
    def times(n: int) -> Callable[[Any], Any]:
        def function(df: Any, *, by: int = n) -> Any:
            return df.selectExpr("k", f"v * {by} AS v")

        return function

    assert changed(workflow(times(2)), workflow(times(3))) == {"mapped", "counts"}


def test_what_is_none_is_part_of_a_function_too() -> None:
    def between(low: int | None, high: int | None) -> Callable[[Any], Any]:
        return lambda df: (df, low, high)

    assert changed(workflow(between(None, 5)), workflow(between(5, None))) == {"mapped", "counts"}


class Times:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, df: Any) -> Any:
        return df.selectExpr("k", f"v * {self.n} AS v")

    def method(self, df: Any) -> Any:
        return self(df)


def test_the_state_of_an_object_that_is_called_is_part_of_it() -> None:
    for two, again, three in ((Times(2), Times(2), Times(3)), (Times(2).method, Times(2).method, Times(3).method)):
        assert changed(workflow(two), workflow(again)) == set()
        assert changed(workflow(two), workflow(three)) == {"mapped", "counts"}


def test_a_function_may_call_itself() -> None:
    def deep(df: Any, levels: int = 3) -> Any:
        return deep(df, levels - 1) if levels else df

    assert changed(workflow(deep), workflow(deep)) == set()


SETS = """
import olston as ol
from olston.definition import digests, own
class Session:
    def __init__(self): self.names = {"st", "uv", "wx", "yz"}
def function(session, names):
    return lambda df: df.where(str(session) in {"ab", "cd", "ef", "gh", "ij"} or bool(names))
wf = ol.Workflow("w")
wf.source("rows", "k int").map("mapped", function(Session(), {"kl", "mn", "op", "qr"}))
print(digests(wf)["mapped"])
"""


def test_digests_are_the_same_in_every_process() -> None:
    def digest(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.check_output([sys.executable, "-c", SETS], env=environment, text=True)

    assert digest("1") == digest("2") == digest("3")


def test_digests_are_those_that_homes_already_have() -> None:
    """Another way to digest would refuse every source at which data has arrived."""
    wf = ol.Workflow("w")
    wf.source("rows", "k int, v int", key="k").aggregate("sums", by="k", total=ol.sum("v"))
    assert own(wf) == {"rows": "50916f325029391b", "sums": "e588c377f53eb0aa"}


def files(folder: Path, **modules: str) -> dict[str, ModuleType]:
    """A package of that name, with modules of those texts."""
    package = folder / "jobs"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text)
    known = {n for n in sys.modules if n.partition(".")[0] == "jobs"}
    for name in known:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        return {name: importlib.import_module(f"jobs.{name}") for name in modules}
    finally:
        sys.path.remove(str(folder))
        for name in [n for n in sys.modules if n.partition(".")[0] == "jobs"]:
            del sys.modules[name]


MEMBERS = {
    "a helper of another module": "from jobs import helping\ndef function(df): return helping.helper(df)",
    "a helper of a module in a package": "import jobs.helping\ndef function(df): return jobs.helping.helper(df)",
    "a constant of another module": "from jobs import helping\ndef function(df): return df.limit(helping.LIMIT)",
    "a static method": "from jobs.helping import Helper\ndef function(df): return Helper.static(df)",
    "a class method that calls another": "from jobs.helping import Helper\ndef function(df): return Helper.outer(df)",
    "a method of an object that is made": "from jobs.helping import Helper\ndef function(df): return Helper(df).own()",
    "a property": "from jobs.helping import Helper\ndef function(df): return Helper(df).limited",
    "what an initialiser does": "from jobs.helping import Begun\ndef function(df): return Begun(df).df",
    "a value of an enumeration": "from jobs.helping import Kept\ndef function(df): return df.limit(Kept.FEW.value)",
    "a helper that is cached": "from jobs.helping import cached\ndef function(df): return df.limit(cached())",
    "a helper with arguments given": "from jobs.helping import partly\ndef function(df): return partly(df)",
    "a tuple of tuples": "from jobs.helping import NESTED\ndef function(df): return df.limit(NESTED[0][1])",
    "a method of its own object": "from jobs.helping import Helper\nfunction = Helper(None).method",
    "a method of an object closed over": "from jobs.helping import closing\nfunction = closing()",
}

HELPING = """
import enum, functools
LIMIT, NESTED = {n}, (("a", {n}), (None,))
def helper(df): return df.limit({n})
def given(n, df): return df.limit(n)
partly = functools.partial(given, {n})
@functools.cache
def cached(): return {n}
class Kept(enum.Enum):
    FEW = {n}
class Begun:
    def __init__(self, df): self.df = df.limit({n})
class Helper:
    def __init__(self, df): self.df = df
    @staticmethod
    def static(df): return df.limit({n})
    @classmethod
    def outer(cls, df): return cls.inner(df)
    @classmethod
    def inner(cls, df): return df.limit({n})
    def own(self): return self.df.limit({n})
    @property
    def limited(self): return self.df.limit({n})
    def method(self, df): return self.other(df)
    def other(self, df): return df.limit({n})
    def unused(self, df): return {m}
def closing():
    helper = Helper(None)
    return lambda df: helper.other(df)
def unused(): return {m}
"""


@pytest.mark.parametrize("text", MEMBERS.values(), ids=MEMBERS)
def test_what_a_function_names_as_a_member_of_its_own_package_is_part_of_it(text: str, tmp_path: Path) -> None:
    def function(n: int, m: int, folder: str) -> Any:
        (tmp_path / folder).mkdir()
        return files(tmp_path / folder, helping=HELPING.format(n=n, m=m), using=text)["using"].function

    before, unused, after = function(1, 1, "before"), function(1, 2, "unused"), function(2, 1, "after")
    assert changed(workflow(before), workflow(unused)) == set()
    assert changed(workflow(before), workflow(after)) == {"mapped", "counts"}


def test_modules_and_classes_that_name_each_other_can_be_described(tmp_path: Path) -> None:
    one = "from jobs import two\nimport jobs.two, jobs\nclass C:\n    def f(self): return two.D.g(self), jobs.one.C\n"
    two = "import jobs\nclass D:\n    def g(self): return jobs.one.C.f(self), jobs.two.D, self.g()\n"
    function = files(tmp_path, one=one + "def function(df): return C().f(two, jobs.one)", two=two)["one"].function
    assert changed(workflow(function), workflow(function)) == set()


class Slotted:
    __slots__ = ("empty", "n")

    def __init__(self, n: Any) -> None:
        self.n = n


class Plain:
    def __init__(self, n: Any) -> None:
        self.n = n


@pytest.mark.parametrize("made", [Plain, Slotted, lambda n: Plain([Slotted(n)])], ids=["plain", "slots", "nested"])
def test_what_an_object_that_is_closed_over_consists_of_is_part_of_a_function(made: Callable[[int], Any]) -> None:
    def times(by: Any) -> Callable[[Any], Any]:
        return lambda df: df.selectExpr("k", f"v * {by.n} AS v")

    assert changed(workflow(times(made(2))), workflow(times(made(2)))) == set()
    assert changed(workflow(times(made(2))), workflow(times(made(3)))) == {"mapped", "counts"}


def test_an_object_may_hold_itself() -> None:
    held = Plain(None)
    held.n = Slotted(held)
    assert changed(workflow(lambda df: (df, held)), workflow(lambda df: (df, held))) == set()


def test_an_object_of_another_package_counts_by_what_it_prints() -> None:
    """A session, say, consists of ports and addresses that every process has others of."""
    other = type("Session", (), {"__module__": "pyspark.sql"})
    before, after = other(), other()
    before.port, after.port = 1, 2

    def using(session: Any) -> Callable[[Any], Any]:
        return lambda df: (df, session)

    assert changed(workflow(using(before)), workflow(using(after))) == set()


def test_the_type_that_a_udf_is_declared_with_is_part_of_it() -> None:
    from pyspark.sql import functions as F
    from pyspark.sql.types import IntegerType, LongType

    def using(declared: Any) -> Callable[[Any], Any]:
        udf = F.udf(lambda v: v, declared)
        return lambda df: df.select("k", udf("v").alias("v"))

    assert changed(workflow(using(IntegerType())), workflow(using(IntegerType()))) == set()
    assert changed(workflow(using(IntegerType())), workflow(using(LongType()))) == {"mapped", "counts"}


def test_the_text_of_an_ordinary_function_is_what_it_always_was() -> None:
    """Another text would have every user's channels computed anew."""
    closed = {"x": (1, {2, 3})}

    def function(df: Any, *, n: int = 1) -> Any:
        return df.limit(n), closed

    assert describe(function).startswith("(df, n): ")
    assert describe(function).endswith("|[None, {'n': 1}]|[\"{'x': [1, {2, 3}]}\"]|")
