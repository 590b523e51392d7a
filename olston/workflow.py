"""Workflows: a graph of channels and widgets, the outputs consumers read, and the promises made [2, 5]."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from olston import cron
from olston.block import BASE, DELTA, MONOTONE, Kind
from olston.caller import caller
from olston.channel import Channel, Columns
from olston.constraints import Inconsistency, Staleness
from olston.duration import Duration, microseconds
from olston.errors import ConstraintError, WorkflowError, unknown
from olston.followed import Follows, follows
from olston.operators import weak as representations
from olston.operators.columns import quoted
from olston.operators.weak import Replace, WeakDelta
from olston.pathway import Pathway, pathways_of, resolve
from olston.widgets.aggregate import Aggregate
from olston.widgets.batch import Batch
from olston.widgets.extract import Extract
from olston.widgets.widget import Policy, Widget, names

if TYPE_CHECKING:
    import networkx as nx
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Publication:
    """How an output is handed over: a published table, or a feed of blocks of the accepted kinds."""

    channel: str
    accepts: frozenset[Kind]
    table: str | None = None
    cluster_by: tuple[str, ...] = ()
    feed: bool = False
    refresh: str | None = None
    declared_at: str = field(default_factory=caller, repr=False, compare=False)
    """`FILE:LINE` of the user's code."""


