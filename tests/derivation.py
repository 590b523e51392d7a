"""What a workflow can make of some blocks: the real operators, through the real planner, without any pruning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from olston.block import BASE, Block, Kind
from olston.errors import UnknownNameError
from olston.provenance import Provenance, Stamp
from olston.scheduler.bounds import Bounds
from olston.scheduler.candidates import Candidates
from olston.scheduler.compile import compile_workflow
from olston.scheduler.plan import Entry, Ledger
from olston.scheduler.planner import search
from olston.scheduler.settled import Settled
from olston.timeline import History, Timeline
from olston.workflow import Workflow

T = Provenance.at


def sets(*entries: Iterable[Stamp]) -> Provenance:
    return Provenance(entries)


def base(channel: str, target: Provenance, rows: float = 10) -> Block:
    return Block(channel, BASE, target, rows=rows)


def delta(channel: str, kind: Kind, source: Provenance, target: Provenance, rows: float = 2) -> Block:
    return Block(channel, kind, target, source, rows)


@dataclass(frozen=True)
class Made:
    """A block, and the variant that made it from `operands`; one block may be made in several ways."""

    block: Block
    variant: str
    operands: tuple[Block, ...]


class Derived:
    """Every invocation that is possible, starting with `blocks`."""

    def __init__(self, workflow: Workflow, arrivals: Mapping[str, Sequence[Stamp]], blocks: Iterable[Block]) -> None:
        lines = {name: Timeline(name, stamps) for name, stamps in arrivals.items()}
        now = 1 + max(line.newest for line in lines.values())
        self.history = History(lines, now)
        network = compile_workflow(workflow)
        generate = Candidates(network, Bounds(network, self.history), Ledger(), frozenset(network.inputs))
        self.made: list[Made] = []

        def block_gen(entry: Entry, settled: Settled) -> list[Entry]:
            found = generate(entry, settled)
            for e in found:
                name = "chain" if e.made_by is None else str(e.made_by.operator)
                self.made.append(Made(e.block, name, tuple(o.block for o in e.operands)))
            return found

        settled = search(blocks, block_gen, lambda _: True, lambda _: False)
        self.blocks = {e.block.key: e.block for e in settled.entries.values()}

    def by(self, variant: str) -> list[Made]:
        """What `variant` made."""
        return [m for m in self.made if m.variant == variant]

    def block(self, channel: str, kind: Kind, source: Provenance | None, target: Provenance) -> Block:
        """The block with that key."""
        try:
            return self.blocks[channel, kind, source, target]
        except KeyError:
            there = sorted(str(b) for b in self.blocks.values() if b.channel == channel)
            raise UnknownNameError(f"{kind} {source} ▷ {target} is not among: {there}") from None

    def bases(self, channel: str) -> set[Provenance]:
        """The provenances at which a base of `channel` can be made."""
        return {b.target for b in self.blocks.values() if b.channel == channel and b.is_base}


def variants(workflow: Workflow, channel: str) -> dict[str, str]:
    """The operators that write `channel`, by the last part of their names, as text such as `Δ ; B → Δ`."""
    return {
        v.name.rpartition(".")[2]: f"{v.signature}{', sync' if v.signature.sync else ''}"
        for v in compile_workflow(workflow).producers[channel]
    }
