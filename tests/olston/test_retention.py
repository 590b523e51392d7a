"""What the catalog forgets of the past, and what it keeps. Work is pretended."""

from __future__ import annotations

from pathlib import Path

from sqlmodel import SQLModel, func, select

import olston as ol
from olston import events
from olston.catalog.records import ArrivalRecord, DeliveryRecord, EventRecord, PlanRecord, StepRecord
from olston.engine import Engine
from olston.retention import forget_history
from olston.scheduler.learn import LAST
from tests.cluster.scenario import START, search
from tests.pretended import Pretended, arrive, engine

WAVES = 20
HISTORY: tuple[type[SQLModel], ...] = (EventRecord, PlanRecord, StepRecord)


def lived(home: Path) -> tuple[Engine, ol.ManualClock]:
    """An engine that had a wave an hour."""
    clock = ol.ManualClock(START)
    made = engine(search(), str(home), Pretended(), clock=clock)
    for _ in range(WAVES):
        clock.advance("1 hour")
        arrive(made, "pages")
        made.refresh()
    return made, clock


def count(of: Engine, *kinds: type[SQLModel]) -> list[int]:
    with of._catalog.look() as db:
        return [db.exec(select(func.count()).select_from(kind)).one() for kind in kinds]


def test_what_is_old_is_forgotten_but_not_what_arrived_or_was_delivered(tmp_path: Path) -> None:
    made, clock = lived(tmp_path)
    kept, before = count(made, ArrivalRecord, DeliveryRecord), count(made, *HISTORY)
    with made._catalog.transaction() as db:
        forget_history(db, "search", clock.now() + 1)
    assert count(made, ArrivalRecord, DeliveryRecord) == kept
    events_left, plans_left, steps_left = count(made, *HISTORY)
    assert (events_left, plans_left) == (0, 0)
    assert 0 < steps_left < before[2]
    made.close()


def test_what_is_young_stays(tmp_path: Path) -> None:
    made, _ = lived(tmp_path)
    before = count(made, *HISTORY)
    with made._catalog.transaction() as db:
        forget_history(db, "search", START)
        forget_history(db, "another", START + 10**12)
    assert count(made, *HISTORY) == before
    made.close()


def test_the_last_steps_of_each_name_stay_and_so_does_what_was_learned(tmp_path: Path) -> None:
    made, clock = lived(tmp_path)
    with made._catalog.transaction() as db:
        forget_history(db, "search", clock.now() + 1)
        names = list(db.exec(select(StepRecord.name)))
    assert max(names.count(name) for name in names) == LAST
    again = engine(search(), str(tmp_path), Pretended(), clock=clock)
    assert str(again.costs()) == str(made.costs())
    made.close()
    again.close()


def test_a_command_that_waits_for_its_answer_is_not_forgotten(tmp_path: Path) -> None:
    made, clock = lived(tmp_path)
    asked = made._scheduling.command({"refresh": [], "full": False})
    with made._catalog.transaction() as db:
        forget_history(db, "search", clock.now() + 1)
    with made._catalog.look() as db:
        pending = events.pending(db, "search")
    assert asked in pending
    made.close()
