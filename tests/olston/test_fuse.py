"""DESIGN 4, "Not materialised": which results of a plan stay inside the job of their only reader."""

from __future__ import annotations

from typing import Any

import olston as ol
from olston.block import BASE, DELTA, MONOTONE, Block, Kind, weak
from olston.content import Anchor, Content
from olston.fuse import parts_of, step_of, unwritten
from olston.provenance import Provenance
from olston.scheduler.compile import compile_workflow
from olston.scheduler.cost import ENGINE
from olston.scheduler.network import Output
from olston.scheduler.plan import Invocation
from olston.scheduler.ways import DeliveryPriced
from olston.step import Inline, Stored
from olston.step import size as size_of

T = Provenance.at


def workflow() -> ol.Workflow:
    wf = ol.Workflow("w")
    pages, scores = wf.source("pages"), wf.source("scores")
    wf.output(pages.map("digests", lambda df: df).join("out", scores, on="site"))
    counts = pages.map("other", lambda df: df).aggregate("counts", by="site", n=ol.count())
    counts.join("ranked", scores, on="site")
    pages.distinct("pairs").map("listed", lambda df: df)
    return wf


NETWORK = compile_workflow(workflow())
VARIANTS = {v.name: v for v in NETWORK.variants}


def delta(channel: str, kind: Kind, *entries: int) -> Block:
    return Block(channel, kind, T(2, *entries), T(1, *entries))


def step(name: str, reads: list[Block], makes: Block) -> Invocation:
    return Invocation(VARIANTS[name], tuple(reads), (makes,), 1.0, 1)


def delivered(block: Block) -> Invocation:
    return Invocation(Output("out", frozenset({BASE})), (block,), (Block("→out", BASE, block.target),), 0.0, 1)


PAGES, SCORES = delta("pages", MONOTONE), Block("scores", BASE, T(1))
DIGESTS, OUT = delta("digests", MONOTONE), delta("out", MONOTONE, 1)
MAP = step("digests.incremental", [PAGES], DIGESTS)
JOIN = step("out.async_left", [DIGESTS, SCORES], OUT)


def test_a_stateless_step_is_done_within_its_only_reader() -> None:
    assert set(unwritten([MAP, JOIN])) == {DIGESTS.key}


def test_the_reader_holds_the_whole_of_it() -> None:
    made = step_of(JOIN, lambda b: Stored(b, Content()), unwritten([MAP, JOIN]))
    inner = made.operands[0]
    assert isinstance(inner, Inline)
    assert inner.step.name == "digests.incremental"
    assert isinstance(made.operands[1], Stored)


def test_what_is_made_for_a_consumer_alone_is_written_once_into_its_table() -> None:
    assert set(unwritten([MAP, JOIN, delivered(OUT)], read=NETWORK.read)) == {DIGESTS.key, OUT.key}


def test_a_base_that_a_policy_forbids_to_make_anew_is_kept() -> None:
    wf = ol.Workflow("w")
    pages = wf.source("pages")
    wf.output(pages.map("strict", lambda df: df, policy="incremental_strict").map("out", lambda df: df))
    variants = {v.name: v for v in compile_workflow(wf).variants}
    read, made, out = (Block(c, BASE, T(1)) for c in ("pages", "strict", "out"))
    first = Invocation(variants["strict.batch"], (read,), (made,), 1.0, 1)
    second = Invocation(variants["out.batch"], (made,), (out,), 1.0, 1)
    assert set(unwritten([first, second, delivered(out)])) == {out.key}


def test_what_others_read_in_later_plans_is_written() -> None:
    assert set(unwritten([MAP, JOIN, delivered(OUT)], read={"out"})) == {DIGESTS.key}


def test_a_delta_with_deletions_is_written_before_it_is_delivered() -> None:
    out = delta("out", DELTA, 1)
    join = step("out.async_left", [DIGESTS, SCORES], out)
    assert out.key not in unwritten([MAP, join, delivered(out)], read=NETWORK.read)


