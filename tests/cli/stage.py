"""A project for the command line to be about, and work in it that is only pretended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from olston.cli import main
from olston.cli.settings import settings
from olston.cli.show import console
from olston.engine import Engine
from olston.project_file import find_project
from tests.pretended import Pretended, arrive, engine

WORKFLOW = """
import olston as ol

wf = ol.Workflow("shop")
orders = wf.source("orders", "id bigint, customer string, amount int")
customers = wf.source("customers", "customer string, country string", key="customer")
located = orders.filter("paid", "amount > 0").join("located", customers, on="customer")
totals = located.aggregate("totals", by="country", orders=ol.count(), amount=ol.sum("amount"))
wf.output(totals)
wf.bound_staleness(totals, "orders>paid>located", 0)
wf.bound_staleness(totals, "customers>located", "1 day")
wf.bound_inconsistency(totals, "1 week")
wf.output(located)
"""


@dataclass
class Told:
    """What the command line said, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Stage:
    """A project in `folder`, around which the command line is run."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    work: Pretended = field(default_factory=Pretended)
    """Knows what consumers hold, whichever engine delivered."""

    def run(self, *arguments: str) -> Told:
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as caught:
            main(["-C", str(self.folder), *arguments])
        out, err = self.capsys.readouterr()
        return Told(int(caught.value.code or 0), out, err)

    def json(self, *arguments: str) -> Any:
        """What a verb that ends well says as JSON."""
        told = self.run(*arguments, "--json")
        assert told.code == 0, told.err
        return told.json

    @contextmanager
    def engine(self, work: Pretended | None = None) -> Iterator[Engine]:
        """An engine on the project whose work is pretended."""
        found = find_project(self.folder)
        with engine(found.find_workflow()[0], found.lake, work or self.work) as made:
            yield made

    def fill(self, *waves: tuple[str, ...]) -> None:
        """Let waves arrive, and be worked in."""
        with self.engine() as made:
            for wave in waves:
                arrive(made, *wave)
                made.refresh()


@pytest.fixture
def stage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.setattr(console, "width", 160)
    monkeypatch.setattr(settings, "project", None)
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "olston.yml").write_text("workflow: workflow.py\n")
    (folder / "workflow.py").write_text(WORKFLOW)
    return Stage(folder, capsys)
