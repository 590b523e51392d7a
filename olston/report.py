"""What the engine answers with: objects that print well in a terminal and in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from olston.block import Block
from olston.duration import show_duration, show_measured
from olston.html import html
from olston.pathway import Pathway
from olston.provenance import Provenance, Stamp
from olston.timeline import History

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from olston.standing import Standing


WHOLE = 46
"""Names up to so long are kept whole in a table, where sentences can be broken instead."""
OUTDATED = "of another definition, by the pathways of that one"


class Shown(ABC):
    """An answer that can be printed: plain text by `print` and at a prompt, a table in a notebook."""

    @abstractmethod
    def __rich__(self) -> RenderableType: ...

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(width=120, color_system=None, force_jupyter=False)  # text, wherever it is printed
        with console.capture() as captured:
            console.print(self)
        return captured.get().rstrip()

    def _repr_html_(self) -> str:
        return html(self)


@dataclass(frozen=True, repr=False)
class ProvenanceOf(Shown):
    """Which snapshots of which inputs a channel reflects, how old they are, and how far apart."""

    channel: str
    content: Provenance
    pathways: tuple[Pathway, ...]
    history: History
    outdated: bool = False
    """Whether another definition made it; then the pathways are those of that one."""

    def to_dict(self) -> dict[str, Any]:
        inputs = [p.input for p in self.pathways]
        return {
            "channel": self.channel,
            "pathways": [
                {
                    "index": p.index,
                    "name": p.name,
                    "input": p.input,
                    "snapshots": sorted(self.content[p.index]),
                    "staleness_seconds": self.history.staleness(self.content, inputs, p.index) / 1e6,
                }
                for p in self.pathways
            ],
            "consistent": self.history.consistent(self.content, inputs),
            "inconsistency_seconds": self.history.inconsistency(self.content, inputs) / 1e6,
            "outdated": self.outdated,
        }

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        facts = self.to_dict()
        table = Table(title=f"{self.channel} reflects", title_justify="left", box=None, pad_edge=False)
        table.add_column("")
        add_names(table, "pathway", [p.name for p in self.pathways])
        for heading in ("snapshots", "stale for"):
            table.add_column(heading, overflow="fold")
        for p in facts["pathways"]:
            stale = int(p["staleness_seconds"] * 1e6)
            table.add_row(
                str(p["index"]), Text(p["name"]), moments(p["snapshots"]), show_measured(stale) if stale else "fresh"
            )
        apart = int(facts["inconsistency_seconds"] * 1e6)
        verdict = "consistent" if facts["consistent"] else f"inconsistent by {show_duration(apart)}"
        return Group(table, verdict, *([Text(f"{OUTDATED}; refresh it")] if self.outdated else []))


@dataclass(frozen=True, repr=False)
class Report(Shown):
    """What a refresh did: the steps, expected against actual seconds, and what consumers hold now."""

    steps: tuple[tuple[str, float, float], ...] = ()
    delivered: Mapping[str, Provenance] = field(default_factory=dict)
    plans: int = 0

    @property
    def seconds(self) -> float:
        return sum(actual for _, _, actual in self.steps)

    def to_dict(self) -> dict[str, Any]:
        return {
            "plans": self.plans,
            "steps": [{"step": n, "expected": e, "seconds": a} for n, e, a in self.steps],
            "delivered": {name: content.to_json() for name, content in self.delivered.items()},
        }

    def __rich__(self) -> RenderableType:
        from rich.table import Table
        from rich.text import Text

        if not self.steps:
            return "nothing was due"
        table = Table(title=f"{steps(len(self.steps))} in {self.seconds:.1f} s", title_justify="left", box=None)
        for heading in ("step", "expected s", "took s"):
            table.add_column(heading, overflow="fold")
        for name, expected, actual in self.steps:
            table.add_row(Text(name), f"{expected:.2f}", f"{actual:.2f}")
        return table


def add_names(table: Table, heading: str, names: Iterable[str]) -> None:
    """Add a column for `names`, which are never cut: long ones are folded."""
    table.add_column(heading, overflow="fold", no_wrap=all(len(name) <= WHOLE for name in names))


def steps(count: int) -> str:
    """`1 step`, `2 steps`."""
    return f"{count} step{'' if count == 1 else 's'}"


def moments(stamps: Sequence[Stamp]) -> str:
    """Stamps as people read them: moments of time where they are, bare numbers where a logical clock made them."""
    if len(stamps) > 4:
        return f"{moment(stamps[0])} … {moment(stamps[-1])} ({len(stamps)})"
    return ", ".join(moment(s) for s in stamps)


def moment(stamp: Stamp) -> str:
    if stamp == 0:
        return "empty"
    if stamp < 10**14:
        return str(stamp)
    return datetime.fromtimestamp(stamp / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")


def reached(block: Block) -> str:
    """A block with the newest snapshots that it leads to, one for each pathway."""
    newest = ", ".join("–" if s is None else moment(s) for s in block.target.newest)
    return f"{block.kind} to {newest}" if block.source is not None else f"{block.kind} at {newest}"


def called(block: Block) -> str:
    """How people are told of a block: its channel, and what it reaches."""
    return f"{block.channel} {reached(block)}"


@dataclass(frozen=True)
class BoundOf:
    """A bound of an output, how far the content is from it, and when it would break if nothing arrived.

    `measured_seconds` is the staleness or inconsistency that it bounds.
    """

    bound: str
    left_seconds: float
    breaks_at: Stamp | None = None
    measured_seconds: float = 0.0


@dataclass(frozen=True)
class OutputOf:
    """How an output stands: what it holds, its bounds, whether it is due, and what failed last."""

    output: str
    due: bool
    held: ProvenanceOf | None
    bounds: tuple[BoundOf, ...]
    failed: str | None = None
    outdated: bool = False
    """Whether it holds what another definition made: `held` is of that one, or none if that cannot be told any more."""

    @property
    def state(self) -> str:
        """How it stands, in a word or two."""
        if self.outdated:
            return "of another definition"
        if self.held is None:
            return "holds nothing"
        return "due" if self.due else "kept"


@dataclass(frozen=True, repr=False)
class StatusOf(Shown):
    """Every output with its freshness and consistency against each bound."""

    workflow: str
    outputs: tuple[OutputOf, ...]
    paused: bool = False
    warnings: tuple[str, ...] = ()
    """What is wrong with data that arrived."""
    standing: Standing | None = None

    @property
    def stale(self) -> tuple[str, ...]:
        """The outputs that break a bound now, or hold nothing that their definition made."""
        return tuple(
            o.output for o in self.outputs if o.held is None or o.outdated or any(b.left_seconds < 0 for b in o.bounds)
        )

    @property
    def next_deadline(self) -> tuple[str, Stamp] | None:
        """The output whose bound will be the next to break, and when, if nothing is done."""
        coming = [
            (b.breaks_at, o.output)
            for o in self.outputs if not o.due
            for b in o.bounds if b.breaks_at is not None
        ]  # fmt: skip
        moment, output = min(coming, default=(None, ""))
        return None if moment is None else (output, moment)

    def to_dict(self) -> dict[str, Any]:
        deadline = self.next_deadline
        return {
            "workflow": self.workflow,
            "paused": self.paused,
            "warnings": list(self.warnings),
            "stale": list(self.stale),
            "next_deadline": None if deadline is None else {"output": deadline[0], "at": deadline[1]},
            **({} if self.standing is None else self.standing.to_dict()),
            "outputs": [
                {
                    "output": o.output,
                    "due": o.due,
                    "provenance": None if o.held is None else o.held.to_dict(),
                    "bounds": [asdict(b) for b in o.bounds],
                    "failed": o.failed,
                    "outdated": o.outdated,
                }
                for o in self.outputs
            ],
        }

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(title=f"{self.workflow}{', paused' if self.paused else ''}", title_justify="left", box=None)
        for heading in ("output", "", "bound", "is", "left", "breaks at"):
            table.add_column(heading, overflow="fold")
        for o in self.outputs:
            for i, b in enumerate(o.bounds or (BoundOf("" if o.held is None or o.outdated else "no bound", 0.0),)):
                spans = [_span(s) for s in (b.measured_seconds, b.left_seconds)] if o.bounds else ["", ""]
                when = moment(b.breaks_at) if b.breaks_at is not None else ""
                table.add_row("" if i else o.output, "" if i else o.state, b.bound, *spans, when)
        former = [o.held for o in self.outputs if o.outdated and o.held is not None]
        return Group(table, *former, *map(Text, (*self._busy(), *self.warnings)))

    def _busy(self) -> Iterator[str]:
        """What is going on, as lines below the outputs."""
        now = self.standing
        if now is not None and now.scheduler is not None:
            yield f" scheduled by {now.scheduler}"
        for s in now.running if now is not None else ():
            yield f" running: {s.step}, since {moment(s.started_at)}, about {s.expected_seconds:.1f} s"
        failures = now.failures if now is not None and any(o.due for o in self.outputs) else ()
        for s in failures:
            yield f" failed: {s.step}, at {moment(s.started_at)}: {s.error}"
        for o in self.outputs:
            if o.failed and not any(o.failed in (s.error or "") for s in failures):
                yield f" failed: {o.output}: {o.failed}"
        if self.next_deadline is not None:
            yield f" next: {self.next_deadline[0]} breaks a bound at {moment(self.next_deadline[1])}"


@dataclass(frozen=True)
class Tried:
    """A step that was tried: expected against actual cost and rows; `rows` is none where they were not counted."""

    step: str
    state: str
    started_at: Stamp
    expected_seconds: float
    seconds: float | None
    expected_rows: float
    rows: float | None
    error: str | None = None


@dataclass(frozen=True, repr=False)
class HistoryOf(Shown):
    """Steps, the newest first."""

    steps: tuple[Tried, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"steps": [asdict(s) for s in self.steps]}

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        if not self.steps:
            return Text("nothing ran yet")
        table = Table(box=None, pad_edge=False)
        table.add_column("started", no_wrap=True)
        for heading in ("step", "", "expected\ns", "took\ns", "expected\nrows", "rows"):
            table.add_column(heading, overflow="fold")
        for s in self.steps:
            took = "" if s.seconds is None else f"{s.seconds:.2f}"
            rows = "" if s.rows is None else f"{s.rows:,.0f}"
            expected = f"{s.expected_seconds:.2f}", f"{s.expected_rows:,.0f}"
            table.add_row(moment(s.started_at), s.step, s.state, expected[0], took, expected[1], rows)
        reasons = [f"{moment(s.started_at)} {s.error.splitlines()[0]}" for s in self.steps if s.error]
        return Group(table, *(Text(reason) for reason in reasons))


def _span(seconds: float) -> str:
    return f"{'−' if seconds < 0 else ''}{show_measured(abs(int(seconds * 1e6)))}"
