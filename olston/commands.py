"""Commands to refresh, in the order in which they were given, and what came of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from olston import events
from olston.catalog import Catalog
from olston.catalog.records import EventRecord
from olston.errors import OlstonError
from olston.lease import Lease
from olston.planning import Demand


@dataclass
class Asked:
    """A command to refresh some outputs, or what is due. `met` once a plan for it was carried out.

    `looked_ahead` once it was looked for bounds that break before a plan for them would be done.
    """

    event: int
    demand: Demand
    met: bool
    looked_ahead: bool = False
    plans: list[str] = field(default_factory=list)


class Commands:
    """The commands that wait to be carried out. They are answered in the catalog, so that whoever gave them knows."""

    def __init__(self, catalog: Catalog, lease: Lease) -> None:
        self._catalog, self._lease = catalog, lease
        self._waiting: list[Asked] = []
        self.answers: dict[int, dict[str, Any]] = {}
        """What came of those that were carried out here, by their number."""
        self.errors: dict[int, Exception] = {}
        """Why some failed."""

    def __iter__(self) -> Iterator[Asked]:
        return iter(self._waiting)

    @property
    def first(self) -> Asked | None:
        return self._waiting[0] if self._waiting else None

    def take(self, event: EventRecord) -> None:
        """A command was given: to refresh, or one that stands in the catalog already, which this answers."""
        assert event.id is not None
        if "refresh" not in event.about:
            return self._answer(event.id, {})
        outputs = tuple(event.about["refresh"])
        demand = Demand(outputs, bool(event.about.get("full")))
        self._waiting.append(Asked(event.id, demand, met=not outputs))

    def done(self, asked: Asked) -> None:
        self._waiting.remove(asked)
        self._answer(asked.event, {"plans": asked.plans})

    def failed(self, asked: Asked, error: Exception) -> None:
        self._waiting.remove(asked)
        self.errors[asked.event] = error
        message, code = (error.message, error.code) if isinstance(error, OlstonError) else (str(error), None)
        self._answer(asked.event, {"plans": asked.plans, "error": message, "code": code})

    def refuse(self, error: Exception) -> None:
        """Nothing can be done for any of them."""
        for asked in list(self._waiting):
            self.failed(asked, error)

    def fail_first(self, outputs: Iterable[str], error: Exception) -> None:
        """The first fails if it asks for one of `outputs` by name."""
        if self._waiting and not set(self._waiting[0].demand.outputs).isdisjoint(outputs):
            self.failed(self._waiting[0], error)

    def _answer(self, event: int, answer: dict[str, Any]) -> None:
        with self._catalog.transaction() as db:
            self._lease.check(db)
            events.answer(db, event, answer)
        self.answers[event] = answer
