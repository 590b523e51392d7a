"""Work that is only pretended, so that thousands of events can be gone through: no Spark, nothing written.

What it says of itself is what Spark would: blocks with identities, contents and counts, numbered deliveries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from olston.arrive import arrive as arrived
from olston.attempt import new_attempt
from olston.block import BASE, Block
from olston.content import Anchor, Content, Part
from olston.engine import Engine
from olston.errors import StepError, StoreError
from olston.held import Followed
from olston.ingest import Arrived
from olston.provenance import Provenance
from olston.step import Inline, Step, Stored, linked
from olston.worker import Delivered, Handover
from olston.workflow import Workflow


@dataclass(frozen=True)
class Held:
    """What a consumer holds since delivery `number`."""

    number: int
    content: Provenance
    block: str
    digest: str


@dataclass
class Pretended:
    """Keeps what consumers hold; `fails` says whether an attempt at a step, or at a delivery, fails."""

    fails: Callable[[str], bool] = lambda _: False
    delivered: dict[str, list[Held]] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)
    told: Callable[[str, Held], None] = lambda _, __: None
    """Lets the catalog know what a consumer holds."""
    workflow: Workflow | None = None
    """If it is known, what can be put together from what there is, is."""

    def make(self, step: Step, attempt: str, said: Mapping[str, int]) -> tuple[Stored, ...]:
        self._run(_names(step))
        known = linked(self.workflow, step) if self.workflow is not None else None
        if known is not None:
            return (replace(self._written(step.results[0], attempt), content=known),)
        return tuple(self._written(b, f"{attempt}.{i}") for i, b in enumerate(step.results))

    def _run(self, names: list[str]) -> None:
        for name in names:
            if self.fails(name):
                raise StepError(f"{name}: failed, as it was told to.")
        self.made += names

    def _written(self, block: Block, attempt: str) -> Stored:
        known = Block(block.channel, block.kind, block.target, block.source, block.rows, block.relaxed, attempt)
        if block.kind == BASE:
            return Stored(known, Content(Anchor(f"channels/{block.channel}", attempt, 1, 1)))
        return Stored(known, Content(None, (Part(f"channels/{block.channel}", attempt, block.kind, 1, 1, str(block)),)))

    def deliver(self, handover: Handover, attempt: str) -> Delivered:
        within = _names(handover.source.step) if isinstance(handover.source, Inline) else []
        self._run([*within, f"→ {handover.output}"])
        before = self.delivered.setdefault(handover.output, [])
        if handover.number != len(before) + 1:
            raise StoreError(f"{handover.output}: delivery {handover.number} was made by another.", code="NUMBER_TAKEN")
        before.append(Held(handover.number, handover.content, attempt, handover.digest))
        return Delivered(len(before) - 1, handover.source.block.rows, handover.ways[0])

    def held(self, output: str) -> Held:
        return self.delivered[output][-1]

    def follow(self, output: str | None = None, *, disown: bool = False) -> Followed:
        for name in self.delivered if output is None else [output]:
            self.told(name, self.held(name))
        return Followed()

    def leave_planning(self, error: Exception) -> bool:
        return False

    def missing_input(self) -> Exception | None:
        return None

    def recalls(self, stored: Stored) -> bool:
        return False

    def fold(self, stored: Stored, attempt: str) -> tuple[Stored, str | None]:
        return Stored(stored.block, Content(Anchor("folded", attempt, 1, 1))), None

    def abandon(self, attempt: str) -> None:
        pass

    def content(self, output: str) -> Provenance:
        return self.held(output).content


@dataclass
class Threads:
    """Functions that wait to be run, one at a time, in an order that is drawn."""

    random: Random
    waiting: list[Callable[[], None]] = field(default_factory=list)

    def submit(self, function: Callable[[], None]) -> None:
        self.waiting.append(function)

    def run_one(self) -> bool:
        if not self.waiting:
            return False
        self.waiting.pop(self.random.randrange(len(self.waiting)))()
        return True


def _names(step: Step) -> list[str]:
    """A step, after all that is done within it."""
    return [n for o in step.operands if isinstance(o, Inline) for n in _names(o.step)] + [step.name]


def engine(wf: Workflow, home: str, work: Pretended, **options: Any) -> Engine:
    """An engine whose work is pretended."""
    made = Engine(wf, home=home, **options)
    made.__dict__["_worker"], made._typed = work, True
    return made


def arrive(to: Engine, *channels: str) -> list[Block]:
    """Let a wave that was never written arrive at each of `channels`."""
    waves = []
    for channel in channels:
        attempt = new_attempt()
        part = Part(f"channels/{channel}", attempt, "Δ⁺", 10, 100, channel, plain=True)
        waves.append(Arrived(channel, "Δ⁺", Content(None, (part,)), 10, attempt))
    to._declare_sources()
    with to._catalog.transaction() as db:
        blocks = arrived(db, to._planning, waves, to.now, to.now)
    to._scheduling.wake()
    return blocks
