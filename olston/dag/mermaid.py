"""A workflow as a mermaid flowchart, which Markdown pages of many hosts show as a picture."""

from __future__ import annotations

from olston.dag.colours import COLOURS
from olston.dag.graph import Graph, Node

_SHAPES = {"source": ('[("', '")]'), "channel": ('["', '"]'), "output": ('(["', '"])')}


def mermaid(graph: Graph) -> str:
    """The text of the flowchart."""
    ids = {node.name: f"n{i}" for i, node in enumerate(graph.nodes)}
    lines = ["flowchart LR"]
    for node in graph.nodes:
        opening, closing = _SHAPES[node.role]
        lines.append(f"  {ids[node.name]}{opening}{_label(node)}{closing}")
    lines += [f"  {ids[e.start]} --> {ids[e.end]}" for e in graph.edges]
    for node in graph.nodes:
        if node.state is not None:
            lines.append(f"  style {ids[node.name]} fill:{COLOURS[node.state]}")
    return "\n".join(lines)


def _label(node: Node) -> str:
    parts = [f"<b>{_escaped(node.name)}</b>", *map(_escaped, (node.what, *node.notes, *node.bounds))]
    return "<br/>".join(parts)


def _escaped(text: str) -> str:
    for character, code in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, code)
    return text
