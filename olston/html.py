"""What is printed, as HTML: tables as tables, trees as lists, all else as text. For notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def html(shown: Any) -> str:
    """A text, table, tree or group of rich as HTML; what has a `__rich__` as what that gives."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    if hasattr(shown, "__rich__"):
        return html(shown.__rich__())
    if isinstance(shown, Table):
        return "".join(_table(shown))
    if isinstance(shown, Tree):
        below = "".join(f"<li>{html(child)}</li>" for child in shown.children)
        return html(shown.label) + (f"<ul>{below}</ul>" if below else "")
    if isinstance(shown, Group):
        return "".join(f"<div>{html(part)}</div>" for part in shown.renderables)
    text = shown.plain if isinstance(shown, Text) else Text.from_markup(str(shown)).plain
    return escape(text).replace("\n", "<br/>")


def _table(table: Table) -> Iterator[str]:
    yield "<table>"
    if table.title:
        yield f"<caption style='text-align: left'>{html(table.title)}</caption>"
    sides = [column.justify if column.justify in ("left", "right", "center") else "left" for column in table.columns]
    if table.show_header:
        yield from _row("th", [column.header for column in table.columns], sides)
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        yield from _row("td", cells, sides)
    yield "</table>"


def _row(tag: str, cells: Iterable[Any], sides: Sequence[str]) -> Iterator[str]:
    yield "<tr>"
    for cell, side in zip(cells, sides, strict=True):
        yield f"<{tag} style='text-align: {side}'>{html(cell)}</{tag}>"
    yield "</tr>"
