"""What variants were expected to cost and what they did, and the rates that hold now: an answer that prints well."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from olston.report import Shown
from olston.scheduler.cost import Rates

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table


@dataclass(frozen=True)
class CostOf:
    """A variant that ran. Seconds are medians of its last runs; of a job of several variants, its share.

    `ratio` is the median of actual over expected seconds, `error` the mean of how far the prediction was off, as a part
    of the actual; `rates` are what the next plan uses, from the runs if `learned`.
    """

    widget: str
    variant: str
    runs: int
    expected_seconds: float
    seconds: float
    ratio: float | None
    error: float | None
    rates: Rates
    learned: bool


@dataclass(frozen=True, repr=False)
class CostsOf(Shown):
    """Expected against actual cost of every variant that ran."""

    variants: tuple[CostOf, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"variants": [asdict(v) for v in self.variants]}

    def __rich__(self) -> RenderableType:
        from rich.console import Group

        if not self.variants:
            return "nothing ran yet; plans use the priors"
        costs = _table("costs", "runs", "expected s", "took s", "ratio", "off by")
        of_rates = ("start s", "base", "delta", "shuffled", "written", "overlay", "")
        rates = _table("rates in seconds per million rows", *of_rates)
        for v in self.variants:
            r = v.rates
            name = f"{v.widget} {v.variant}" if v.widget.startswith("→") else f"{v.widget}.{v.variant}"
            costs.add_row(
                name, str(v.runs), f"{v.expected_seconds:.2f}", f"{v.seconds:.2f}",
                "" if v.ratio is None else f"{v.ratio:.2f}", "" if v.error is None else f"{v.error:.0%}",
            )  # fmt: skip
            each = [f"{1e6 * x:.2g}" for x in (r.base, r.delta, r.shuffled, r.written, r.overlay)]
            rates.add_row(name, f"{r.start:.2f}", *each, "learned" if v.learned else "prior")
        return Group(costs, rates)


def _table(title: str, *numbers: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None)
    table.add_column("variant", overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
