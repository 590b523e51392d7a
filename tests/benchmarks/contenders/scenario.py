"""What contends for what: a scenario has data in waves and one output; a contender keeps the output, in its own way.

All contenders are given the same Parquet files, read them by `load`, and keep what arrived as a table of their own:
what is timed begins with a file that nobody has looked at, and ends with a Delta table that anybody can read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    import olston as ol

Wave: TypeAlias = Mapping[str, Path]
"""What arrives at once: for each source a folder of Parquet files."""
Frames: TypeAlias = "Mapping[str, DataFrame]"

WEIGHT = "_weight"
"""+1 for a row that comes, -1 for one that goes; only where a source says that rows go."""


@dataclass(frozen=True)
class Source:
    """The columns of a source; `deletes`, the column by which rows are found that go."""

    columns: str
    deletes: str | None = None

    @property
    def offered(self) -> str:
        return f"{WEIGHT} bigint, {self.columns}" if self.deletes else self.columns


class Data(Protocol):
    """Makes waves, untimed. The same seed and size make the same."""

    def first(self) -> Wave: ...

    def wave(self, phase: str) -> Wave: ...


@dataclass(frozen=True)
class Scenario:
    """One output over some sources."""

    name: str
    sources: Mapping[str, Source]
    phases: tuple[str, ...]
    """Kinds of waves, in the order in which they are measured."""
    batch: Callable[[Frames], Any]
    """The output of everything that has arrived."""
    workflow: Callable[[bool], ol.Workflow]
    """The same for olston, with strict bounds or with those that allow asynchronous work."""
    loose: tuple[str, ...]
    """Columns that a contender has right at any time although it promises nothing."""
    data: Callable[[SparkSession, Path, int], Data] = field(compare=False)
    sure: str = "true"
    """Which rows every contender holds at any time."""
    exact: tuple[str, ...] = ()
    """Kinds of waves after which every output equals the batch result, as nothing has come yet that may wait."""


class Contender(Protocol):
    """Keeps the output of one scenario."""

    name: str
    strict: bool
    """Whether the output equals the batch result after every wave."""

    def begin(self) -> None:
        """Make the output of what arrived first, which is there already."""

    def wave(self, wave: Wave) -> None:
        """Take a wave in, and bring the output where this contender wants it."""

    def repair(self) -> None:
        """Make the output equal the batch result."""

    def output(self) -> DataFrame: ...

    def close(self) -> None: ...


def load(session: SparkSession, scenario: Scenario, source: str, path: Path) -> DataFrame:
    """A wave, or what arrived first; no job runs to find out its columns."""
    return session.read.schema(scenario.sources[source].offered).parquet(str(path))
