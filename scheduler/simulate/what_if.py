"""What would this promise cost? The same run under other bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from olston.constraints import Inconsistency, Staleness
from olston.duration import microseconds, show_duration
from olston.errors import ConstraintError
from olston.pathway import resolve
from olston.workflow import Workflow

_FORM = re.compile(r"\s*(staleness|inconsistency)\s*\(([^)]*)\)\s*=\s*(.+)", re.DOTALL)


@dataclass(frozen=True)
class Setting:
    """A bound and the values to try for it."""

    channel: str
    pathway: int | None
    values: tuple[int, ...]

    @property
    def label(self) -> str:
        if self.pathway is None:
            return f"inconsistency({self.channel})"
        return f"staleness({self.channel}, {self.pathway})"

    def applied(self, workflow: Workflow, value: int) -> Workflow:
        """A copy of `workflow` with this bound at `value`."""
        if self.pathway is None:
            others = [b for b in workflow.inconsistency if b.channel != self.channel]
            return replace(workflow, inconsistency=[*others, Inconsistency(self.channel, value)])
        kept = [b for b in workflow.staleness if (b.channel, b.pathway) != (self.channel, self.pathway)]
        return replace(workflow, staleness=[*kept, Staleness(self.channel, self.pathway, value)])

    def names(self) -> list[str]:
        return [show_duration(v) for v in self.values]


def parse_setting(text: str, workflow: Workflow) -> Setting:
    """`inconsistency(output)=1 day,1 week` or `staleness(output, 0)=1 hour,4 hours`, pathways by index or name."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise ConstraintError(
            f"--set {text!r}: write inconsistency(channel)=value,… or staleness(channel, pathway)=value,…, "
            'for example --set "inconsistency(output)=1 day,1 week,4 weeks".'
        )
    kind, arguments = match[1], [a.strip() for a in match[2].split(",")]
    channel = workflow.channel(arguments[0])
    if channel.is_source:
        raise ConstraintError(f"--set {text!r}: {channel.name!r} is an input channel; bound a derived channel.")
    values = tuple(microseconds(v.strip()) for v in match[3].split(","))
    if min(values) < 0:
        raise ConstraintError(f"--set {text!r}: a bound is 0 (the strictest) or more.")
    if kind == "inconsistency":
        if len(arguments) != 1:
            raise ConstraintError(f"--set {text!r}: inconsistency takes a channel only.")
        return Setting(channel.name, None, values)
    if len(arguments) != 2:
        raise ConstraintError(f"--set {text!r}: staleness takes a channel and a pathway, by index or name.")
    which = int(arguments[1]) if arguments[1].isdigit() else arguments[1]
    return Setting(channel.name, resolve(channel.name, channel.pathways, which).index, values)