def test_rows_that_supersede_others_are_made_within_their_delivery_and_what_tells_their_keys_is_written() -> None:
    wf = ol.Workflow("w")
    scores = wf.source("clicks").aggregate("scores", by="site", n=ol.count())
    wf.output(wf.source("pages").map("digests", lambda df: df).join("out", scores, on="site"))
    network = compile_workflow(wf, ENGINE)
    variants = {v.name: v for v in network.variants}
    pages, digests = (Block(c, BASE, T(1), rows=10**7) for c in ("pages", "digests"))
    changes, out = delta("scores", DELTA), Block("out", weak("replace(site)"), T(1, 2), T(1, 1), 1000)
    mapped = Invocation(variants["digests.batch"], (pages,), (digests,), 1.0, 1)
    change = Invocation(variants["scores.c.δ_increment(site)Δ"], (), (changes,), 1.0, 1)
    join = Invocation(variants["out.supersede_right"], (digests, changes), (out,), 1.0, 1)
    consumer = network.outputs["out"]
    given = Invocation(consumer, (out,), (Block(consumer.consumer, BASE, out.target),), 0.0, 1)
    assert isinstance(consumer.price, DeliveryPriced)
    consumer.price.stand(1e7, None)
    assert set(unwritten([mapped, change, join, given])) == {digests.key, out.key}
    consumer.price.stand(1e7, None, supersedes=False)
    assert set(unwritten([mapped, change, join, given])) == {digests.key}, "else it is read several times"


def test_what_is_read_twice_is_written() -> None:
    twice = step("digests.incremental", [PAGES], DIGESTS)
    other = step("out.async_left", [DIGESTS, Block("scores", BASE, T(2))], delta("out", MONOTONE, 2))
    assert unwritten([twice, JOIN, other]) == {}


def test_what_nobody_reads_in_this_plan_is_written() -> None:
    assert unwritten([MAP]) == {}


def test_a_channel_that_must_be_written_is() -> None:
    assert unwritten([MAP, JOIN], written={"digests"}) == {}


def test_a_step_that_reads_its_operand_twice_gets_it_written() -> None:
    """The added and the deleted rows of a delta are read apart."""
    other = delta("other", DELTA)
    mapped = step("other.incremental", [delta("pages", DELTA)], other)
    counted = step("counts.increment", [other], delta("counts", "δ_increment(site)"))
    assert set(unwritten([mapped, counted])) == {other.key}
    again = Invocation(VARIANTS["digests.incremental"], (other,), (DIGESTS,), 1.0, 1)
    assert unwritten([mapped, again]) == {}


def test_an_output_whose_deltas_need_its_base_keeps_one_of_its_own() -> None:
    wf = ol.Workflow("w")
    rows = wf.source("rows")
    for made in (
        rows.aggregate("counts", by="k", n=ol.count()),
        rows.aggregate("tops", by="k", most=ol.max("v")),
        rows.map("mapped", lambda df: df),
    ):
        wf.output(made)
    assert compile_workflow(wf).resumed == {"counts"}


def test_a_strong_delta_is_made_of_the_weak_one_that_is_kept_within_its_only_reader_and_counts_as_small_as_it() -> None:
    old, new = Block("counts", BASE, T(1)), Block("counts", weak("increment(site)"), T(2), T(1))
    change = Block("counts", DELTA, T(2), T(1))
    strengthen = step(f"counts.c.{new.kind}Δ", [old, new], change)
    found = Block("ranked", DELTA, T(2, 1), T(1, 1))
    join = step("ranked.async_left", [change, SCORES], found)
    assert set(unwritten([strengthen, join])) == {change.key}

    def find(block: Block) -> Stored:
        size = {old.key: 10**9, new.key: 1000}.get(block.key, 0)
        return Stored(block, Content(Anchor("t", "a", 1, size)))

    inner = step_of(join, find, unwritten([strengthen, join])).operands[0]
    assert isinstance(inner, Inline)
    assert size_of(inner) == 2000, "else the base on the other side would be shuffled for its sake"


