"""A workflow as a picture: SVG that stands on its own."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from olston.dag.colours import COLOURS
from olston.dag.graph import Graph
from olston.dag.layout import LINE, PADDING, Box, Layout, layout

_STYLE = """
text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #222; }
.name { font-weight: bold; }
.note { fill: #555; }
.bound { fill: #8a4b08; }
.box { fill: #fff; stroke: #444; }
.source { fill: #e8f0fe; }
.output { stroke-width: 2.5; }
.edge { fill: none; stroke: #777; }
"""


def svg(graph: Graph) -> str:
    """The text of the picture."""
    found = layout(graph)
    size = f'width="{found.width:.0f}" height="{found.height:.0f}" viewBox="0 0 {found.width:.0f} {found.height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(graph.name)}">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#777"/></marker></defs>',
            *_edges(found),
            *(line for box in found.boxes for line in _drawn(box)),
            "</svg>",
        ]
    )


def _edges(found: Layout) -> Iterator[str]:
    for route in found.routes:
        first = route[0]
        path = [f"M{first.x + first.width:.1f},{first.middle:.1f}"]
        for one, other in pairwise(route):
            start, end = one.x + one.width, other.x
            half = (start + end) / 2
            path.append(f"C{half:.1f},{one.middle:.1f} {half:.1f},{other.middle:.1f} {end:.1f},{other.middle:.1f}")
            if other.node is None:
                path.append(f"H{end + other.width:.1f}")
        yield f'<path class="edge" d="{" ".join(path)}" marker-end="url(#arrow)"/>'


def _drawn(box: Box) -> Iterator[str]:
    node = box.node
    if node is None:
        return
    fill = "" if node.state is None else f' style="fill:{COLOURS[node.state]}"'
    yield (
        f'<rect class="box {node.role}"{fill} x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="{12 if node.is_output else 4}"/>'
    )
    for i, line in enumerate(box.lines):
        look = "name" if i == 0 else "bound" if line in node.bounds else "note"
        y = box.y + LINE * (i + 1)
        yield f'<text class="{look}" x="{box.x + PADDING:.1f}" y="{y:.1f}">{escape(line)}</text>'
