"""Folding: long overlays become anchors beside all else, and nobody waits for it (DESIGN 4).

A base is written as one anchor while plans go on reading it as it was. What was written becomes known when no plan
under way reads the channel; bases that were laid over it meanwhile go on from the new anchor too.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from sqlmodel import Session, col, or_, select

from olston.attempt import new_attempt
from olston.block import BASE
from olston.catalog.records import BlockRecord, StepRecord
from olston.content import Content
from olston.faults import point
from olston.learning import FOLD
from olston.operators.estimate import Work as Amount
from olston.scheduler.outcome import Outcome
from olston.step import Stored
from olston.worker import Work

AT_ONCE = 2
"""Bases that are folded at the same time, so that steps find a thread that is free."""

log = logging.getLogger("olston")


@dataclass
class Fold:
    """A base that is being folded. `folded` is where it lies then, `warning` what its rows gave reason to say."""

    stored: Stored
    expected: float
    began: int
    attempt: str = field(default_factory=new_attempt)
    seconds: float = 0.0
    folded: Content | None = None
    warning: str | None = None

    @property
    def channel(self) -> str:
        return self.stored.block.channel

    def record(self, db: Session, workflow: str, digest: str) -> None:
        """Let what lay on the old anchor be read from the new one; what it took is recorded like a step.

        A base that was no block yet is one then, by the definition of `digest`.
        """
        block, folded = self.stored.block, self.folded
        assert folded is not None and folded.anchor is not None
        bases = select(BlockRecord).where(
            BlockRecord.workflow == workflow,
            BlockRecord.channel == self.channel,
            BlockRecord.kind == BASE,
            or_(col(BlockRecord.live), col(BlockRecord.id) == block.id),
        )
        for base in db.exec(bases):
            content = Content.from_dict(base.content).moved(self.stored.content, folded)
            if content is not None:
                base.content = content.to_dict()
                base.rows = folded.anchor.rows if base.id == block.id else base.rows
        rows = folded.anchor.rows
        if not block.id:
            db.add(
                BlockRecord(
                    id=self.attempt, workflow=workflow, channel=self.channel, kind=BASE,
                    target=[[[s, s] for s in sorted(entry)] for entry in block.target], rows=rows, relaxed=False,
                    content=folded.to_dict(), producer=FOLD, digest=digest, made_at=self.began,
                )
            )  # fmt: skip
        done = Amount(base=block.rows, written=(rows,), overlay=self.stored.content.overlay)
        outcome = Outcome(
            self.channel, FOLD, ((block.kind, block.rows),), done, (rows,), (block.rows,), self.seconds,
            self.expected, True,
        )  # fmt: skip
        db.add(
            StepRecord(
                attempt=self.attempt, plan="", workflow=workflow, name=f"{self.channel}.{FOLD}", state="done",
                operands=[str(block)], results=[str(block)], expected_seconds=self.expected, expected_rows=block.rows,
                seconds=self.seconds, rows=rows, started_at=self.began, outcomes=[outcome.to_dict()],
                error=self.warning,
            )
        )  # fmt: skip


class Folding:
    """The bases of one workflow that are being folded, one of a channel at a time."""

    def __init__(self, work: Callable[[], Work], submit: Callable[[Callable[[], None]], Any]) -> None:
        self._work, self._submit = work, submit
        self._folds: dict[str, Fold] = {}
        self._given_up = False

    def __bool__(self) -> bool:
        """Whether something is being folded, or was and is not known yet."""
        return bool(self._folds)

    def begin(self, stored: Stored, expected: float, now: int, done: Callable[[], None]) -> None:
        """Fold a base in another thread, and call `done` then; unless enough are being folded, or its channel is."""
        channel = stored.block.channel
        if channel not in self._folds and len(self._folds) < AT_ONCE:
            fold = self._folds[channel] = Fold(stored, expected, now)
            self._submit(lambda: self._write(fold, done))

    def written(self, reading: Collection[str]) -> list[Fold]:
        """What was folded on channels that are not being read; it counts as known then."""
        ready = [f for f in list(self._folds.values()) if f.folded is not None and f.channel not in reading]
        for fold in ready:
            del self._folds[fold.channel]
        return ready

    def abandon(self) -> None:
        """Stop folding: the bases are as readable as before, and will be found long again."""
        self._given_up = True
        for fold in list(self._folds.values()):
            self._work().abandon(fold.attempt)

    def _write(self, fold: Fold, done: Callable[[], None]) -> None:
        started = time.perf_counter()
        try:
            made, fold.warning = self._work().fold(fold.stored, fold.attempt)
            point("fold-written")
            fold.seconds, fold.folded = time.perf_counter() - started, made.content
        except Exception as error:  # the base is as readable as before, and will be found long again
            del self._folds[fold.channel]
            if not self._given_up:
                log.warning("%s: could not be folded: %s", fold.stored.block, error)
        finally:
            done()
