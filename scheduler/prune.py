"""Prunings of the search space [6.2, 6.3], one function each, each switchable.

All are heuristics: each may hide the only plan, so `olston.scheduler.ladder` retries without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from olston.block import DELTA, Block
from olston.errors import unknown
from olston.provenance import Provenance
from olston.scheduler.bounds import Bounds
from olston.scheduler.frontier import alongside_of, frontiers, ordered, standing
from olston.scheduler.plan import Entry
from olston.scheduler.problem import Problem
from olston.scheduler.propagate import Demand, demands


@dataclass
class Scene:
    """One search, as the prunings see it."""

    problem: Problem
    due: Sequence[str]
    bounds: Bounds
    within: frozenset[str]
    existing: dict[str, list[Block]] = field(default_factory=dict)
    enumerated: dict[tuple[object, ...], list[Provenance]] = field(default_factory=dict)
    _met: dict[tuple[str, Provenance], bool] = field(default_factory=dict)

    @cached_property
    def frontiers(self) -> dict[str, set[Provenance] | None]:
        return frontiers(self.problem.network, self.due, self.problem.holds, self.within)

    @cached_property
    def demands(self) -> dict[str, Demand]:
        return demands(self.problem.network, self.bounds, self.due, self.within)

    @cached_property
    def stands(self) -> dict[str, set[Provenance]]:
        return standing(self.problem.network, self.existing, self.within)

    def starts_a_step(self, block: Block) -> bool:
        """Whether `block` is a base that the next incremental step may start from: on the frontier, where blocks
        downstream stand, or where a delta of its own channel starts."""
        if not block.is_base:
            return False
        frontier = self.frontiers[block.channel]
        return (
            frontier is None
            or block.target in frontier
            or block.target in self.stands.get(block.channel, ())
            or any(b.source == block.target for b in self.existing.get(block.channel, ()))
        )

    def meets_demand(self, block: Block) -> bool:
        """Whether the propagated constraints let `block` be of use downstream."""
        key = (block.channel, block.target)
        met = self._met.get(key)
        if met is None:
            inputs = self.problem.network.inputs[block.channel]
            met = self._met[key] = self.demands[block.channel].met_by(self.bounds, inputs, block.target)
        return met


def old_blocks(scene: Scene) -> None:
    """6.2.1: hide blocks behind the newest base that is not ahead of the frontier.

    An output that holds nothing has no frontier: all that feeds it is kept. So is a base where the newest base of a
    channel upstream stands: a step from there may be cheaper than bringing that one forward.
    """
    alongside = alongside_of(scene.problem.network, scene.existing, ordered(scene.problem.network, scene.within))
    for channel, blocks in scene.existing.items():
        frontier = scene.frontiers[channel]
        if not frontier:
            continue
        behind = [b.target for b in blocks if b.is_base and all(_not_ahead(b.target, f) for f in frontier)]
        if behind:
            spared = alongside.get(channel, ())
            scene.existing[channel] = [
                b for b in blocks if b.target in spared or not any(b.target.precedes(p) for p in behind)
            ]


def _not_ahead(target: Provenance, frontier: Provenance) -> bool:
    return target == frontier or target.precedes(frontier)


def compulsory_chains(scene: Scene) -> None:
    """6.2.2: let abutting deltas of a kind act as one.

    Chains break at own bases, at the frontier, and at the provenances that blocks downstream stand on;
    else the delta that the next incremental step needs would be swallowed.
    """
    stands = scene.stands
    for channel, blocks in scene.existing.items():
        if sum(not b.is_base for b in blocks) < 2:
            continue
        breaks = {b.target for b in blocks if b.is_base} | (scene.frontiers[channel] or set())
        breaks |= stands.get(channel, set())
        scene.existing[channel] = [b for b in blocks if b.is_base]
        for kind in dict.fromkeys(b.kind for b in blocks if not b.is_base):
            scene.existing[channel] += chained([b for b in blocks if b.kind == kind], breaks)


def chained(deltas: Sequence[Block], breaks: set[Provenance]) -> list[Block]:
    """`deltas` of one kind with every unbroken run of abutting ones as a single block."""
    starting: dict[Provenance | None, list[Block]] = {}
    ending: dict[Provenance, list[Block]] = {}
    for delta in deltas:
        starting.setdefault(delta.source, []).append(delta)
        ending.setdefault(delta.target, []).append(delta)

    def joined(at: Provenance | None) -> bool:
        return at is not None and at not in breaks and len(starting.get(at, ())) == 1 and len(ending.get(at, ())) == 1

    made = []
    for first in deltas:
        if joined(first.source):
            continue
        run = [first]
        while joined(run[-1].target):
            run.append(starting[run[-1].target][0])
        made.append(chain(run))
    return made


def chain(run: Sequence[Block]) -> Block:
    """Abutting deltas as one block; of the strong ones a `Δ⁺` only if all are."""
    first, last = run[0], run[-1]
    if first is last:
        return first
    kind = first.kind if all(b.kind == first.kind for b in run) else DELTA
    rows, relaxed = sum(b.rows for b in run), all(b.relaxed for b in run)
    return Block(first.channel, kind, last.target, first.source, rows, relaxed)


def unbounded(scene: Scene, block: Block) -> bool:
    """6.1: generate only what keeps the bounds declared on its own channel; spares a base that starts a step."""
    return scene.bounds.readable(block) or scene.starts_a_step(block)


def useful(scene: Scene, block: Block) -> bool:
    """6.2.3: generate only what meets the constraints propagated upstream; spares a base that starts a step."""
    return scene.meets_demand(block) or scene.starts_a_step(block)


def no_overkill(scene: Scene, block: Block) -> bool:
    """6.2.4: generate nothing newer where a block of the kind exists that is new enough.

    Among deltas only those of equal source do the same; and what ends where an existing delta ends is a chain, no work.
    """
    target, overkill = block.target, False
    for rival in scene.existing.get(block.channel, ()):
        if rival.kind == block.kind:
            if rival.target == target:
                return True
            if rival.source == block.source and rival.target.precedes(target) and scene.meets_demand(rival):
                overkill = True
    return not overkill


def not_dominated(scene: Scene, block: Block) -> bool:
    """6.3: ignore a block if another of its kind that is further ahead could be made: work that lasts is cheaper.

    Among deltas, only those of equal source and footprint are compared. A base that starts a step is spared.
    """
    targets = scene.enumerated.setdefault(_rivals(block), [])
    target = block.target
    for other in targets:
        if target.precedes(other):
            return scene.starts_a_step(block)
    if target not in targets:
        targets.append(target)
    return True


def _rivals(block: Block) -> tuple[object, ...]:
    if block.source is None:
        return (block.channel, block.kind)
    if len(block.target) == 1:
        return (block.channel, block.kind, block.source)
    footprint = tuple([old == new for old, new in zip(block.source, block.target, strict=True)])
    return (block.channel, block.kind, block.source, footprint)


@dataclass(frozen=True)
class Pruner:
    """A pruning, named by its section of the paper, and where it acts."""

    section: str
    on_existing: Callable[[Scene], None] | None = None
    on_generated: Callable[[Scene, Block], bool] | None = None
    on_selected: Callable[[Scene, Block], bool] | None = None


PRUNERS = (
    Pruner("6.2.1", on_existing=old_blocks),
    Pruner("6.2.2", on_existing=compulsory_chains),
    Pruner("6.1", on_generated=unbounded),
    Pruner("6.2.3", on_generated=useful),
    Pruner("6.2.4", on_generated=no_overkill),
    Pruner("6.3", on_generated=not_dominated, on_selected=not_dominated),
)
SECTIONS = tuple(p.section for p in PRUNERS)


class Prunings:
    """A choice among `pruners`, by section; none by default."""

    def __init__(self, sections: Iterable[str] = (), pruners: Sequence[Pruner] = PRUNERS) -> None:
        chosen = set(sections)
        for section in sorted(chosen - {p.section for p in pruners}):
            raise unknown("pruning", section, [p.section for p in pruners])
        # 6.2.4 asks whether what exists meets the propagated constraints; alone it loses plans (DESIGN 6)
        if "6.2.3" not in chosen:
            chosen.discard("6.2.4")
        self._pruners = [p for p in pruners if p.section in chosen]
        self.sections = tuple(p.section for p in self._pruners)

    def start(self, problem: Problem, due: Sequence[str], bounds: Bounds, within: frozenset[str]) -> Pruning:
        scene = Scene(problem, due, bounds, within)
        scene.existing = {
            c: sorted(problem.blocks[c], key=_canonical)
            for c in ordered(problem.network, within)
            if problem.blocks.get(c)
        }
        for pruner in self._pruners:
            if pruner.on_existing is not None:
                pruner.on_existing(scene)
        return Pruning(scene, self._pruners)


def _canonical(block: Block) -> tuple[object, ...]:
    """An order of blocks that does not depend on how they are listed: same state, same plan."""
    ends = (*block.target.newest, *block.target.oldest, *(block.source.newest if block.source is not None else ()))
    return (block.kind, *(-1 if end is None else end for end in ends))


class Pruning:
    """The chosen prunings at work in one search."""

    def __init__(self, scene: Scene, pruners: Sequence[Pruner]) -> None:
        self.scene = scene
        self._generated = [p.on_generated for p in pruners if p.on_generated is not None]
        self._selected = [p.on_selected for p in pruners if p.on_selected is not None]

    def existing(self) -> list[Block]:
        return [b for blocks in self.scene.existing.values() for b in blocks]

    def generates(self, entry: Entry) -> bool:
        scene, block = self.scene, entry.block
        for keeps in self._generated:  # noqa: SIM110, the innermost loop of planning
            if not keeps(scene, block):
                return False
        return True

    def selects(self, entry: Entry) -> bool:
        scene, block = self.scene, entry.block
        if (entry.cost or entry.made_by is not None) and block.channel in scene.within:
            for keeps in self._selected:
                if not keeps(scene, block):
                    return False
        return True
