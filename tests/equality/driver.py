"""Runs workflows by invocations chosen at random among all that are legal, the least used variants first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from unittest import mock

from olston.block import BASE, Block, Kind, fits, is_weak
from olston.operators.convert import ApplyWeak
from olston.operators.weak import Replace
from olston.scheduler.cost import STARTS
from olston.scheduler.network import Variant
from olston.scheduler.plan import Invocation
from olston.scheduler.ways import SUPERSEDE
from olston.step import Stored
from tests.equality.judge import single
from tests.equality.laboratory import Laboratory, Made, operator_of

FOLDED = 0.1
"""The share of steps after which a base is folded."""
FUSED = 0.3
"""The share of steps in which operands are made within the job where they can be."""
SELDOM = 8
"""How much less a variant is wanted after each time that it was run."""
DEPTH = 5
"""How far from a variant that cannot be run yet it is looked for what might help."""
WAYS = 8
"""Among how many blocks it is chosen which to make next."""
KEPT = 0.5
"""The share of results that are written even if nothing needs them."""


@dataclass
class Driver:
    """Makes blocks in `laboratory`, each of which it compares."""

    laboratory: Laboratory
    random: Random
    mixed: float = 0.3
    """The share of steps whose results reflect several snapshots of one input, where there is a choice."""
    ran: Counter[str] = field(default_factory=Counter)
    """How often each variant was run."""
    operators: Counter[str] = field(default_factory=Counter)
    """How often each class of operators was run."""
    _done: set[tuple[object, ...]] = field(default_factory=set)

    def run(self, steps: int) -> None:
        """Make up to `steps` blocks; fewer if nothing is left to be tried."""
        for _ in range(steps):
            chosen = self._choose(self.laboratory.invocations())
            if chosen is None:
                return
            self.step(chosen)
            if self.random.random() < FOLDED:
                self._fold()

    def cover(self) -> set[str]:
        """Run every variant once, as far as it becomes possible; what did not.

        Converters of one representation are the same on all channels, so one of them will do.
        """
        left: dict[str, list[Variant]] = {}
        for variant in self.laboratory.network.variants:
            left.setdefault(_label(variant), []).append(variant)
        for _ in range(2 * len(left)):
            legal = self.laboratory.invocations()
            chosen = self._choose([i for i in legal if _label(_variant(i)) in left])
            wanted = {read for some in left.values() for variant in some for read in _reads(variant)}
            for _ in range(DEPTH):  # what the missing ones read, what makes that, and so on
                chosen = chosen or self._choose(
                    [i for i in legal if any(self._is_new(b) and _wanted(b, wanted) for b in i.results)]
                )
                makers = [v for v in self.laboratory.network.variants if _makes(v, wanted)]
                wanted = {read for variant in makers for read in _reads(variant)}
            if chosen is None or not left:
                break
            self.step(chosen, keep=True)
            left = {label: some for label, some in left.items() if not any(self.ran[v.name] for v in some)}
        return set(left)

    def mix(self, steps: int) -> None:
        """Take up to `steps` steps towards blocks that reflect several snapshots of one input."""

        def wanted(block: Block) -> bool:
            return not single(block) and self.laboratory.judge.knows(block)

        for _ in range(steps):
            ways = self.laboratory.towards(wanted, WAYS)
            if not ways:
                return
            self.step(self.random.choice(ways), keep=True)

    def step(self, invocation: Invocation, *, keep: bool = False) -> None:
        """Run one invocation; a weak delta is applied at once if the base it starts from is there."""
        self._done.add(_identity(invocation))
        self.ran[_name(invocation)] += 1
        self.operators[operator_of(invocation)] += 1
        keep = keep or self.random.random() < KEPT or self._opens(invocation)
        for made in self.laboratory.run(invocation, inline=self.random.random() < FUSED, keep=keep):
            if is_weak(made.block.kind):
                self._apply(made)

    def _opens(self, invocation: Invocation) -> bool:
        """Whether its result is the first of its kind on its channel, so that others may come to read it."""
        there = {(b.block.channel, b.block.kind) for b in self.laboratory.blocks.values()}
        return any((b.channel, b.kind) not in there for b in invocation.results)

    def _apply(self, made: Made) -> None:
        for invocation in self.laboratory.invocations():
            base, *others = invocation.operands
            applies = isinstance(_variant(invocation).operator, ApplyWeak) and others == [made.block]
            if applies and base.target == made.block.source:
                self.step(invocation)
                return

    def _choose(self, legal: list[Invocation]) -> Invocation | None:
        """One that was not run, of a variant that was run seldom, of a result of which there is none so far."""
        left = [i for i in legal if _identity(i) not in self._done]
        mixed = self.random.random() < self.mixed
        by_variant: dict[str, list[Invocation]] = {}
        for invocation in [i for i in left if single(i.results[0]) != mixed] or left:
            by_variant.setdefault(_name(invocation), []).append(invocation)
        if not by_variant:
            return None
        weights = [self._weight(found[0]) for found in by_variant.values()]
        some = self.random.choices([*by_variant.values()], weights)[0]
        new = [i for i in some if any(map(self._is_new, i.results))]
        return self.random.choice(new if new and self.random.random() < 0.8 else some)

    def _is_new(self, block: Block) -> bool:
        return block.key not in self.laboratory.blocks

    def _weight(self, invocation: Invocation) -> float:
        """How much its variant is wanted: little if it was run, or merely converts on a source."""
        variant = _variant(invocation)
        sources = {s.name for s in self.laboratory.spec.sources}
        wanted = 4 if variant.foreign else 1 if variant.outputs[0] in sources else 2
        return float(wanted / SELDOM ** self.ran[variant.name])

    def _fold(self) -> None:
        blocks = self.laboratory.blocks.values()
        bases = [m for m in blocks if m.block.kind == BASE and isinstance(m.stored, Stored) and m.stored.content.parts]
        if bases:
            self.laboratory.fold(self.random.choice(bases))


@contextmanager
def shuffling(laboratory: Laboratory) -> Iterator[None]:
    """Within, nothing is small enough to be sent to every task."""
    laboratory.session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    with mock.patch("olston.operators.operand.FEW", -1), mock.patch("olston.store.FEW", -1):
        yield


@contextmanager
def either(random: Random) -> Iterator[None]:
    """Within, changes are looked up in what they lie on, or all is read as one, by one task or several.

    Where rows supersede others of a published table, they do so in place, or not. Computing anew may be what is dear,
    as it is where there is much.
    """
    many, little = random.choice([(0, 0), (10**9, 0), (0, 10**9)])
    starts: dict[str, float] = {SUPERSEDE: random.choice((0.0, 1e9))}
    starts |= {name: 1e6 for name in STARTS if "Batch" in name} if random.random() < 0.7 else {}
    with (
        mock.patch("olston.content.OF_ALL", many),
        mock.patch("olston.content.LITTLE", little),
        mock.patch.dict(STARTS, starts),
    ):
        yield


def _variant(invocation: Invocation) -> Variant:
    assert isinstance(invocation.operator, Variant)
    return invocation.operator


def _name(invocation: Invocation) -> str:
    return _variant(invocation).name


def _label(variant: Variant) -> str:
    """What a variant is to be run for."""
    if variant.foreign:
        return variant.name
    weak = getattr(variant.operator, "weak", None)
    ordered = "ordered " if isinstance(weak, Replace) and weak.by is not None else ""
    return f"{type(variant.operator).__name__} {ordered}{'' if weak is None else type(weak).__name__}".strip()


def _identity(invocation: Invocation) -> tuple[object, ...]:
    return _name(invocation), *(b.key for b in invocation.operands)


def _reads(variant: Variant) -> Iterator[tuple[str, Kind]]:
    for channel, reads in zip(variant.inputs, variant.signature.reads, strict=True):
        for kind in reads.kinds:
            yield channel, kind


def _makes(variant: Variant, wanted: Iterable[tuple[str, Kind]]) -> bool:
    made = variant.signature.writes
    return any(channel in variant.outputs and (fits(made, kind) or fits(kind, made)) for channel, kind in wanted)


def _wanted(block: Block, wanted: Iterable[tuple[str, Kind]]) -> bool:
    return any(channel == block.channel and fits(block.kind, kind) for channel, kind in wanted)
