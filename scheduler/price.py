"""Prices: what the invocations of a variant, and deliveries, cost by the rates that hold at the moment.

A network is compiled once; what is learned later changes the rates and statistics of its prices in place, between
two plans, so that nothing has to be compiled again.
"""

from __future__ import annotations

from collections.abc import Sequence

from olston.block import Block
from olston.operators.convert import Strengthen
from olston.operators.estimate import Work
from olston.operators.operator import Operator
from olston.operators.weak import Increment
from olston.scheduler.cost import CostModel, Rates, delivery_to
from olston.scheduler.network import Network
from olston.scheduler.ways import DeliveryPriced

FREE = Rates(0.0, 0.0, 0.0, 0.0, 0.0)


class Priced:
    """The price of a variant: its operator's estimate at the rates of `widget`, the name it is learned under."""

    __slots__ = ("converter", "free", "operator", "rates", "resolves", "starts", "statistics", "widget")

    def __init__(
        self, widget: str, operator: Operator, model: CostModel, *, converter: bool = False, free: bool = False
    ) -> None:
        self.widget, self.operator, self.converter, self.free = widget, operator, converter, free
        self.starts = model.starting(type(operator).__name__)
        self.follow(model)
        # increments are added up with those that lie over the base, and only where they change it
        self.resolves = not (isinstance(operator, Strengthen) and isinstance(operator.weak, Increment))

    def __call__(self, operands: Sequence[Block]) -> tuple[float, tuple[float, ...]]:
        work = self.operator.estimate(operands, self.statistics)
        if self.free:
            return 0.0, work.written
        work.starts = self.starts
        if self.resolves:
            for block in operands:
                work.overlay += block.overlay
        return self.rates.cost(work), work.written

    def work(self, operands: Sequence[Block]) -> Work:
        """What is to be done on `operands`."""
        work = self.operator.estimate(operands, self.statistics)
        work.starts = self.starts
        work.overlay = sum(b.overlay for b in operands) if self.resolves else 0.0
        return work

    def follow(self, model: CostModel) -> None:
        """Take the rates and statistics of `model` from now on; what is free stays free."""
        self.rates = FREE if self.free else model.rates(self.widget, self.operator.name, converter=self.converter)
        self.statistics = model.of(self.widget)


def prices(network: Network) -> dict[str, list[Priced | DeliveryPriced]]:
    """The prices of `network` that can follow a model, by the widget or output they belong to."""
    found: dict[str, list[Priced | DeliveryPriced]] = {}
    for variant in network.variants:
        if isinstance(variant.price, Priced):
            found.setdefault(variant.price.widget, []).append(variant.price)
    for output in network.outputs.values():
        if isinstance(output.price, DeliveryPriced):
            found.setdefault(delivery_to(output.channel), []).append(output.price)
    return found
