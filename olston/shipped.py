"""Which modules are sent to Spark's workers with the functions that use them: those of a project.

pyspark pickles a function by the name of its module where the module can be imported here. The file of a workflow and
the modules beside it can be imported nowhere else, so their functions and classes travel by value. Noting them imports
nothing of pyspark; `register` does, once there is a session.
"""

from __future__ import annotations

import functools
import sys
import sysconfig
from collections.abc import Collection, Iterator
from pathlib import Path
from types import ModuleType

_noted: set[str] = set()


def note(names: Collection[str]) -> None:
    """Let the functions and classes of these modules travel by value, and those of modules inside them."""
    _noted.update(names)


def folder_of(name: str) -> Path | None:
    """The folder in which the module or package `name` lies; none of what is installed, or was typed in.

    What lies in a package lies where that does, also if it was imported as if it stood alone.
    """
    module = sys.modules.get(name)
    folder = None if module is None else next(_places(module), None)
    return None if folder is None or folder in _installed() else folder


@functools.cache
def _installed() -> frozenset[Path]:
    paths = sysconfig.get_paths()
    return frozenset(Path(paths[name]).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))


def register() -> None:
    """Tell pyspark of the modules noted."""
    from pyspark import cloudpickle

    for name in _noted:
        if name in sys.modules:
            cloudpickle.register_pickle_by_value(sys.modules[name])  # type: ignore[no-untyped-call]


def beside(folder: Path, before: Collection[str]) -> Iterator[str]:
    """The modules and packages lying where `folder` does that were imported since `before` was all there was.

    What is installed in an environment below it does not lie in the folder itself.
    """
    for name, module in list(sys.modules.items()):
        if name not in before and "." not in name and _outside(folder) in _places(module):
            yield name


def _places(module: ModuleType) -> Iterator[Path]:
    """The folders in which a module, or a package, lies."""
    packages = getattr(module, "__path__", None)
    if packages is not None:
        yield from (_outside(Path(p).resolve().parent) for p in packages)
    elif file := getattr(module, "__file__", None):
        yield _outside(Path(file).resolve().parent)


def _outside(folder: Path) -> Path:
    """The folder of the package that `folder` belongs to; itself if it is no package."""
    return _outside(folder.parent) if (folder / "__init__.py").exists() else folder
