"""Definitions: what each channel is computed by, as a digest, so that a change is noticed (DESIGN 7).

The digest of a channel covers the parameters of its widget, the code of its functions (`olston.meaning`) or the
`version=` given instead, and the digests of its inputs. Formatting and comments are no change; bounds, outputs and
policies neither, since what was computed stays right.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from olston.meaning import describe
from olston.widgets.widget import Widget

if TYPE_CHECKING:
    from olston.workflow import Workflow

_NOT_MEANING = frozenset({"name", "inputs", "policy", "version", "keep"})
_TOKEN = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[,:()<>]|[^\s`'\",:()<>]+")
_SYNONYMS = {
    "integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "real": "float", "dec": "decimal",
    "numeric": "decimal",
}  # fmt: skip
"""Names that Spark gives to one type."""


def digests(workflow: Workflow) -> dict[str, str]:
    """The digest of every channel, internal ones too: of its own definition, and of all that it is computed from."""
    found: dict[str, str] = {}
    alone = own(workflow)
    for channel in workflow.channels.values():
        widget = workflow.widgets[channel.widget] if channel.widget else None
        inputs = () if widget is None else widget.inputs
        found[channel.name] = _digest(alone[channel.name], *(found[c.name] for c in inputs))
    return found


def together(digests: Mapping[str, str]) -> str:
    """The digests of all channels as one: whether two processes know a workflow by the same definition."""
    return _digest(*(f"{name}={digest}" for name, digest in sorted(digests.items())))


def own(workflow: Workflow) -> dict[str, str]:
    """The digest of every channel's own definition, whatever it is computed from."""
    return {name: _digest(*_words(name, said)) for name, said in definitions(workflow).items()}


def _words(name: str, said: Mapping[str, Any]) -> Iterator[str]:
    """What is digested. Never to be said otherwise: a source whose digest changes is refused where data has arrived."""
    yield from ("source", name) if said["is"] == "source" else (name, said["is"])
    for part, text in said.items():
        if part == "inputs":
            yield from text
        elif part != "is":
            yield text if said["is"] == "source" else f"{part}={text}"


def definitions(workflow: Workflow) -> dict[str, dict[str, Any]]:
    """What every channel is, and by what it is computed: the parameters of its widget, and the names of its inputs."""
    found: dict[str, dict[str, Any]] = {}
    for channel in workflow.channels.values():
        if channel.is_source:
            schema = _spelled(str(channel.schema))
            weak = ",".join(sorted(w.name for w in channel.weak))
            found[channel.name] = {"is": "source", "columns": schema, "key": str(channel.key), "weak": weak}
    for widget in workflow.widgets.values():
        said = {"is": type(widget).__name__, **dict(_parameters(widget)), "inputs": [c.name for c in widget.inputs]}
        found.update({made.name: said for made in widget.makes()})
    return found


def _spelled(columns: str) -> str:
    """Columns in one spelling, however they are written: `k string, v int`.

    Spaces, capitals, colons, comments and Spark's other names for types do not matter.
    """
    tokens, words = _TOKEN.findall(columns.lower()), list[str]()
    depth, comment = 0, False
    for i, token in enumerate(tokens):
        before, after = tokens[i - 1] if i else ",", tokens[i + 1] if i + 1 < len(tokens) else ","
        if comment or (token == "comment" and after[0] in "'\"" and before != ","):
            comment = not comment
            continue
        depth += (token in "(<") - (token in ")>")
        is_name = after == ":" or (not depth and before == ",")
        if token == ":" and not depth:
            continue
        if token in ",:()<>":
            words.append(f"{token} " if token == "," and not depth else token)
        else:
            apart = bool(words) and words[-1][-1] not in " ,:(<"
            words.append(f"{' ' if apart else ''}{token if is_name else _SYNONYMS.get(token, token)}")
    return "".join(words)


def _parameters(widget: Widget) -> Iterator[tuple[str, str]]:
    for field in fields(widget):
        if field.name not in _NOT_MEANING:
            given = widget.version if field.name == "function" and widget.version is not None else None
            yield field.name, str(given) if given is not None else describe(getattr(widget, field.name))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]
