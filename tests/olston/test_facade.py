from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import olston as ol
from olston.errors import OlstonError


def test_about_thirty_names_are_exported() -> None:
    assert 25 <= len(ol.__all__) <= 32
    assert len(set(ol.__all__)) == len(ol.__all__)


@pytest.mark.parametrize("name", ol.__all__)
def test_every_exported_name_is_there_and_documented(name: str) -> None:
    thing = getattr(ol, name)
    own = inspect.getdoc(thing) if not inspect.isclass(thing) else thing.__doc__
    assert (own or "").strip()
    assert not (own or "").startswith(f"{name}("), "the docstring that dataclass makes says nothing"


def test_no_other_public_name_slips_out() -> None:
    public = {n for n, thing in vars(ol).items() if not n.startswith("_") and not inspect.ismodule(thing)}
    assert public | {"Engine"} == set(ol.__all__)  # made known when it is first asked for


def test_every_error_that_is_exported_is_one_of_olston_and_they_are_enough_to_catch_all() -> None:
    from olston import errors

    exported = {n for n in ol.__all__ if n.endswith("Error")}
    assert exported <= {n for n, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, OlstonError)}
    assert "OlstonError" in exported


def test_every_public_method_of_workflows_and_channels_is_documented() -> None:
    for owner in (ol.Workflow, ol.Channel):
        for name, method in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_") and name != "pathways":
                assert (method.__doc__ or "").strip(), f"{owner.__name__}.{name}"


def test_importing_olston_starts_no_spark() -> None:
    done = subprocess.run([sys.executable, "-c", "import sys, olston; sys.exit('pyspark' in sys.modules)"])
    assert done.returncode == 0
