"""Small hand-made planning problems, in the format of problem files, written tersely."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from olston.block import Block
from olston.provenance import Provenance
from olston.scheduler.candidates import Candidates
from olston.scheduler.network import Variant
from olston.scheduler.plan import NO_STEPS, Entry, Ledger
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import load
from olston.scheduler.settled import Settled

Case = dict[str, Any]
Entries = Sequence[float | Sequence[float]]


def channel(name: str, *paths: str, fixed: float = 1.0, rate: float = 0.0, **weak: list[str]) -> Case:
    """A channel whose converters cost `fixed` and `rate` per unit read; `w=["wB", "Dw"]` adds a weak kind `w`."""
    kinds = {label: {"expand": 2.0, "converters": converters} for label, converters in weak.items()}
    cost = {"fixed": fixed, "per_unit_read": rate}
    return {"name": name, "paths": list(paths or (name,)), "weak": kinds, "converter_cost": cost}


def operator(
    name: str, reads: dict[str, str], writes: str, kind: str, cost: float = 1.0, sync: bool = False, rate: float = 0.0
) -> Case:
    """`operator("j.l", {"a": "D", "b": "B"}, "c", "D")`; `"BD"` reads a pair, `""` reads nothing of a channel."""
    kinds = [["B", "D"] if k == "BD" else [k] if k else [] for k in reads.values()]
    operands = sum(map(len, kinds))
    size = [1.0] * operands
    return {
        "name": name,
        "inputs": [{"channel": c, "kinds": k} for c, k in zip(reads, kinds, strict=True)],
        "sync": sync,
        "outputs": [{"channel": w, "kind": kind, "size": size} for w in writes.split()],
        "cost": {"fixed": cost, "per_operand": [rate] * operands},
    }


def entries(*stamps: float | Sequence[float]) -> list[list[float]]:
    return [[float(s)] if isinstance(s, int | float) else [float(x) for x in s] for s in stamps]


def base(channel: str, *stamps: float | Sequence[float], size: float = 1.0) -> Case:
    return {"channel": channel, "kind": "B", "source": None, "target": entries(*stamps), "size": size}


def delta(channel: str, source: Entries, target: Entries, kind: str = "D", size: float = 1.0) -> Case:
    return {"channel": channel, "kind": kind, "source": entries(*source), "target": entries(*target), "size": size}


def output(channel: str, *holds: float | Sequence[float], accepts: str = "B D") -> Case:
    return {"channel": channel, "accepts": accepts.split(), "holds": entries(*holds) if holds else None}


def stale(channel: str, path: int, bound: float = 0.0) -> Case:
    return {"type": "staleness", "channel": channel, "path": path, "bound": bound}


def apart(channel: str, bound: float) -> Case:
    return {"type": "inconsistency", "channel": channel, "bound": bound}


def case(now: float, arrivals: dict[str, list[float]], *parts: Case) -> Case:
    """A case of parts told apart by their fields; input channels are added."""
    made: Case = {"id": "case", "now": now, "arrivals": arrivals, "channels": [], "operators": []}
    made |= {"outputs": [], "constraints": [], "blocks": []}
    known = {p["name"] for p in parts if "paths" in p}
    made["channels"] += [channel(name) for name in arrivals if name not in known]
    for part in parts:
        place = (
            "channels"
            if "paths" in part
            else "operators"
            if "inputs" in part
            else "outputs"
            if "accepts" in part
            else "constraints"
            if "bound" in part
            else "blocks"
        )
        made[place].append(part)
    return made


def problem(now: float, arrivals: dict[str, list[float]], *parts: Case) -> Problem:
    return load(case(now, arrivals, *parts))


def at(*stamps: float) -> Provenance:
    return Provenance.at(*(float(s) for s in stamps))


def named(blocks: Sequence[Block]) -> list[str]:
    return [str(b) for b in blocks]


JOIN = (
    channel("c", "a", "b"),
    operator("join.b", {"a": "B", "b": "B"}, "c", "B", 20.0, sync=True),
    operator("join.ab", {"a": "B", "b": "B"}, "c", "B", 20.0),
    operator("join.i", {"a": "BD", "b": "BD"}, "c", "D", 8.0, sync=True),
    operator("join.l", {"a": "D", "b": "B"}, "c", "D", 2.0),
    operator("join.r", {"a": "B", "b": "D"}, "c", "D", 4.0),
)
"""A join of `a` and `b` to `c` with all its variants."""

MAP = (
    channel("c", "a"),
    operator("map.b", {"a": "B"}, "c", "B", 10.0),
    operator("map.i", {"a": "D"}, "c", "D", 2.0),
)
"""A map of `a` to `c`."""


def wave(*names: str, source: float = 0, target: float = 5) -> list[Case]:
    """The same delta on each of the input channels named."""
    return [delta(n, [source], [target]) for n in names]


def one_step(given: Problem, barred: frozenset[Variant] = frozenset(), within: str = "") -> list[Entry]:
    """What one invocation, or one chaining, makes of the blocks that exist."""
    settled, found = Settled(), list[Entry]()
    channels = frozenset(within.split() or given.network.inputs)
    candidates = Candidates(given.network, given.bounds(), Ledger(), channels, barred)
    for blocks in given.blocks.values():
        for block in blocks:
            entry = Entry(block, NO_STEPS, 0.0)
            settled.add(entry)
            found += candidates(entry, settled)
    return found


def shown(entries: Iterable[Entry]) -> set[str]:
    """`operator → block` for each entry; chains are made by nobody."""
    return {f"{e.made_by.operator if e.made_by else 'chain'} → {e.block}" for e in entries}
