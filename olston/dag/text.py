"""A workflow as plain text, one channel a line."""

from __future__ import annotations

from olston.dag.graph import Graph


def text(graph: Graph) -> str:
    """A line for each channel: what it is, from what it is made; below it what is promised."""
    rows = []
    for node in graph.nodes:
        made = f"← {', '.join(graph.inputs(node.name))}" if node.made else "; ".join(node.notes)
        marks = ["output"] if node.is_output else []
        marks += [node.state] if node.state else []
        marks += list(node.notes) if node.made else []
        rows.append((node, made, f"[{', '.join(marks)}]" if marks else ""))
    names = max((len(n.name) for n, _, _ in rows), default=0)
    whats = max((len(n.what) for n, _, _ in rows), default=0)
    lines = [graph.name]
    for node, made, marked in rows:
        lines.append(f"  {node.name:<{names}}  {node.what:<{whats}}  {made}  {marked}".rstrip())
        lines += [f"  {'':<{names}}  {'':<{whats}}    {bound}" for bound in node.bounds]
    return "\n".join(lines)
