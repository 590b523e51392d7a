"""Commands to refresh, in the order in which they were given, and what came of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session

from olston import events
from olston.catalog import Catalog
from olston.catalog.records import EventRecord
from olston.definition import together
from olston.errors import OlstonError, unknown
from olston.lease import Lease, is_dead, shown
from olston.planning import Demand
from olston.provenance import Stamp
from olston.scheduler.network import Network


@dataclass
class Asked:
    """A command to refresh some outputs, or what is due. `met` once plans for all it names were carried out.

    `looked_ahead` once it was looked for bounds that break before a plan for them would be done. Of a command for what
    is due, `left` are the outputs that were so when it was first planned for, at `since`, and were not refreshed yet.
    """

    event: int
    demand: Demand
    met: bool
    looked_ahead: bool = False
    by: str = ""
    timed: bool = False
    """Whether the clock asks, and not somebody who waits for it."""
    tried_in_vain: bool = False
    """Whether a plan for it failed, or none was found."""
    definition: str = ""
    """The definition of who gave it, as a digest; empty if that does not matter."""
    plans: list[str] = field(default_factory=list)
    refreshed: frozenset[str] = frozenset()
    """The outputs for which plans that were made for it were carried out."""
    left: frozenset[str] | None = None
    since: Stamp = 0

    @property
    def rest(self) -> Demand:
        """What of the demand no plan was carried out for."""
        return replace(self.demand, outputs=tuple(o for o in self.demand.outputs if o not in self.refreshed))

    def carried_out(self, plan: str, due: Collection[str], now: Stamp) -> None:
        """A plan that was made at `now` was carried out, for it or for others."""
        if plan in self.plans:
            self.refreshed |= set(due)
            self.met = self.met or self.refreshed.issuperset(self.demand.outputs)
        if self.left is not None and now >= self.since:
            self.left -= set(due)


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

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def that_planned(self, plan: str) -> Asked | None:
        """The one for which a plan was made."""
        return next((asked for asked in self._waiting if plan in asked.plans), None)

    def take(self, event: EventRecord) -> None:
        """A command was given: to refresh, or one that stands in the catalog already, which this answers.

        A refresh at a given time that comes while the one before was not begun is that one: they must not pile up
        where they come faster than they can be carried out.
        """
        assert event.id is not None
        if "refresh" not in event.about:
            return self._answer(event.id, {})
        outputs = tuple(event.about["refresh"])
        demand = Demand(outputs, bool(event.about.get("full")))
        timed = bool(event.about.get("timed"))
        if timed and any(a.timed and a.demand == demand and not a.plans for a in self._waiting):
            return self._answer(event.id, {})  # what is still to be begun will do for both
        asked = Asked(event.id, demand, met=not outputs, by=event.about.get("by", ""), timed=timed)
        asked.definition = event.about.get("definition", "")
        self._waiting.append(asked)

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

    def turn(self, network: Network, busy: frozenset[str], due: frozenset[str]) -> tuple[Asked | None, frozenset[str]]:
        """The first one whose outputs need not wait, and the outputs that are not planned for now.

        These are the `busy` ones, and those that have something in common with one of them that is due, or with what
        one that waits asks for: it might wait for ever otherwise.
        """
        waiting = busy | network.akin(busy & due)
        for asked in self._waiting:
            if waiting.isdisjoint(asked.demand.outputs):
                return asked, waiting
            waiting |= network.akin(asked.demand.outputs)
        return None, waiting

    def refuse_others(self, network: Network, digests: Mapping[str, str]) -> bool:
        """Answer those given by who knows another definition, or about outputs that are gone; whether there were."""
        workflow, found = f"workflow {self._lease.workflow!r}", False
        for asked in list(self._waiting):
            if asked.definition and asked.definition != together(digests):
                self.failed(asked, _of_another_definition(workflow, self._lease.holder))
                found = True
                continue
            for gone in [o for o in asked.demand.outputs if o not in network.outputs][:1]:
                self.failed(asked, unknown("output", gone, network.outputs, workflow))
                found = True
        return found

    def forget_withdrawn(self, db: Session) -> None:
        """Those that were withdrawn meanwhile are not carried out."""
        for asked in list(self._waiting):
            known = db.get(EventRecord, asked.event)
            if known is None or known.answered:
                self._waiting.remove(asked)

    def refuse_those_of_the_dead(self) -> None:
        """Those whose giver has ended on this machine are not carried out: nobody waits for them."""
        for asked in [a for a in self._waiting if is_dead(a.by)]:
            error = f"refresh: was asked for by {shown(asked.by)}, which is gone, and is not carried out; ask again."
            self.failed(asked, OlstonError(error, code="WITHDRAWN"))

    def _answer(self, event: int, answer: dict[str, Any]) -> None:
        with self._catalog.transaction(lasting=False) as db:
            self._lease.check(db)
            events.answer(db, event, answer)
        self.answers[event] = answer


def _of_another_definition(workflow: str, holder: str) -> OlstonError:
    return OlstonError(
        f"{workflow}: is scheduled by {shown(holder)}, which knows it by another definition; nothing was "
        "refreshed. Start that process anew with this definition, or stop it and refresh again.",
        code="OTHER_DEFINITION",
    )
