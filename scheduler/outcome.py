"""What came of an invocation: the work done, the rows that came out and the seconds, beside the prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from olston.block import Block, Kind
from olston.operators.estimate import Work
from olston.provenance import Provenance

Key: TypeAlias = tuple[str, str]
"""The widget, or channel, or delivery, and the variant."""

_ANY = Provenance.at(0)


@dataclass(frozen=True)
class Outcome:
    """One invocation that was carried out.

    `rows` is what came out for each result, `None` where that was not written and so not counted; `seconds` its share
    of the job that it was part of; `overlaid` what it resolved of the overlays it read, by their root. A `converter`,
    and a delivery, says nothing of its widget.
    """

    widget: str
    variant: str
    operands: tuple[tuple[Kind, float], ...]
    work: Work
    rows: tuple[float, ...] | None
    expected_rows: tuple[float, ...]
    seconds: float
    expected: float
    converter: bool = False
    overlaid: tuple[tuple[str, float], ...] = ()

    @property
    def key(self) -> Key:
        return self.widget, self.variant

    def blocks(self) -> list[Block]:
        """The operands as far as an estimate looks at them."""
        return [Block.planned(("", kind, None, _ANY), rows, True) for kind, rows in self.operands]

    def to_dict(self) -> dict[str, Any]:
        w = self.work
        return {
            "widget": self.widget,
            "variant": self.variant,
            "operands": [list(o) for o in self.operands],
            "work": {
                "base": w.base, "delta": w.delta, "shuffled": w.shuffled, "written": list(w.written),
                "overlay": w.overlay, "starts": w.starts,
            },
            "rows": None if self.rows is None else list(self.rows),
            "expected_rows": list(self.expected_rows),
            "seconds": self.seconds,
            "expected": self.expected,
            "converter": self.converter,
            "overlaid": [list(o) for o in self.overlaid],
        }  # fmt: skip

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Outcome:
        work = {**fields["work"], "written": tuple(fields["work"]["written"])}
        return cls(
            fields["widget"],
            fields["variant"],
            _pairs(fields["operands"]),
            Work(**work),
            None if fields["rows"] is None else tuple(fields["rows"]),
            tuple(fields["expected_rows"]),
            fields["seconds"],
            fields["expected"],
            fields["converter"],
            _pairs(fields["overlaid"]),
        )


def _pairs(listed: Sequence[Sequence[Any]]) -> tuple[tuple[Any, Any], ...]:
    return tuple((first, second) for first, second in listed)
