"""A workflow in the language of graphviz."""

from __future__ import annotations

from olston.dag.colours import COLOURS
from olston.dag.graph import Graph, Node

_SHAPES = {"source": "cylinder", "channel": "box", "output": "box, peripheries=2"}


def dot(graph: Graph) -> str:
    """The text of the digraph."""
    lines = [f"digraph {_quoted(graph.name)} {{", "  rankdir=LR;", "  node [fontname=sans];"]
    for node in graph.nodes:
        colour = "" if node.state is None else f', style=filled, fillcolor="{COLOURS[node.state]}"'
        lines.append(f"  {_quoted(node.name)} [shape={_SHAPES[node.role]}, label={_label(node)}{colour}];")
    lines += [f"  {_quoted(e.start)} -> {_quoted(e.end)};" for e in graph.edges]
    return "\n".join([*lines, "}"])


def _label(node: Node) -> str:
    return _quoted("\n".join((node.name, node.what, *node.notes, *node.bounds)))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
