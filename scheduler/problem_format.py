"""The shape of a problem file: types and ranges, before any meaning is checked."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from olston.errors import ProblemError

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Stamps = list[list[Number]]
Rule = Literal["keeps", "if_monotone", "never"]


class Part(BaseModel):
    """Base of all parts of a problem; fields of later versions are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)


class ConverterCost(Part):
    """What a converter of a channel costs."""

    fixed: NotNegative
    per_unit_read: NotNegative


class WeakKind(Part):
    """A weak representation of a channel."""

    expand: Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
    converters: list[str]


class OperatorCost(Part):
    """What an operator costs, by weights over the operands; `per_overlay` over what reading bases costs beyond that.

    `per_monotone` are the weights of operands that are a D+.
    """

    fixed: NotNegative
    per_operand: list[NotNegative]
    per_monotone: list[NotNegative] | None = None
    per_overlay: NotNegative = 0.0

    @property
    def of_monotone(self) -> list[float]:
        return self.per_operand if self.per_monotone is None else self.per_monotone


class ConverterPart(Part):
    """A converter of a channel that has others than the format's own.

    `size` are weights over the operands, `fixed` is added; of `precedes` the absolute value counts. `monotone_size`
    holds instead where the last operand is a D+.
    """

    name: str
    widget: str | None = None
    kinds: Annotated[list[str], Field(min_length=1, max_length=2)]
    link: Literal["exact", "relaxed", "completes", "precedes", "abuts"] = "exact"
    writes: str
    monotone: bool = False
    relaxed: Rule = "never"
    listed: bool = True
    lays_over: bool = False
    cost: OperatorCost
    size: list[Number]
    fixed: Number = 0.0
    monotone_size: list[Number] | None = None


class ChannelPart(Part):
    """A channel, with the input of each of its provenance entries; `converters` stand for the format's own."""

    name: str
    paths: Annotated[list[str], Field(min_length=1)]
    weak: dict[str, WeakKind] = {}
    converter_cost: ConverterCost
    converters: list[ConverterPart] | None = None


class InputPart(Part):
    """The operands an operator reads from one channel."""

    channel: str
    kinds: Annotated[list[str], Field(max_length=2)]


class OutputPart(Part):
    """A result of an operator, its size by weights over the operands, and `fixed`."""

    channel: str
    kind: str
    size: list[NotNegative]
    fixed: NotNegative = 0.0


class OperatorPart(Part):
    """An operator variant. What the format leaves open may be said: its widget, when its results are D+ and may be
    applied relaxed, and when a policy lets it recompute."""

    name: str
    widget: str | None = None
    monotone: bool | None = None
    relaxed: Rule = "keeps"
    recompute: Literal["allowed", "last_resort", "first_fill"] = "allowed"
    inputs: Annotated[list[InputPart], Field(min_length=1)]
    sync: bool = False
    outputs: Annotated[list[OutputPart], Field(min_length=1)]
    cost: OperatorCost


class DeliveryCost(Part):
    """What one way to hand over a block costs."""

    fixed: NotNegative
    per_row: NotNegative
    per_overlay: NotNegative = 0.0


class ConsumerPart(Part):
    """What a consumer accepts and holds; `delivery` are the ways to hand over blocks of a kind, the cheapest counts."""

    channel: str
    accepts: Annotated[list[str], Field(min_length=1)]
    holds: Stamps | None
    delivery: dict[str, list[DeliveryCost]] = {}


class ConstraintPart(Part):
    """A bound."""

    type: Literal["staleness", "inconsistency"]
    channel: str
    path: int | None = None
    bound: Number


class BlockPart(Part):
    """A block that exists; `relaxed` says whether it may be applied so, `overlay` what reading it costs beyond."""

    channel: str
    kind: str
    source: Stamps | None = None
    target: Stamps
    size: NotNegative
    relaxed: bool = True
    overlay: NotNegative = 0.0
    over: str = ""


class SolvePart(Part):
    """How a problem is to be solved, if not as the format says: unpruned, and planned again, for what is stale."""

    prunings: tuple[str, ...] = Field(default=(), strict=False)
    replan: bool | None = True
    due: list[str] | None = None


class Case(Part):
    """One planning problem, as PROBLEM-FORMAT.md describes it."""

    id: str | None = None
    now: Number
    arrivals: dict[str, list[Number]]
    channels: list[ChannelPart]
    operators: list[OperatorPart]
    outputs: list[ConsumerPart]
    constraints: list[ConstraintPart] = []
    blocks: list[BlockPart] = []
    wary: bool = False
    solve: SolvePart = SolvePart()


def parse(case: Any, name: str) -> Case:
    """`case` with every field present and of its type, or an error that says where it is not."""
    if not isinstance(case, dict):
        raise ProblemError(f"{name}: a case is a JSON object, not {type(case).__name__}.")
    try:
        return Case.model_validate(case)
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"]).lstrip(".")
        more = f" ({error.error_count() - 1} more faults)" if error.error_count() > 1 else ""
        raise ProblemError(f"{name}: {place}: {first['msg'].lower()}, got {_shown(first['input'])}.{more}") from None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "…"