def test_what_finishes_an_internal_channel_reads_a_strong_delta_once() -> None:
    old, new = Block("pairs#counts", BASE, T(1)), Block("pairs#counts", weak("increment(*)"), T(2), T(1))
    change, pairs = Block("pairs#counts", DELTA, T(2), T(1)), Block("pairs", DELTA, T(2), T(1))
    strengthen = step(f"pairs#counts.c.{new.kind}Δ", [old, new], change)
    assert set(unwritten([strengthen, step("pairs.incremental", [change], pairs)])) == {change.key}


def test_a_delta_that_is_also_part_of_a_chain_is_written() -> None:
    """Another step reads it together with what came before, as one."""
    other, whole = delta("other", MONOTONE), Block("other", MONOTONE, T(2), T(0))
    map_ = step("other.incremental", [PAGES], other)
    counts = step("counts.increment", [other], Block("counts", weak("increment(site)"), T(2), T(1)))
    late = step("counts.increment", [whole], Block("counts", weak("increment(site)"), T(2), T(0)))
    assert set(unwritten([map_, counts])) == {other.key}
    assert unwritten([map_, counts, late]) == {}


def splitting() -> tuple[dict[str, Any], list[Invocation]]:
    wf = ol.Workflow("s")
    news, other = wf.source("searches").map("clean", lambda df: df).split({"news": "n"}, rest="other")
    wf.output(news.union("out", other))
    variants = {v.name: v for v in compile_workflow(wf).variants}
    blocks = {c: delta(c, MONOTONE) for c in ("searches", "clean", "news", "other")}
    clean = Invocation(variants["clean.incremental"], (blocks["searches"],), (blocks["clean"],), 1.0, 1)
    parted = (blocks["news"], blocks["other"])
    split = Invocation(variants["split(news,other).incremental"], (blocks["clean"],), parted, 1.0, 1)
    return {**variants, **blocks}, [clean, split]


def test_a_split_is_done_within_the_only_reader_of_its_results() -> None:
    known, (_, split) = splitting()
    both = Invocation(known["out.incremental"], split.results, (delta("out", MONOTONE, 2),), 1.0, 1)
    assert set(unwritten([split, both])) == {r.key for r in split.results}
    made = step_of(both, lambda b: Stored(b, Content()), unwritten([split, both]))
    assert [o.block.channel for o in made.operands if isinstance(o, Inline)] == ["news", "other"]
    assert parts_of(both, unwritten([split, both])) == [split]


def test_what_a_split_reads_is_made_once() -> None:
    known, (clean, split) = splitting()
    both = Invocation(known["out.incremental"], split.results, (delta("out", MONOTONE, 2),), 1.0, 1)
    assert set(unwritten([clean, split, both])) == {r.key for r in split.results}
    assert set(unwritten([clean, split])) == set()


def test_of_a_split_what_nobody_reads_is_not_written_either() -> None:
    known, (clean, split) = splitting()
    news = Invocation(known["out.async_left"], split.results[:1], (delta("out", MONOTONE, 1),), 1.0, 1)
    assert set(unwritten([clean, split, news])) == {clean.results[0].key, *(r.key for r in split.results)}


def test_a_split_that_several_steps_read_is_written_by_one_attempt() -> None:
    known, (_, split) = splitting()
    news = Invocation(known["out.async_left"], split.results[:1], (delta("out", MONOTONE, 1),), 1.0, 1)
    other = Invocation(known["out.async_right"], split.results[1:], (delta("out", MONOTONE, 2),), 1.0, 1)
    assert unwritten([split, news, other]) == {}


def test_a_split_whose_result_is_read_twice_is_written() -> None:
    known, (_, split) = splitting()
    news = Invocation(known["out.async_left"], split.results[:1], (delta("out", MONOTONE, 1),), 1.0, 1)
    other = Invocation(known["out.incremental"], split.results, (delta("out", MONOTONE, 2),), 1.0, 1)
    assert unwritten([split, news, other]) == {}
