"""Where the channels of a workflow lie in a picture: in layers from left to right, edges running between boxes.

An edge that passes layers gets a place in each, so that it does not run through the boxes there. Places within a layer
are put in the order of what they come from, then of what comes from them, some times over.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from olston.dag.graph import Graph, Node

CHARACTER, LINE, PADDING = 7.3, 16.0, 10.0
BETWEEN_LAYERS, BETWEEN_BOXES, MARGIN = 64.0, 18.0, 16.0
_SWEEPS = 4


@dataclass
class Box:
    """A place in a layer: a channel, or a point that an edge passes."""

    layer: int
    node: Node | None = None
    width: float = 0.0
    height: float = LINE
    x: float = 0.0
    y: float = 0.0
    before: list[Box] = field(default_factory=list, repr=False)
    after: list[Box] = field(default_factory=list, repr=False)

    @property
    def lines(self) -> tuple[str, ...]:
        """What is written in it, the name first."""
        node = self.node
        return () if node is None else (node.name, node.what, *node.notes, *node.bounds)

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass
class Layout:
    """Boxes with their places, and the edges as the boxes they pass."""

    boxes: list[Box]
    routes: list[list[Box]]
    width: float
    height: float


def layout(graph: Graph) -> Layout:
    """The places of all that is drawn."""
    layers = graph.layers()
    at = {node.name: _box(node, layers[node.name]) for node in graph.nodes}
    boxes, routes = list(at.values()), []
    for edge in graph.edges:
        route = [at[edge.start]]
        for layer in range(route[0].layer + 1, layers[edge.end]):
            route.append(Box(layer))
        boxes += route[1:]
        route.append(at[edge.end])
        for one, other in pairwise(route):
            one.after.append(other)
            other.before.append(one)
        routes.append(route)
    columns = _columns(boxes)
    width, height = _place(columns)
    return Layout(boxes, routes, width, height)


def _box(node: Node, layer: int) -> Box:
    made = Box(layer, node)
    made.width = 2 * PADDING + CHARACTER * max(len(line) for line in made.lines)
    made.height = PADDING + LINE * len(made.lines)
    return made


def _columns(boxes: list[Box]) -> list[list[Box]]:
    """The boxes of each layer, in an order with few crossings."""
    columns: list[list[Box]] = [[] for _ in range(1 + max((b.layer for b in boxes), default=-1))]
    for box in boxes:
        columns[box.layer].append(box)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        rank = {id(b): i for column in columns for i, b in enumerate(column)}
        for column in columns if forward else reversed(columns):
            column.sort(key=lambda b: _pull(b.before if forward else b.after, rank, rank[id(b)]))
            rank |= {id(b): i for i, b in enumerate(column)}
    return columns


def _pull(neighbours: list[Box], rank: dict[int, int], own: int) -> float:
    return sum(rank[id(n)] for n in neighbours) / len(neighbours) if neighbours else own


def _place(columns: list[list[Box]]) -> tuple[float, float]:
    """Give each box its place; returns the width and height of all."""
    tall = [sum(b.height for b in c) + BETWEEN_BOXES * (len(c) - 1) for c in columns]
    height, x = max(tall, default=0.0), MARGIN
    for column, own in zip(columns, tall, strict=True):
        y, wide = MARGIN + (height - own) / 2, max(b.width for b in column)
        for box in column:
            if box.node is None:  # an edge runs straight through the layer, past the widest box
                box.width = wide
            box.x, box.y = x + (wide - box.width) / 2, y
            y += box.height + BETWEEN_BOXES
        x += wide + BETWEEN_LAYERS
    return max(x - BETWEEN_LAYERS, MARGIN) + MARGIN, height + 2 * MARGIN
