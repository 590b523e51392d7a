"""The cost model that follows from what the catalog recorded, kept up with as steps finish.

Only the last steps of each name are looked at, so the age of a workflow does not matter; what came since the last look
is found among the newest attempts, whose names sort by time. A network that follows is priced anew in place, and only
where something was learned.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from olston.catalog.records import StepRecord
from olston.costs import CostOf, CostsOf
from olston.operators.estimate import Work
from olston.scheduler.cost import ENGINE, CostModel, Rates
from olston.scheduler.learn import LAST, Learner
from olston.scheduler.network import Network
from olston.scheduler.outcome import Key, Outcome
from olston.scheduler.price import Priced, prices
from olston.scheduler.ways import DeliveryPriced
from olston.step import Stored

OVERLAP = 32
"""Steps that are looked at again, since one that began earlier may end later."""
FOLD = "fold"
"""The variant under which folding the bases of a channel is learned."""


class Learning:
    """What was learned of one workflow."""

    def __init__(self, workflow: str, prior: CostModel = ENGINE) -> None:
        self._workflow, self._prior = workflow, prior
        self._steps: dict[str, dict[str, tuple[Outcome, ...]]] = defaultdict(dict)
        self._model, self._learner = prior, Learner(prior, {})
        self._network: Network | None = None
        self._prices: dict[str, list[Priced | DeliveryPriced]] = {}
        self._seen: set[str] = set()
        """The newest attempts at the last look."""
        self._lock = threading.Lock()

    def priced(self, db: Session, network: Network) -> Network:
        """`network`, with the prices that follow from all that is recorded."""
        with self._lock:
            news = self._look(db)
            if network is not self._network:
                self._network, self._prices = network, prices(network)
                operators = {
                    (p.widget, p.operator.name): p.operator
                    for listed in self._prices.values() for p in listed if isinstance(p, Priced)
                }  # fmt: skip
                self._learner = Learner(self._prior, operators)
                self._follow(self._learner.model(self._recorded()), everywhere=True)
            elif news:
                self._follow(self._learner.model(self._recorded()))
            return network

    def worth_folding(self, stored: Stored) -> bool:
        """Whether reading its overlay has cost as much by now as folding it would.

        Who never reads never folds, and whoever folds has paid at most twice what knowing the future would have cost.
        """
        root = stored.content.root
        with self._lock:
            paid = sum(
                self._overlay_rate(o) * overlay
                for steps in self._steps.values() for outcomes in steps.values() for o in outcomes
                for read, overlay in o.overlaid if read == root
            )  # fmt: skip
        return paid > self.cost_of_folding(stored)

    def cost_of_folding(self, stored: Stored) -> float:
        """The seconds it should take to write a base as a new anchor."""
        rows, model = stored.block.rows, self._model
        work = Work(base=rows, written=(rows,), overlay=stored.content.overlay)
        return model.rates(stored.block.channel, FOLD, converter=True).cost(work)

    def costs(self) -> CostsOf:
        """Every variant that ran: what was expected and what it took, and what is expected from now on."""
        with self._lock:
            return CostsOf(tuple(self._cost_of(key, [o for _, o in seen]) for key, seen in self._recorded().items()))

    def _cost_of(self, key: Key, seen: list[Outcome]) -> CostOf:
        last = seen[-LAST:]
        ratios = [o.seconds / o.expected for o in last if o.expected > 0]
        off = [abs(o.expected - o.seconds) / o.seconds for o in last if o.seconds > 0]
        return CostOf(
            *key,
            runs=len(seen),
            expected_seconds=median(o.expected for o in last),
            seconds=median(o.seconds for o in last),
            ratio=median(ratios) if ratios else None,
            error=sum(off) / len(off) if off else None,
            rates=self._rates(last[-1]),
            learned=key in self._model.variants,
        )

    def _rates(self, outcome: Outcome) -> Rates:
        return self._model.rates(*outcome.key, converter=outcome.converter)

    def _overlay_rate(self, outcome: Outcome) -> float:
        return self._rates(outcome).overlay

    def _follow(self, model: CostModel, everywhere: bool = False) -> None:
        before, self._model = self._model, model
        all_ = everywhere or model.default != before.default
        changed = self._prices if all_ else {key[0] for key in model.variants if _differs(before, model, key)}
        for widget in changed:
            for price in self._prices.get(widget, ()):
                price.follow(model)

    def _recorded(self) -> dict[Key, list[tuple[str, Outcome]]]:
        found: dict[Key, list[tuple[str, Outcome]]] = {}
        steps = sorted((at, outcomes) for named in self._steps.values() for at, outcomes in named.items())
        for at, outcomes in steps:
            for outcome in outcomes:
                found.setdefault(outcome.key, []).append((at, outcome))
        return found

    def _look(self, db: Session) -> bool:
        """Read what was recorded since the last look; whether there was anything."""
        news = False
        for name, attempt, outcomes in self._news(db):
            known = self._steps[name]
            if attempt in known or (len(known) == LAST and attempt < min(known)):
                continue
            known[attempt] = tuple(map(Outcome.from_dict, outcomes))
            news = True
            if len(known) > LAST:
                del known[min(known)]
        return news

    def _news(self, db: Session) -> Iterator[tuple[str, str, Sequence[Any]]]:
        done = (StepRecord.workflow == self._workflow, StepRecord.state == "done")
        newest = select(StepRecord.attempt).where(*done).order_by(col(StepRecord.attempt).desc()).limit(OVERLAP)
        seen, self._seen = self._seen, set(db.exec(newest))
        steps = select(StepRecord.name, StepRecord.attempt, StepRecord.outcomes)
        if not seen.isdisjoint(self._seen):
            if new := self._seen - seen:
                yield from db.exec(steps.where(col(StepRecord.attempt).in_(new)))
            return
        place = func.row_number().over(partition_by=col(StepRecord.name), order_by=col(StepRecord.attempt).desc())
        ranked = select(StepRecord.attempt, place.label("place")).where(*done).subquery()
        last = steps.join(ranked, col(StepRecord.attempt) == ranked.c.attempt)
        yield from db.exec(last.where(ranked.c.place <= LAST))


def _differs(before: CostModel, after: CostModel, key: Key) -> bool:
    return before.variants.get(key) != after.variants[key] or before.of(key[0]) != after.of(key[0])
