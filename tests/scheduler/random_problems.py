"""Random planning problems of the same kind as `tests/data/problems.json`, in the same format.

A case is a workflow of 3 to 7 channels and a state that it could really be in: inputs arrive one after
the other; now and then what is due is planned and run, or a few legal invocations are run at random;
after the last arrivals nothing has run yet. Sizes are linear, so that the size of a block that is
reached in several ways is the same. `hard` cases have more channels, outputs, arrivals and blocks, and
channels that are read more than once. The same seed gives the same case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from olston.block import BASE, Block, Kind
from olston.provenance import Provenance
from olston.scheduler.candidates import Candidates
from olston.scheduler.delivery import accepted, held_after
from olston.scheduler.plan import NO_STEPS, Entry, Ledger
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import load
from olston.scheduler.prune import Prunings
from olston.scheduler.settled import Settled
from olston.scheduler.solve import Solver

Case = dict[str, Any]

CONVERTERS = (["wB", "wD", "Dw", "Bw"], ["wB", "Dw"], ["wD", "Dw"])
MAX_PATHS = 3


def random_case(seed: int, hard: bool = False) -> Case:
    """The case of `seed`; at least one output is due in it."""
    random = Random(f"{seed} {'hard' if hard else 'plain'}")
    while True:
        case = _Workflow(random, hard).case()
        _live(case, random, hard)
        if load(case).due():
            return {"id": f"{'hard' if hard else 'plain'}{seed}", **case}


def random_cases(seeds: range, hard: bool = False) -> Iterator[Case]:
    return (random_case(seed, hard) for seed in seeds)


class _Workflow:
    """Channels, operators, outputs and bounds."""

    def __init__(self, random: Random, hard: bool) -> None:
        self._random, self._hard = random, hard
        self._channels: list[Case] = []
        self._operators: list[Case] = []
        self._paths: dict[str, list[str]] = {}
        self._read: set[str] = set()
        for i in range(random.choice((1, 1, 2, 2, 2, 3))):
            self._channel(f"in{i}", [f"in{i}"])
        self._size = random.randint(5, 7) if hard else random.randint(3, 6)
        # every input is read, and what nobody reads at the end is an output
        while len(self._channels) < self._size or not self._all_inputs_read():
            self._operation()

    def _all_inputs_read(self) -> bool:
        return all(c in self._read for c in self._paths if c.startswith("in"))

    def case(self) -> Case:
        random = self._random
        sinks = [c for c in self._paths if c not in self._read]
        outputs = sinks[-3 if self._hard else -2 :]
        inner = [c for c in self._paths if c in self._read and not c.startswith("in")]
        if self._hard and inner and len(outputs) < 3 and random.random() < 0.4:
            outputs.append(random.choice(inner))
        constraints: list[Case] = []
        for channel in outputs:
            bounded = [p for p in range(len(self._paths[channel])) if random.random() < 0.8] or [0]
            for path in bounded:
                constraints.append(_staleness(channel, path, random.choice((0.0, 0.0, 4.0, 8.0))))
        for channel in inner:
            if random.random() < 0.25:
                constraints.append(_staleness(channel, 0, random.choice((2.0, 5.0))))
        for channel in outputs + (inner if self._hard else []):
            several = len(self._paths[channel]) > 1
            if several and random.random() < (0.5 if channel in outputs else 0.15):
                bound = random.choice((0.0, 3.0, 6.0, 12.0))
                constraints.append({"type": "inconsistency", "channel": channel, "bound": bound})
        accepts = [random.choice((["B", "D"], ["B", "D"], ["B"], ["D"])) for _ in outputs]
        return {
            "now": 0.5,
            "arrivals": {c: [] for c in self._paths if c.startswith("in")},
            "channels": self._channels,
            "operators": self._operators,
            "outputs": [{"channel": c, "accepts": a, "holds": None} for c, a in zip(outputs, accepts, strict=True)],
            "constraints": constraints,
            "blocks": [],
        }

    def _channel(self, name: str, paths: list[str], weak: Case | None = None) -> str:
        cost = {"fixed": self._number(0.1, 1), "per_unit_read": self._number(0.3, 1.5)}
        self._channels.append({"name": name, "paths": paths, "weak": weak or {}, "converter_cost": cost})
        self._paths[name] = paths
        return name

    def _number(self, low: float, high: float) -> float:
        return round(self._random.uniform(low, high), 3)

    def _pick(self) -> str:
        """A channel to read: mostly one that nobody reads yet, less so in hard cases."""
        unread = [c for c in self._paths if c not in self._read]
        if len(self._paths) >= self._size:
            return unread[0]
        if unread and self._random.random() < (0.55 if self._hard else 0.8):
            return self._random.choice(unread)
        return self._random.choice(list(self._paths))

    def _operation(self) -> None:
        left, right = self._pick(), self._pick()
        single = self._random.random() < 0.55 or len(self._paths[left] + self._paths[right]) > MAX_PATHS
        kinds = ("map", "agg", "split", "splitx") if single else ("join", "join", "union", "batch")
        kind = self._random.choice(kinds)
        if not single and left == right and not (self._hard and self._random.random() < 0.1):
            return
        self._read.update((left,) if single else (left, right))
        number = len({o["name"].split(".")[0].rstrip("xy") for o in self._operators})
        fixed = self._number(0.1, 1)
        if single:
            self._unary(kind, number, fixed, left)
        else:
            self._binary(kind, f"{kind}{number}", fixed, left, right)

    def _unary(self, kind: str, number: int, fixed: float, source: str) -> None:
        def operator(name: str, read: str, results: Mapping[str, tuple[str, float]], rate: float) -> None:
            outputs = [{"channel": c, "kind": k, "size": [s]} for c, (k, s) in results.items()]
            inputs = [{"channel": source, "kinds": [read]}]
            self._operator(name, inputs, False, outputs, fixed, [rate])

        paths, name = self._paths[source], f"{kind}{number}"
        if kind == "map":
            made, size, rate = self._channel(f"c{len(self._paths)}", paths), self._number(0.2, 1), self._number(0.3, 2)
            operator(f"{name}.b", "B", {made: ("B", size)}, rate)
            operator(f"{name}.i", "D", {made: ("D", size)}, rate)
        elif kind == "agg":
            expand = self._random.choice((0.5, 1.0, 2.0))
            weak = {"w": {"expand": expand, "converters": self._random.choice(CONVERTERS)}}
            made, size = self._channel(f"c{len(self._paths)}", paths, weak), self._number(0.2, 1)
            operator(f"{name}.b", "B", {made: ("B", size)}, self._number(0.6, 2.7))
            operator(f"{name}.i", "D", {made: ("w", size / expand)}, self._number(0.3, 2))
        else:
            parts = {self._channel(f"c{len(self._paths)}", paths): share for share in (0.3, 0.7)}
            if kind == "split":
                rate = self._number(0.3, 1)
                operator(f"{name}.b", "B", {c: ("B", s) for c, s in parts.items()}, rate)
                operator(f"{name}.i", "D", {c: ("D", s) for c, s in parts.items()}, rate)
            else:
                for letter, (made, share) in zip("xy", parts.items(), strict=True):
                    rate = self._number(0.2, 1)
                    operator(f"split{number}{letter}.b", "B", {made: ("B", share)}, rate)
                    operator(f"split{number}{letter}.i", "D", {made: ("D", share)}, rate)

    def _binary(self, kind: str, name: str, fixed: float, left: str, right: str) -> None:
        made = self._channel(f"c{len(self._paths)}", self._paths[left] + self._paths[right])

        def operator(suffix: str, reads: list[list[str]], writes: str, sizes: list[float], rates: list[float]) -> None:
            inputs = [{"channel": c, "kinds": k} for c, k in zip((left, right), reads, strict=True)]
            sync = suffix in (".b", ".i") or (suffix == "" and self._random.random() < 0.7)
            self._operator(
                name + suffix, inputs, sync, [{"channel": made, "kind": writes, "size": sizes}], fixed, rates
            )

        number = self._number
        asynchronous = self._random.random() < 0.5
        if kind == "batch":
            operator(
                "", [["B"], ["B"]], "B", [number(0.4, 0.9), number(0.02, 0.6)], [number(0.5, 1.9), number(0.5, 1.9)]
            )
        elif kind == "union":
            rate = number(0.8, 1.6)
            operator(".b", [["B"], ["B"]], "B", [1.0, 1.0], [rate, rate])
            operator(".i", [["D"], ["D"]], "D", [1.0, 1.0], [rate, rate])
            operator(".l", [["D"], []], "D", [1.0, 1.0], [rate])
            operator(".r", [[], ["D"]], "D", [1.0, 1.0], [rate])
            if asynchronous:
                operator(".ab", [["B"], ["B"]], "B", [1.0, 1.0], [rate, rate])
        else:
            wide, narrow, rate, step = number(0.3, 1), number(0.02, 0.6), number(0.5, 1.8), number(0.4, 1)
            operator(".b", [["B"], ["B"]], "B", [wide, narrow], [rate, rate])
            operator(".i", [["B", "D"], ["B", "D"]], "D", [0, wide, 0, narrow], [step] * 4)
            operator(".l", [["D"], ["B"]], "D", [wide, 0], [number(0.3, 1), number(0.07, 0.3)])
            operator(".r", [["B"], ["D"]], "D", [0, narrow], [number(0.17, 0.65), number(0.3, 0.9)])
            if asynchronous:
                operator(".ab", [["B"], ["B"]], "B", [wide, narrow], [rate, rate])

    def _operator(
        self, name: str, inputs: list[Case], sync: bool, outputs: list[Case], fixed: float, rates: list[float]
    ) -> None:
        cost = {"fixed": fixed, "per_operand": rates}
        self._operators.append({"name": name, "inputs": inputs, "sync": sync, "outputs": outputs, "cost": cost})


def _staleness(channel: str, path: int, bound: float) -> Case:
    return {"type": "staleness", "channel": channel, "path": path, "bound": bound}


def _live(case: Case, random: Random, hard: bool) -> None:
    """Fill in arrivals, blocks and holds, as if the workflow had been used for a while."""
    monotone = {channel: random.random() < 0.45 for channel in case["arrivals"]}
    for channel, arrivals in case["arrivals"].items():
        arrivals.append(0.0)
        _put(case, Block(channel, BASE, Provenance.at(0.0), None, random.randint(5, 60)))
    _fill(case, random.random() < 0.95)
    moments = sorted(random.sample(range(1, 11), random.randint(2, 4) if hard else random.randint(1, 4)))
    for moment in map(float, moments):
        arriving = [c for c in case["arrivals"] if random.random() < 0.6] or [random.choice(list(case["arrivals"]))]
        for channel in arriving:
            arrivals = case["arrivals"][channel]
            kind = "Δ⁺" if monotone[channel] else "Δ"
            _put(case, Block(channel, kind, Provenance.at(moment), Provenance.at(arrivals[-1]), random.randint(1, 12)))
            arrivals.append(moment)
        case["now"] = moment + 0.5
        if moment < moments[-1]:
            if random.random() < (0.6 if hard else 0.3):
                _refresh(case)
            if random.random() < (0.4 if hard else 0.15):
                for _ in range(random.randint(1, 4)):
                    _try_something(case, random)
    case["now"] = moments[-1] + random.choice((0.5, 3.0))
    if random.random() < 0.05:
        random.choice(case["outputs"])["holds"] = None


def _put(case: Case, block: Block) -> None:
    made = {
        "channel": block.channel,
        "kind": {"Δ": "D", "Δ⁺": "D+"}.get(block.kind) or block.kind.removeprefix("δ_"),
        "source": None if block.source is None else block.source.to_json(),
        "target": block.target.to_json(),
        "size": block.rows,
    }
    same = ("channel", "kind", "source", "target")
    if not any(all(b[k] == made[k] for k in same) for b in case["blocks"]):
        case["blocks"].append(made)


def _fill(case: Case, deliver: bool) -> None:
    """Compute every channel once, by its batch operators, and give consumers what they then may hold."""
    for operator in case["operators"]:
        if all(i["kinds"] == ["B"] for i in operator["inputs"]) and not operator["name"].endswith(".ab"):
            problem = load(case)
            reads = [problem.blocks[i["channel"]][0] for i in operator["inputs"]]
            for out in operator["outputs"]:
                target = reads[0].target if len(reads) == 1 else reads[0].target + reads[1].target
                size = sum(w * b.rows for w, b in zip(out["size"], reads, strict=True))
                _put(case, Block(out["channel"], BASE, target, None, size))
    if deliver:
        for output in case["outputs"]:
            output["holds"] = next(b["target"] for b in case["blocks"] if b["channel"] == output["channel"])


def _refresh(case: Case) -> None:
    """Plan what is due and run the plan."""
    problem = load(case)
    due = problem.due()
    solution = Solver(problem, due, Prunings()).solve(False) if due else None
    if solution is None:
        return
    for step in solution.ledger.steps(solution.plan):
        for block in () if step.is_delivery else step.results:
            _put(case, block)
    for output in case["outputs"]:
        if output["channel"] in solution.goals:
            output["holds"] = solution.goals[output["channel"]].block.target.to_json()


def _try_something(case: Case, random: Random) -> None:
    """Run one legal invocation, and hand its result over if a consumer would take it."""
    problem = load(case)
    made = _possible(problem)
    if not made:
        return
    block = random.choice(made)
    _put(case, block)
    bounds = problem.bounds()
    for output in case["outputs"]:
        channel = output["channel"]
        if channel == block.channel and accepted(problem.network.outputs[channel], block.kind):
            content = held_after(problem.holds[channel], block)
            if content is not None and next(bounds.inconsistent(channel, content), None) is None:
                output["holds"] = content.to_json()


def _possible(problem: Problem) -> list[Block]:
    """What one invocation could make of the blocks that exist."""
    settled, found = Settled(), dict[tuple[str, Kind, object, object], Block]()
    candidates = Candidates(problem.network, problem.bounds(), Ledger(), frozenset(problem.network.inputs))
    for blocks in problem.blocks.values():
        for block in blocks:
            entry = Entry(block, NO_STEPS, 0.0)
            settled.add(entry)
            for made in candidates(entry, settled):
                if made.made_by is not None:
                    found[made.block.key] = made.block
    return list(found.values())
