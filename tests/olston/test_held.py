"""Following the logs of consumers, one at a time, so that one that is damaged is no fault of the others."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlmodel import select

from olston import held
from olston.catalog.records import DeliveryRecord
from olston.published import Delivery
from tests.olston.test_loop import Stage


def test_a_log_that_cannot_be_read_is_named_and_the_others_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(f"sqlite:///{tmp_path}/catalog.db")

    def news(_: object, __: object, output: str, known: int) -> list[Delivery]:
        if output == "output":
            raise EOFError("unexpected end of input")
        return [Delivery(known + 1, None, None, "", "")]

    monkeypatch.setattr(held, "_news", news)
    monkeypatch.setattr(held, "_consumer", lambda _, output: SimpleNamespace(place=f"lake/published/{output}"))
    store: Any = SimpleNamespace(workflow=stage.wf)
    session: Any = None
    followed = held.follow(stage.catalog, store, session, stage.planning.network.inputs)
    assert followed.moved == ("dashboard",)
    (fault,) = followed.faults.values()
    assert fault.code == "LOG_UNREADABLE"
    assert "lake/published/output cannot be read: EOFError: unexpected end of input." in str(fault)
    assert isinstance(fault.__cause__, EOFError)
    with stage.catalog.look() as db:
        assert [(d.output, d.number) for d in db.exec(select(DeliveryRecord))] == [("dashboard", 1)]
    stage.lease.release()
