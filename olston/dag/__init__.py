"""Drawing a workflow: sources, what is made of them, outputs and bounds; as text, mermaid, dot, svg or html.

One module for what is drawn, `graph`, and one for each format. None needs a network or a program to be there.
"""

from __future__ import annotations

from olston.dag.graph import Edge, Graph, Node, graph_of

__all__ = ["Edge", "Graph", "Node", "graph_of"]
