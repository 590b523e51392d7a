"""What a user places: one operation with all its variants, and the internal channels it needs [3].

A widget is a declaration. It says which channels it makes and which operators may make them; choosing
among those is the planner's business.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from olston.errors import WorkflowError, unknown
from olston.operators.operator import Operator
from olston.operators.weak import WeakDelta

if TYPE_CHECKING:
    from olston.channel import Channel


class Policy(StrEnum):
    """How far a widget may recompute: `auto` leaves it to cost; `incremental` recomputes as a last resort;
    `incremental_strict` fails rather than recompute what exists; `full` always recomputes."""

    AUTO = "auto"
    INCREMENTAL = "incremental"
    INCREMENTAL_STRICT = "incremental_strict"
    FULL = "full"

    @classmethod
    def of(cls, policy: str | Policy, widget: str) -> Policy:
        try:
            return cls(policy)
        except ValueError:
            raise unknown("policy", policy, [p.value for p in cls], f"widget {widget!r}") from None


@dataclass(frozen=True)
class Makes:
    """A channel that a widget makes: its key, its weak representations, and whether only the widget sees it."""

    name: str
    key: tuple[str, ...] | None = None
    weak: tuple[WeakDelta, ...] = ()
    internal: bool = False


@dataclass(frozen=True)
class Operation:
    """One operation between channels: all its variants compute the same thing."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    operators: tuple[Operator, ...]
    role: str = ""
    """Tells the operations of a nested widget apart; empty for the only one."""


@dataclass(frozen=True)
class Widget(ABC):
    """Base of all widgets. `function` is user code; `version` replaces its text when changes are compared."""

    name: str
    inputs: tuple[Channel, ...]
    policy: Policy = field(default=Policy.AUTO, kw_only=True)
    function: Any = field(default=None, kw_only=True)
    version: str | None = field(default=None, kw_only=True)
    keep: bool = field(default=False, kw_only=True)

    @abstractmethod
    def makes(self) -> tuple[Makes, ...]:
        """The channels made, internal ones first."""

    @abstractmethod
    def operations(self, drifting: Collection[str] = ()) -> tuple[Operation, ...]:
        """The operations that make them, in order.

        `drifting` names the aggregates whose sums do not add up exactly, because of the types of their columns, and
        the maps that may give their key other values.
        """

    def refuse_impossible_policy(self, drifting: Collection[str] = ()) -> None:
        """`incremental_strict` needs an incremental variant in every operation."""
        if self.policy is not Policy.INCREMENTAL_STRICT:
            return
        for operation in self.operations(drifting):
            if not any(o.signature.incremental for o in operation.operators):
                raise WorkflowError(
                    f"{self.name}: policy incremental_strict, but {type(self).__name__.lower()} has no incremental "
                    "variant here and could only recompute; use policy='auto' or 'full'.",
                    code="IMPOSSIBLE_POLICY",
                )


def names(columns: str | Sequence[str] | None) -> tuple[str, ...]:
    """Columns as a tuple, from a name or a list of names."""
    if columns is None:
        return ()
    return (columns,) if isinstance(columns, str) else tuple(columns)
