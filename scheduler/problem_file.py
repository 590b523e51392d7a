"""Planning problems as JSON, and their answers; `docs/reference/problem-files.md` describes the format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx

from olston.block import BASE, MONOTONE, Block, Kind, is_weak, weak
from olston.constraints import Inconsistency, Staleness
from olston.content import run_of
from olston.errors import OlstonError, ProblemError, unknown
from olston.operators.signature import Reads, Relaxed, Signature
from olston.provenance import Provenance
from olston.scheduler.network import Network, Output, Recompute, Variant
from olston.scheduler.problem import Problem
from olston.scheduler.problem_format import Case, ConsumerPart, OperatorPart, SolvePart, Stamps, parse
from olston.scheduler.problem_prices import KINDS, conversions, converter, handing_over, linear
from olston.timeline import History, Timeline

_NAMES = {kind: name for name, kind in KINDS.items()}


def read_file(path: Path, only: str | None = None) -> tuple[list[tuple[str, Problem, SolvePart]], bool]:
    """The problems of a file, with their ids and how to solve them, and whether the file is a list of cases; `only`
    selects one by its id.
    """
    try:
        text = json.loads(path.read_text())
    except OSError as error:
        raise ProblemError(f"{path}: cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{path}: not JSON: {error}.") from None
    several = isinstance(text, dict) and "cases" in text
    cases = text["cases"] if several else [text]
    if not isinstance(cases, list):
        raise ProblemError(f"{path}: 'cases' is a list of cases, not {type(cases).__name__}.")
    named = [(_case_name(case, i), case) for i, case in enumerate(cases)]
    names = [name for name, _ in named]
    for name, times in Counter(names).items():
        if times > 1:
            raise ProblemError(f"{path}: two cases have the id {name!r}.")
    if only is not None:
        chosen = [(name, case) for name, case in named if name == only]
        if not chosen:
            raise unknown("case", only, names, str(path))
        named, several = chosen, False
    parsed = [(name, parse(case, name)) for name, case in named]
    return [(name, _problem(case, name), case.solve) for name, case in parsed], several


def _case_name(case: Any, position: int) -> str:
    named = isinstance(case, dict) and isinstance(case.get("id"), str)
    return str(case["id"]) if named else f"case {position}"


def load(case: Any, name: str = "problem") -> Problem:
    """The planning problem that `case` describes; refuses what is malformed or contradicts itself."""
    return _problem(parse(case, name), name)


def _problem(case: Case, name: str) -> Problem:
    try:
        return _Reader(case).problem()
    except ProblemError as error:
        raise ProblemError(f"{name}: {error.message}") from None
    except OlstonError as error:
        raise ProblemError(f"{name}: {error.message}") from error


class _Reader:
    """Turns a case into a problem, checking each part against those it refers to."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.channels = {c.name: c for c in case.channels}
        for name, times in Counter(c.name for c in case.channels).items():
            if times > 1:
                raise ProblemError(f"channel {name!r} is listed twice.")

    def problem(self) -> Problem:
        history = self._history()
        order = self._order()
        network = Network(
            {name: tuple(self.channels[name].paths) for name in order},
            (*map(self._operator, self.case.operators), *(v for n in order for v in self._conversions(n))),
            {o.channel: self._output(o) for o in self.case.outputs},
            tuple(self._staleness()),
            tuple(self._inconsistency()),
            wary=self.case.wary,
        )
        holds = {o.channel: self._provenance(o.channel, o.holds, "holds") for o in self.case.outputs}
        return Problem(network, self._blocks(), history, holds)

    def _history(self) -> History:
        timelines = {}
        for input_, arrivals in self.case.arrivals.items():
            if input_ not in self.channels:
                raise unknown("channel", input_, self.channels, "arrivals")
            timelines[input_] = Timeline(input_, arrivals)
            late = [t for t in arrivals if not t < self.case.now]
            if late:
                raise ProblemError(f"arrivals of {input_!r}: {late[0]} is not before now, {self.case.now}.")
        for name, channel in self.channels.items():
            for source in channel.paths:
                if source not in timelines:
                    raise ProblemError(f"channel {name!r}: path from {source!r}, which has no arrivals.")
            if name in timelines and channel.paths != [name]:
                raise ProblemError(f"channel {name!r} is an input, so its only path is itself, not {channel.paths}.")
        return History(timelines, self.case.now)

    def _order(self) -> list[str]:
        """All channels in topological order."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.channels)
        for operator in self.case.operators:
            for channel in [i.channel for i in operator.inputs] + [o.channel for o in operator.outputs]:
                self._known(channel, f"operator {operator.name!r}")
            graph.add_edges_from((i.channel, o.channel) for i in operator.inputs for o in operator.outputs)
        try:
            return list(nx.lexicographical_topological_sort(graph, key=list(self.channels).index))
        except nx.NetworkXUnfeasible:
            cycle = [edge[0] for edge in nx.find_cycle(graph)]
            raise ProblemError(
                f"channels form a cycle: {' → '.join([*cycle, cycle[0]])}; a workflow is acyclic, "
                "model the feedback as an external consumer and source."
            ) from None

    def _operator(self, operator: OperatorPart) -> Variant:
        where = f"operator {operator.name!r}"
        reads = tuple(Reads(tuple(self._kind(i.channel, k, where) for k in i.kinds)) for i in operator.inputs)
        for part in reads:
            if len(part.kinds) == 2 and (part.kinds[0] != BASE or part.kinds[1] == BASE):
                raise ProblemError(f"{where}: two operands of one input are a base and a delta that starts at it.")
        operands = sum(len(r.kinds) for r in reads)
        if not operands:
            raise ProblemError(f"{where}: it reads nothing.")
        kinds = {self._kind(o.channel, o.kind, where) for o in operator.outputs}
        if len(kinds) > 1:
            raise ProblemError(f"{where}: all results of an operator are of one kind, not {sorted(kinds)}.")
        read = {k for r in reads for k in r.kinds}
        if kinds == {BASE} and BASE not in read:
            raise ProblemError(f"{where}: writes a base but reads none; applying deltas is a converter's work.")
        if BASE not in kinds and read == {BASE}:
            raise ProblemError(f"{where}: writes a delta but reads bases only; their difference is a converter's work.")
        if MONOTONE in kinds:
            raise ProblemError(f"{where}: writes 'D'; whether that is a D+ follows from what it reads.")
        paths = [p for i in operator.inputs for p in self.channels[i.channel].paths]
        for output in operator.outputs:
            if output.channel in self.case.arrivals:
                raise ProblemError(f"{where}: writes {output.channel!r}, which is an input channel.")
            if self.channels[output.channel].paths != paths:
                raise ProblemError(
                    f"{where}: its inputs have paths {paths}, but channel {output.channel!r} "
                    f"says {self.channels[output.channel].paths}."
                )
        for what, weights in [
            ("cost.per_operand", operator.cost.per_operand),
            ("cost.per_monotone", operator.cost.of_monotone),
            *((f"size of {o.channel!r}", o.size) for o in operator.outputs),
        ]:
            # a one-sided union lists the weights of both sides; those beyond its operands mean nothing
            if len(weights) < operands:
                raise ProblemError(f"{where}: {what} has {len(weights)} weights for {operands} operands.")
        monotone = len(reads) == 1 if operator.monotone is None else operator.monotone
        return Variant(
            operator.name,
            operator.widget or operator.name.split(".")[0],
            Signature(reads, kinds.pop(), operator.sync, monotone, Relaxed[operator.relaxed.upper()]),
            tuple(i.channel for i in operator.inputs),
            tuple(o.channel for o in operator.outputs),
            linear(operator.cost, [o.size for o in operator.outputs], [o.fixed for o in operator.outputs]),
            recompute=Recompute[operator.recompute.upper()],
        )

    def _conversions(self, channel: str) -> Iterator[Variant]:
        part = self.channels[channel]
        if part.converters is None:
            yield from conversions(part)
            return
        for one in part.converters:
            where = f"converter {one.name!r} of channel {channel!r}"
            kinds = tuple(self._kind(channel, k, where) for k in one.kinds)
            for what, weights in (("per_operand", one.cost.per_operand), ("per_monotone", one.cost.of_monotone)):
                if len(weights) < len(kinds):
                    raise ProblemError(f"{where}: cost.{what} has {len(weights)} weights for {len(kinds)} operands.")
            yield converter(channel, one, kinds, self._kind(channel, one.writes, where))

    def _output(self, part: ConsumerPart) -> Output:
        channel, where = part.channel, f"output {part.channel!r}"
        self._known(channel, "outputs")
        if [o.channel for o in self.case.outputs].count(channel) > 1:
            raise ProblemError(f"output {channel!r} is listed twice.")
        accepts = frozenset(self._kind(channel, k, where) for k in part.accepts)
        if not part.delivery:
            return Output(channel, accepts)
        return Output(
            channel, accepts, handing_over({self._kind(channel, k, where): c for k, c in part.delivery.items()})
        )

    def _staleness(self) -> Iterator[Staleness]:
        for bound in self.case.constraints:
            if bound.type == "staleness":
                self._bounded(bound.channel, bound.type)
                paths = self.channels[bound.channel].paths
                if bound.path is None or not 0 <= bound.path < len(paths):
                    raise ProblemError(
                        f"staleness of {bound.channel!r}: path {bound.path}; it has paths 0 to {len(paths) - 1}."
                    )
                yield Staleness(bound.channel, bound.path, bound.bound)

    def _inconsistency(self) -> Iterator[Inconsistency]:
        for bound in self.case.constraints:
            if bound.type == "inconsistency":
                self._bounded(bound.channel, bound.type)
                yield Inconsistency(bound.channel, bound.bound)

    def _bounded(self, channel: str, kind: str) -> None:
        self._known(channel, "constraints")
        if channel in self.case.arrivals:
            raise ProblemError(f"{kind} of {channel!r}: it is an input channel; bound a derived channel.")

    def _blocks(self) -> dict[str, list[Block]]:
        found: dict[str, dict[tuple[object, ...], Block]] = {}
        for part in self.case.blocks:
            where = f"block on {part.channel!r}"
            self._known(part.channel, "blocks")
            kind = self._kind(part.channel, part.kind, where)
            target = self._provenance(part.channel, part.target, where)
            source = self._provenance(part.channel, part.source, where)
            assert target is not None
            block = Block(part.channel, kind, target, source, part.size, part.relaxed, overlay=part.overlay)
            block.over = run_of(self._kind(part.channel, part.over, where)) if part.over else ""
            if block.over == BASE:
                raise ProblemError(f"{where}: 'over' is the kind of deltas that lie on it, not {part.over!r}.")
            same = found.setdefault(part.channel, {}).setdefault(block.key, block)
            if same.rows != block.rows:
                raise ProblemError(f"{block}: listed with size {same.rows} and with size {block.rows}.")
        return {channel: list(blocks.values()) for channel, blocks in found.items()}

    def _provenance(self, channel: str, stamps: Stamps | None, where: str) -> Provenance | None:
        if stamps is None:
            return None
        paths = self.channels[channel].paths
        if len(stamps) != len(paths):
            raise ProblemError(f"{where}: {channel!r} has {len(paths)} paths, the provenance {len(stamps)} entries.")
        for source, entry in zip(paths, stamps, strict=True):
            for stamp in entry:
                if stamp not in self.case.arrivals[source]:
                    raise ProblemError(f"{where}: {source!r} has no arrival at {stamp}.")
        if where == "holds" and not all(stamps):
            raise ProblemError(f"holds of {channel!r}: content reflects every path; only deltas have empty entries.")
        return Provenance(stamps)

    def _kind(self, channel: str, name: str, where: str) -> Kind:
        self._known(channel, where)
        if name in KINDS:
            return KINDS[name]
        known = self.channels[channel].weak
        if name not in known:
            raise unknown("kind", name, [*KINDS, *known], f"{where} on channel {channel!r}")
        return weak(name)

    def _known(self, channel: str, where: str) -> None:
        if channel not in self.channels:
            raise unknown("channel", channel, self.channels, where)


def show_kind(kind: Kind) -> str:
    """The name of a kind in problem files."""
    return kind[2:] if is_weak(kind) else _NAMES[kind]


def show_block(block: Block) -> dict[str, Any]:
    """A block as problem files show it."""
    return {
        "channel": block.channel,
        "kind": show_kind(block.kind),
        "source": None if block.source is None else block.source.to_json(),
        "target": block.target.to_json(),
    }
