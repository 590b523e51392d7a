"""What is drawn of a workflow: its public channels, from what each is made and how, and what is promised of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from olston.duration import show_duration

if TYPE_CHECKING:
    from olston.report import StatusOf
    from olston.workflow import Workflow


@dataclass(frozen=True)
class Node:
    """A channel. `made` is what makes it, empty for sources; `state` says how it stands, if that was asked for."""

    name: str
    made: str
    is_output: bool
    notes: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    state: str | None = None

    @property
    def role(self) -> str:
        return "output" if self.is_output else "channel" if self.made else "source"

    @property
    def what(self) -> str:
        """In a word, what it is."""
        return self.made or "source"


@dataclass(frozen=True)
class Edge:
    """Channel `end` is made from channel `start`."""

    start: str
    end: str


@dataclass(frozen=True)
class Graph:
    """A workflow as it is drawn; nodes in an order in which they could be made."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def inputs(self, name: str) -> list[str]:
        """The channels that one is made from."""
        return [e.start for e in self.edges if e.end == name]

    def layers(self) -> dict[str, int]:
        """How many operations lie between a channel and the sources, at most."""
        found: dict[str, int] = {}
        for node in self.nodes:
            found[node.name] = 1 + max((found[i] for i in self.inputs(node.name)), default=-1)
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            "workflow": self.name,
            "channels": [{**asdict(n), "role": n.role} for n in self.nodes],
            "edges": [{"from": e.start, "to": e.end} for e in self.edges],
        }


def graph_of(workflow: Workflow, status: StatusOf | None = None) -> Graph:
    """What is drawn of `workflow`; internal channels are left out. `status` says how its outputs stand."""
    states = {} if status is None else {o.output: o.state for o in status.outputs}
    nodes = tuple(_node(workflow, name, states) for name in workflow.public)
    edges = []
    for widget in workflow.widgets.values():
        for made in widget.makes():
            if not made.internal:
                edges += [Edge(channel.name, made.name) for channel in widget.inputs]
    return Graph(workflow.name, nodes, tuple(edges))


def _node(workflow: Workflow, name: str, states: Mapping[str, str]) -> Node:
    channel = workflow.channels[name]
    made = "" if channel.widget is None else type(workflow.widgets[channel.widget]).__name__.lower()
    notes = []
    if channel.is_source:
        followed = workflow.follows.get(name)
        notes += [str(followed)] if followed is not None else []
        notes += [f"key {', '.join(channel.key)}"] if channel.key else []
    output = workflow.outputs.get(name)
    if output is not None:
        notes += [f"table {output.table}"] if output.table else []
        notes += [f"feed of {', '.join(sorted(output.accepts))}"] if output.feed else []
        notes += [f"refreshed {output.refresh}"] if output.refresh else []
    bounds = [
        f"{channel.pathways[b.pathway].name}: {f'≤ {show_duration(b.bound)} stale' if b.bound else 'never stale'}"
        for b in workflow.staleness
        if b.channel == name
    ] + [
        f"inconsistency < {show_duration(b.bound)}" if b.bound else "consistent"
        for b in workflow.inconsistency
        if b.channel == name
    ]
    return Node(name, made, output is not None, tuple(notes), tuple(bounds), states.get(name))
