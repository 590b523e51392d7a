"""A workflow as a page: the picture, and a table of what is in it. Nothing is fetched to show it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from olston.dag.colours import COLOURS
from olston.dag.graph import Graph, Node
from olston.dag.svg import svg

_STYLE = """
body { font: 15px system-ui, sans-serif; margin: 2rem; color: #222; background: #fff; }
figure { margin: 0 0 2rem; overflow-x: auto; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0; border-bottom: 1px solid #ddd; }
"""


def html(graph: Graph) -> str:
    """The text of the page."""
    name = escape(graph.name)
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{name}</title><style>{_STYLE}</style></head><body>',
            f"<h1>{name}</h1>",
            f"<figure>{svg(graph)}</figure>",
            "<table><tr><th>channel</th><th></th><th>made from</th><th>promises</th></tr>",
            *(_row(graph, node) for node in graph.nodes),
            "</table></body></html>",
        ]
    )


def _row(graph: Graph, node: Node) -> str:
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(graph, node))}</tr>"


def _cells(graph: Graph, node: Node) -> Iterator[str]:
    yield f"<b>{escape(node.name)}</b>"
    state = "" if node.state is None else f' <span style="background:{COLOURS[node.state]}">{node.state}</span>'
    yield f"{escape(node.what)}{', output' if node.is_output else ''}{state}"
    yield escape(", ".join(graph.inputs(node.name) or node.notes))
    yield "<br>".join(map(escape, node.bounds))