@dataclass(repr=False)
class Workflow:
    """A named workflow. Declaring runs nothing and needs no Spark."""

    name: str
    channels: dict[str, Channel] = field(default_factory=dict)
    widgets: dict[str, Widget] = field(default_factory=dict)
    outputs: dict[str, Publication] = field(default_factory=dict)
    follows: dict[str, Follows] = field(default_factory=dict)
    staleness: list[Staleness] = field(default_factory=list)
    inconsistency: list[Inconsistency] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.name:
            raise WorkflowError("a workflow needs a name.")

    def __repr__(self) -> str:
        bounds = (*self.staleness, *self.inconsistency)
        counts = {"source": self.sources, "widget": self.widgets, "output": self.outputs, "bound": bounds}
        has = ", ".join(f"{len(those)} {what}{'' if len(those) == 1 else 's'}" for what, those in counts.items())
        return f"<Workflow {self.name!r}: {has}>"

    def _repr_svg_(self) -> str:
        """The picture that `olston dag` draws, for notebooks."""
        from olston.dag.graph import graph_of
        from olston.dag.svg import svg

        return svg(graph_of(self))

    def source(
        self,
        name: str,
        schema: str | StructType | None = None,
        *,
        key: Columns | None = None,
        order: str | None = None,
        files: str | None = None,
        table: str | None = None,
        poll: Duration | None = None,
        format: str | None = None,
    ) -> Channel:
        """An input channel, with columns as text or as Spark has them: `"url string, size int"` or `df.schema`.

        With `key` it takes upserts, and with `order` a late older row loses.
        `files="dir/*.parquet"` or `table="cat.db.t"` (by Delta's change feed) are followed, polled every `poll`. The
        format of files is told by their suffix, or `format="parquet" | "orc" | "csv" | "json"`. A table and files of
        the first two say themselves which columns they have, if `schema` does not.
        """
        schema = _text(name, schema)
        followed = follows(name, schema, files, table, poll, format)
        columns = None if key is None else names(key)
        if order is not None and columns is None:
            raise WorkflowError(f"{name}: order= says which row of a key is newest; give key= too.")
        if columns is not None and not 0 < len(columns) == len(set(columns)):
            raise WorkflowError(f"{name}: key={key!r}; a key is a column or a list of different ones, or left out.")
        weak = () if columns is None else (representations.replace(columns, order),)
        pathways = (Pathway(0, name, name, ()),)
        made = self._add(Channel(name, self, None, columns, weak, False, schema, pathways))
        if followed is not None:
            self.follows[name] = followed
        return made

    def batch(
        self,
        name: str,
        channels: Sequence[Channel],
        f: Callable[..., Any],
        *,
        sync: bool = False,
        policy: str = "auto",
        version: str | None = None,
        keep: bool = False,
    ) -> Channel:
        """Any function of whole tables, `f(*dataframes)`; with `sync`, tables that reflect one moment."""
        if isinstance(channels, Channel):
            raise WorkflowError(f"{name}: a batch job reads a list of channels; write [{channels.name}].")
        chosen = Policy.of(policy, name)
        placed = Batch(name, tuple(channels), sync=sync, function=f, policy=chosen, version=version, keep=keep)
        return self.place(placed)[-1]

    def place(self, widget: Widget) -> tuple[Channel, ...]:
        """Add `widget` and the channels it makes; returns its public channels."""
        if widget.name in self.widgets:
            raise WorkflowError(f"{widget.name}: workflow {self.name!r} has this name already; names are unique.")
        for channel in widget.inputs:
            if not isinstance(channel, Channel):
                raise WorkflowError(f"{widget.name}: input {channel!r} is no channel; pass what wf.source(…) returned.")
            if self.channels.get(channel.name) is not channel:
                raise WorkflowError(
                    f"{widget.name}: channel {channel.name!r} belongs to workflow {channel.workflow.name!r}, "
                    f"not to {self.name!r}; read its published table as a source instead."
                )
            if channel.internal:
                raise WorkflowError(
                    f"{widget.name}: channel {channel.name!r} is internal to widget {channel.widget!r}; "
                    f"read {channel.widget!r} instead."
                )
        widget.refuse_impossible_policy()
        parents = {o: op.inputs for op in widget.operations() for o in op.outputs}
        added: list[Channel] = []
        try:
            for made in widget.makes():
                inputs = [self.channels[p] for p in parents[made.name]]
                pathways = pathways_of(made.name, [("" if c.internal else c.name, c.pathways) for c in inputs])
                channel = Channel(made.name, self, widget.name, made.key, made.weak, made.internal, None, pathways)
                added.append(self._add(channel))
        except WorkflowError:
            for channel in added:  # refused: leave nothing behind, so that the corrected call can be made
                del self.channels[channel.name]
            raise
        self.widgets[widget.name] = widget
        return tuple(c for c in added if not c.internal)

    def weak_delta(self, channel: Channel | str, representation: WeakDelta) -> Channel:
        """Let `channel` also travel as `representation`. Widgets placed before do not see it."""
        found = self.channel(channel)
        if any(w.kind == representation.kind for w in found.weak):
            raise WorkflowError(f"{found.name}: it has a weak representation {representation.name!r} already.")
        found.weak = (*found.weak, representation)
        return found

    def output(
        self,
        channel: Channel | str,
        *,
        table: str | None = None,
        cluster_by: Columns = (),
        feed: Iterable[str] | None = None,
        refresh: str | None = None,
    ) -> Channel:
        """Hand `channel` to consumers: as a published table, or with `feed={"B", "Δ"}` as blocks of those kinds.

        `refresh="0 6 * * mon-fri"` (cron, UTC) or `refresh="6 hours"` also brings it up to date then, whatever its
        bounds say.
        """
        found = self._derived(channel, "output")
        if found.name in self.outputs:
            raise WorkflowError(f"output({found.name}): declared twice; keep one of them.")
        for other in self.outputs.values():
            if table is not None and other.table is not None and other.table.lower() == table.lower():
                raise WorkflowError(
                    f"output({found.name}): table {table!r} is that of output {other.channel!r} too; a table holds "
                    "one output."
                )
        if refresh is not None:
            cron.read(refresh, f"output({found.name}): ")
        if feed is None:
            # a table has the public columns only: what needs hidden ones to be applied cannot be brought to it
            plain = (w.kind for w in found.weak if isinstance(w, Replace) and w.plain)
            accepts = frozenset({BASE, DELTA, MONOTONE, *plain})
        else:
            known = [BASE, DELTA, MONOTONE, *(w.kind for w in found.weak)]
            accepts = frozenset(feed)
            if not accepts:
                raise WorkflowError(
                    f"{found.name}: a feed accepts at least one kind of block; known: {', '.join(known)}."
                )
            for kind in sorted(accepts):
                if kind not in known:
                    raise unknown("kind of block", kind, known, f"feed of {found.name!r}")
            through = (self.channels[c].widget for p in found.pathways for c in (*p.through, found.name))
            made = (self.widgets[w] for w in through if w is not None)
            alone = next((w.name for w in made if isinstance(w, Aggregate) and not w.by), None)
            if BASE not in accepts and alone is not None:
                raise WorkflowError(
                    f"{found.name}: a consumer of deltas alone begins with nothing, but {alone} has a row before "
                    'anything has arrived, since it aggregates all rows into one; accept B too: feed={"B", "Δ"}.'
                )
        self.outputs[found.name] = Publication(found.name, accepts, table, names(cluster_by), feed is not None, refresh)
        return found

    def bound_staleness(self, channel: Channel | str, pathway: int | str, t: Duration) -> None:
        """Promise `T[i]⁻ + t ≥ now` for `pathway`, an index or a name such as "pages>digests"."""
        found = self._derived(channel, "bound_staleness")
        which = resolve(found.name, found.pathways, pathway)
        bound = Staleness(found.name, which.index, microseconds(t))
        if any(b.channel == found.name and b.pathway == which.index for b in self.staleness):
            raise ConstraintError(f"bound_staleness({found.name}, {which.name}): declared twice; keep one of them.")
        self.staleness.append(bound)

    def bound_inconsistency(self, channel: Channel | str, t: Duration) -> None:
        """Promise `T⁺ < T⁻ + t`; 0 asks for strict consistency."""
        found = self._derived(channel, "bound_inconsistency")
        bound = Inconsistency(found.name, microseconds(t))
        if any(b.channel == found.name for b in self.inconsistency):
            raise ConstraintError(f"bound_inconsistency({found.name}): declared twice; keep one of them.")
        self.inconsistency.append(bound)

    def channel(self, channel: Channel | str) -> Channel:
        """The channel of that name in this workflow."""
        name = channel.name if isinstance(channel, Channel) else channel
        found = self.channels.get(name)
        if found is None or (found.internal and not isinstance(channel, Channel)):
            raise unknown("channel", name, self.public, f"workflow {self.name!r}")
        if isinstance(channel, Channel) and found is not channel:
            raise WorkflowError(
                f"{name}: this channel is of another workflow, {channel.workflow.name!r}, not the one of that name in "
                f"{self.name!r}; pass what this workflow returned, or the name."
            )
        return found

    @property
    def public(self) -> list[str]:
        return [c.name for c in self.channels.values() if not c.internal]

    @property
    def sources(self) -> list[str]:
        return [c.name for c in self.channels.values() if c.is_source]

    @property
    def arrivals(self) -> frozenset[str]:
        """The channels whose rows carry when they arrived: those from which `extract` takes the newest."""
        found: set[str] = set()
        wanted = [w.inputs[0] for w in self.widgets.values() if isinstance(w, Extract)]
        while wanted:
            channel = wanted.pop()
            if channel.name in found or not channel.knows_arrival:
                continue
            found.add(channel.name)
            if channel.widget is not None:
                found.update(m.name for m in self.widgets[channel.widget].makes())
                wanted += self.widgets[channel.widget].inputs
        return frozenset(found)

    def pathways(self, channel: Channel | str) -> tuple[Pathway, ...]:
        return self.channel(channel).pathways

    @property
    def graph(self) -> nx.DiGraph[str]:
        """All channels, internal ones too, with an edge from each that an operation reads to each it writes."""
        import networkx as nx  # half of the start-up time, and most uses need no graph

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.channels)
        for widget in self.widgets.values():
            for operation in widget.operations():
                graph.add_edges_from((i, o) for i in operation.inputs for o in operation.outputs)
        return graph

    def check(self) -> list[str]:
        """What is odd about this workflow, in sentences; raises `InfeasibleError` if no plan could keep its bounds."""
        from olston.scheduler.check import check  # the planner knows workflows, not the other way round

        return check(self)

    def _derived(self, channel: Channel | str, verb: str) -> Channel:
        found = self.channel(channel)
        if found.is_source:
            raise ConstraintError(
                f"{verb}({found.name}): {found.name!r} is an input channel, whose data arrives when it arrives; "
                "bound or publish a derived channel."
            )
        if found.internal:
            raise ConstraintError(f"{verb}({found.name}): this channel is internal to widget {found.widget!r}.")
        return found

    def _add(self, channel: Channel) -> Channel:
        if not channel.name or any(c in channel.name for c in ">→ \t\n"):
            raise WorkflowError(f"{channel.name!r}: a name is not empty and has no blanks, no '>' and no '→'.")
        if channel.name in self.channels:
            raise WorkflowError(f"{channel.name}: workflow {self.name!r} has this channel already; names are unique.")
        if not channel.internal and "#" in channel.name:
            raise WorkflowError(
                f"{channel.name}: '#' is kept for internal channels and repeated pathways; choose another name."
            )
        self.channels[channel.name] = channel
        return channel


def _text(source: str, schema: str | StructType | None) -> str | None:
    """The columns of a source as text."""
    if schema is None or isinstance(schema, str):
        return schema
    fields = getattr(schema, "fields", None)
    if fields is None:
        raise WorkflowError(
            f"{source}: columns {schema!r} are neither text, such as 'url string, size int', nor a StructType."
        )
    plain = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
    named = [(f.name if plain.fullmatch(f.name) else quoted(f.name), f.dataType.simpleString()) for f in fields]
    return ", ".join(f"{name} {kind}" for name, kind in named)
