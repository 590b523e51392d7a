"""A workflow on real Spark whose blocks are made one by one, by any legal invocation, and compared with the evaluator.

Which invocations are legal is asked of the planner's own enumeration, without any pruning.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from olston import ingest
from olston.attempt import new_attempt
from olston.block import BASE, Block, is_strong, is_weak
from olston.content import Content
from olston.fuse import step_of, unwritten
from olston.operators.chain import Chain
from olston.operators.columns import DELETED, WEIGHT, View, see
from olston.operators.weak import Replace
from olston.provenance import Provenance
from olston.scheduler.bounds import Bounds
from olston.scheduler.candidates import Candidates
from olston.scheduler.compile import compile_workflow
from olston.scheduler.network import Variant
from olston.scheduler.plan import NO_STEPS, Entry, Invocation, Ledger
from olston.scheduler.planner import search
from olston.scheduler.settled import Settled
from olston.session import clone
from olston.step import Inline, Stored, linked, operand, run
from olston.store import Store
from olston.timeline import History, Timeline
from tests.equality.bags import Bag, Row, plain
from tests.equality.catalogue import STRUCT
from tests.equality.evaluate import Evaluator
from tests.equality.judge import Judge, single
from tests.equality.snapshots import DELTA, REPLACE, Arrivals, Wave
from tests.equality.spec import Source, Spec, build

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Key = tuple[object, ...]

SETTINGS = {
    # most of the time of a small query is that of compiling it
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.databricks.delta.stalenessLimit": "1h",  # a session sees its own commits all the same
}


@dataclass(frozen=True, eq=False)
class Made:
    """A block that was made, and how."""

    stored: Stored | Inline
    by: str
    operands: tuple[Made, ...] = ()
    invocation: Invocation | None = None

    @property
    def block(self) -> Block:
        return self.stored.block

    def tree(self, depth: int = 0) -> Iterator[str]:
        """How it was made, a line for each block."""
        yield f"{'  ' * depth}{self.block}  by {self.by}{'' if self.block.relaxed else ', exact only'}"
        for read in self.operands:
            yield from read.tree(depth + 1)


@dataclass(eq=False)
class Laboratory:
    """The blocks of one workflow after `arrivals`; every block that is made is compared at once."""

    spark: SparkSession
    home: str
    spec: Spec
    arrivals: Arrivals
    blocks: dict[Key, Made] = field(default_factory=dict)
    kept_in: type[Store] = Store
    """Where blocks are written."""
    compared: Counter[str] = field(default_factory=Counter)
    """How often blocks of each kind were compared with the evaluator."""

    def __post_init__(self) -> None:
        self.session = clone(self.spark)
        for key, value in SETTINGS.items():
            self.session.conf.set(key, value)
        self.store = self.kept_in(self.session, self.home, build(self.spec))
        self.network = compile_workflow(self.store.workflow, drifting=self.store.schemas.drifting)
        self.judge = Judge(self.spec, Evaluator(self.spec, self.arrivals))
        lines = {s.name: Timeline(s.name, self.arrivals.stamps(s.name)) for s in self.spec.sources}
        self.history = History(lines, 1 + max((a.stamp for a in self.arrivals.all), default=0))
        for source in self.spec.sources:
            self._keep(Made(Stored(Block(source.name, BASE, Provenance.at(0)), Content()), "the beginning"))
            self._ingest(source)

    def invocations(self, *, everything: bool = False) -> list[Invocation]:
        """Every legal invocation on the blocks at hand, also those whose results are there.

        But for deltas that fit one base only and start where snapshots mix: equal provenance does not tell then
        whether it is that base (see the counterexamples).
        """
        generate, settled = self._candidates(), Settled()
        settled.keys = frozenset()
        found: dict[int, Invocation] = {}
        for made in self.blocks.values():
            entry = Entry(made.block, NO_STEPS, 0.0)
            settled.add(entry)
            for result in generate(entry, settled):
                invocation = self._invocation(result)
                if everything or not any(map(_ambiguous, invocation.operands)):
                    found[id(invocation)] = invocation
        return list(found.values())

    def towards(self, wanted: Callable[[Block], bool], most: int) -> list[Invocation]:
        """For up to `most` blocks that are `wanted` and not there, the cheapest first, a next step on the way to it."""
        generate, found = self._candidates(), list[Entry]()

        def legal(entry: Entry, settled: Settled) -> list[Entry]:
            return [e for e in generate(entry, settled) if not any(_ambiguous(o.block) for o in e.operands)]

        def enough(entry: Entry) -> bool:
            if wanted(entry.block) and entry.block.key not in self.blocks:
                found.append(entry)
            return len(found) == most

        search([m.block for m in self.blocks.values()], legal, lambda _: True, enough)
        return [self._next(entry) for entry in found]

    def _next(self, entry: Entry) -> Invocation:
        """What can be run now of all that makes `entry`."""
        for read in entry.operands:
            if read.block.key not in self.blocks:
                return self._next(read)
        return self._invocation(entry)

    def _candidates(self) -> Candidates:
        return Candidates(self.network, Bounds(self.network, self.history), Ledger(), frozenset(self.network.inputs))

    def _invocation(self, entry: Entry) -> Invocation:
        return entry.made_by or self._chain(entry)

    def run(self, invocation: Invocation, *, inline: bool = False, keep: bool = True) -> tuple[Made, ...]:
        """Run and compare; with `inline`, what need not be written is made within the job.

        Without `keep`, results that can be compared as they are made are not written either.
        """
        operands = tuple(self.blocks[b.key] for b in invocation.operands)
        steps = list(_made_by(operands)) if inline else []
        within = unwritten([*steps, invocation]) if steps else {}
        step = step_of(invocation, self._stored, within)
        by = f"{step.name}{', fused' if any(isinstance(o, Inline) for o in step.operands) else ''}"
        if not keep and linked(self.store.workflow, step) is None and all(map(self._shows, step.results)):
            for block in step.results:
                self.compare(Made(Inline(block, step), by, operands))
            return ()
        try:
            results = run(self.store, self.session, step, new_attempt())
        except Exception as error:
            tried = Made(Inline(step.results[0], step), by, operands)
            raise AssertionError(self.report(tried, f"failed: {error}")) from error
        found = tuple(Made(s, by, operands, invocation) for s in results)
        for made in found:
            self.compare(made)
            self._keep(made)
        return found

    def make(self, variant: str, *operands: Made, **options: bool) -> Made:
        """The first result of a variant by name on blocks at hand; an error if the planner would not do that."""
        wanted = [o.block for o in operands]
        for invocation in self.invocations(everything=True):
            assert isinstance(invocation.operator, Variant)
            if invocation.operator.name == variant and list(invocation.operands) == wanted:
                return self.run(invocation, **options)[0]
        raise LookupError(f"{variant} cannot be run on {', '.join(map(str, wanted))}")

    def block(self, channel: str, kind: str, *stamps: int, after: Sequence[int] | None = None) -> Made:
        """The block of one snapshot for each pathway, for a delta `after` others."""
        source = None if after is None else Provenance.at(*after)
        return self.blocks[channel, kind, source, Provenance.at(*stamps)]

    def fold(self, made: Made) -> Made:
        """The base with its overlay folded in, compared and kept instead."""
        content = self._stored(made.block).content
        content = self.store.fold(self.session, made.block.channel, content, new_attempt(), {})
        folded = Made(Stored(made.block, content), "fold", (made,), None)
        self.compare(folded)
        self.blocks[made.block.key] = folded
        return folded

    def compare(self, made: Made) -> None:
        """Fail unless `made` holds what the evaluator says, as far as it says anything."""
        block = made.block
        if not self._shows(block) or not self.judge.knows(block):
            return
        try:
            found = operand(self.store, self.session, made.stored, View.STORED).rows
            rows = see(found, View.PUBLIC, tombstones=is_weak(block.kind))
            odd = self._odd(block, rows.columns, rows.collect())
        except Exception as error:
            raise AssertionError(self.report(made, f"cannot be read: {error}")) from error
        self.compared[f"{block.kind[:2]}{'' if single(block) else ' mixed'}"] += 1
        if odd:
            raise AssertionError(self.report(made, f"rows too many, or too few: {dict(odd.most_common(6))}", odd))

    def report(self, made: Made, fault: str, odd: Bag | None = None) -> str:
        """All that is needed to write the case down as a test."""
        lines = [f"{made.block}: {fault}", "", *made.tree(), "", f"{self.spec}"]
        arrivals = self.arrivals.of_case(next(iter(odd))[0]) if odd else self.arrivals
        lines += (
            ["", *map(str, arrivals.all)] if odd else ["", *(f"{a.stamp}: {_kinds(a.waves)}" for a in arrivals.all)]
        )
        return "\n".join(lines)

    def _shows(self, block: Block) -> bool:
        """Whether the rows of a block say what it means; other weak deltas are compared where they are applied."""
        if not is_weak(block.kind):
            return True
        weak = self.store.weak(block.channel, block.kind)
        return isinstance(weak, Replace) and weak.by is None and single(block)

    def _odd(self, block: Block, columns: list[str], rows: Sequence[Sequence[Any]]) -> Bag:
        mark = WEIGHT if is_strong(block.kind) else DELETED
        shown = [c for c in columns if c not in (WEIGHT, DELETED)]
        bag: Bag = Counter()
        given: set[Row] = set()
        for row in rows:
            named = dict(zip(columns, row, strict=True))
            values = tuple(plain(named[c]) for c in shown)
            given.add(values)
            bag[values] += {WEIGHT: named.get(mark, 1), DELETED: not named.get(mark, False)}[mark]
        if block.kind == BASE:
            return self.judge.base(block, bag)
        if is_strong(block.kind):
            return self.judge.delta(block, bag)
        key = self.store.weak(block.channel, block.kind).key
        keys = {tuple(row[shown.index(c)] for c in key) for row in given}
        return self.judge.replacement(block, +bag, keys, key)

    def _stored(self, block: Block) -> Stored:
        found = self.blocks[block.key].stored
        assert isinstance(found, Stored)
        return found

    def _keep(self, made: Made) -> None:
        """Newer blocks take the place of older ones, but for those of which several contents would be right."""
        if single(made.block) or made.block.key not in self.blocks:
            self.blocks[made.block.key] = made

    def _ingest(self, source: Source) -> None:
        before = 0
        for arrival in self.arrivals.all:
            wave = arrival.waves.get(source.name)
            if wave is not None:
                arrived = ingest.write(
                    self.store, self.session, source.name, offered(self.session, source, wave), wave.kind, new_attempt()
                )
                self._keep(Made(arrived.at(arrival.stamp, before), f"{wave.kind} at {arrival.stamp}"))
                before = arrival.stamp

    def _chain(self, entry: Entry) -> Invocation:
        block = entry.block
        kind = "Δ" if is_strong(block.kind) else block.kind
        variant = next(
            v for v in self.network.variants
            if isinstance(v.operator, Chain) and v.operator.kind == kind and v.outputs == (block.channel,)
        )  # fmt: skip
        return Invocation(variant, tuple(o.block for o in entry.operands), (block,), 0.0, NO_STEPS)


def offered(session: SparkSession, source: Source, wave: Wave) -> DataFrame:
    """The rows of a wave, by way of JSON: rows in Python would need a Python worker in every job."""
    from pyspark.sql import functions as F

    extra: dict[str, tuple[str, str, Any, Any]] = {
        DELTA: (WEIGHT, "int", 1, -1), REPLACE: (DELETED, "boolean", False, True)
    }  # fmt: skip
    fields = [f"`{c.name}`:{c.type}" for c in source.columns]
    given: list[Row] = [*wave.rows]
    if wave.kind in extra:
        name, kind, yes, no = extra[wave.kind]
        fields.append(f"{name}:{kind}")
        given = [(*r, yes) for r in wave.rows] + [(*r, no) for r in wave.deleted]
    types = dict(f.replace("`", "").split(":", 1) for f in fields)
    rows = [{n: _json(v, t) for (n, t), v in zip(types.items(), row, strict=True)} for row in given]
    text = json.dumps(rows)
    parsed = F.from_json(F.lit(text), f"array<struct<{','.join(fields)}>>")
    return session.range(0, 1, 1, 1).select(F.inline(parsed))


def operator_of(invocation: Invocation) -> str:
    """The class of the operator."""
    assert isinstance(invocation.operator, Variant)
    return type(invocation.operator.operator).__name__


def _ambiguous(block: Block) -> bool:
    return block.source is not None and not block.relaxed and any(len(entry) > 1 for entry in block.source)


def _made_by(operands: Sequence[Made], depth: int = 3) -> Iterator[Invocation]:
    """The invocations that made `operands`, and what those read, as far as the blocks are as they were planned."""
    for made in operands:
        if depth and made.invocation is not None and made.block.key in {b.key for b in made.invocation.results}:
            yield from _made_by(made.operands, depth - 1)
            yield made.invocation


def _json(value: Any, kind: str = "") -> Any:
    """`value` of a Spark type as Spark reads it from JSON."""
    if isinstance(value, tuple):
        return dict(zip("xy", value, strict=True)) if kind == STRUCT else value
    if isinstance(value, datetime):
        return value.isoformat() + ("" if kind == "timestamp_ntz" else "Z")
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value) if isinstance(value, date | Decimal) else value


def _kinds(waves: Any) -> str:
    return ", ".join(f"{wave.kind} of {len(wave.rows)} + {len(wave.deleted)} on {name}" for name, wave in waves.items())
