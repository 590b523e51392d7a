"""A representation of the user's own, on real tables [2.4].

A crawler keeps the URLs it has seen. Between crawls only a Bloom filter of the new ones is sent, `δ_bloom`: a URL of
which the filter says yes counts as seen. The candidates are known, so a filter is enough to tell which of them were
seen. One converter makes it, from a strong delta; one reads it, beside the old base; the others are composed.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import pytest

import olston as ol
from olston.attempt import new_attempt
from olston.block import BASE, Block, weak
from olston.errors import SchemaError, StoreError
from olston.feed import Feed
from olston.operators.weak import WeakDelta
from olston.provenance import Provenance
from olston.step import Stored
from tests.lake import Lake, bag, jobs

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

T = Provenance.at
BLOOM, TOP = weak("bloom"), weak("top")
BITS, HASHES = 1 << 16, 4
CANDIDATES = [f"site{i}.com/{j}" for i in range(5) for j in range(8)]


def places(url: Column) -> list[Column]:
    from pyspark.sql import functions as F

    return [F.pmod(F.xxhash64(url, F.lit(i)), F.lit(BITS)) for i in range(HASHES)]


def to_filter(delta: DataFrame) -> DataFrame:
    """`c^{Δδ}`: the bits of all URLs that were added, in one row."""
    from pyspark.sql import functions as F

    bits = F.flatten(F.collect_list(F.array(*places(F.col("url")))))
    return delta.where("_weight > 0").agg(F.array_sort(F.array_distinct(bits)).alias("bits"))


def from_filter(old: DataFrame, bloom: DataFrame) -> DataFrame:
    """`c^{δΔ}`: the candidates of which the filter says yes and which were not seen before."""
    from pyspark.sql import functions as F

    known = old.sparkSession.createDataFrame([(u,) for u in CANDIDATES], "url string").crossJoin(bloom)
    yes = reduce(lambda a, b: a & b, [F.array_contains("bits", place) for place in places(F.col("url"))])
    new = known.where(yes).select("url").join(old, "url", "left_anti")
    return new.withColumn("_weight", F.lit(1).cast("bigint"))


def best(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    return rows.orderBy(F.desc("score"), "url").limit(3)


def workflow() -> ol.Workflow:
    wf = ol.Workflow("crawl")
    seen = wf.source("fetched", "url string").map("seen", lambda df: df)
    wf.weak_delta(seen, WeakDelta("bloom", from_delta=to_filter, to_delta=from_filter))
    wf.output(seen, feed={"B", "Δ", BLOOM})
    scored = wf.source("scored", "url string, score int")
    best_of = wf.batch("best", [scored], best)
    # the whole list supersedes the one before: c^{Bδ} and c^{δB}
    wf.weak_delta(best_of, WeakDelta("top", from_bases=lambda old, new: new, to_base=lambda old, top: top))
    wf.output(best_of, feed={"Δ", TOP})
    return wf


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(spark, tmp_path_factory.mktemp("crawl"), workflow())


WAVES = [CANDIDATES[:7], CANDIDATES[7:20], CANDIDATES[25:30]]


@pytest.fixture(scope="module")
def deltas(lake: Lake) -> list[Stored]:
    """New URLs as strong deltas of `seen`."""
    arrived = [lake.arrive("fetched", [(u,) for u in urls], i + 1, i) for i, urls in enumerate(WAVES)]
    return [lake.run("seen.incremental", [a], T(i + 1), T(i)) for i, a in enumerate(arrived)]


@pytest.fixture(scope="module")
def filters(lake: Lake, deltas: list[Stored]) -> list[Stored]:
    return [lake.run(f"seen.c.Δ{BLOOM}", [d], T(i + 1), T(i)) for i, d in enumerate(deltas)]


def urls(*waves: list[str]) -> object:
    return bag(*((u,) for wave in waves for u in wave))


def test_a_strong_delta_becomes_a_filter_with_columns_of_its_own(lake: Lake, filters: list[Stored]) -> None:
    assert [f.block.kind for f in filters] == [BLOOM] * 3
    assert [f.block.rows for f in filters] == [1, 1, 1]
    ((bits,),) = lake.rows(filters[0])
    assert len(WAVES[0]) < len(bits) <= HASHES * len(WAVES[0])


def test_beside_the_old_base_a_filter_becomes_a_strong_delta_again(
    lake: Lake, deltas: list[Stored], filters: list[Stored]
) -> None:
    base = lake.apply(lake.nothing("seen"), deltas[0])
    strong = lake.run(f"seen.c.{BLOOM}Δ", [base, filters[1]], T(2), T(1))
    assert lake.rows(strong) == lake.rows(deltas[1])


def test_abutting_filters_act_as_one_beside_a_base(lake: Lake, deltas: list[Stored], filters: list[Stored]) -> None:
    """They cannot be put together as such; each is read beside what the ones before it made."""
    before = jobs(lake.session)
    chain = lake.run("seen.chain", filters[:2], T(2), T(0), BLOOM)
    whole = lake.run("seen.chain", [chain, filters[2]], T(3), T(0), BLOOM)
    assert jobs(lake.session) == before
    strong = lake.run(f"seen.c.{BLOOM}Δ", [lake.nothing("seen"), whole], T(3), T(0))
    assert lake.rows(strong) == urls(*WAVES)
    with pytest.raises(
        StoreError, match=r"3 blocks of δ_bloom were asked for as one, but .* act as one on a base only"
    ):
        lake.rows(whole)


def test_filters_lie_on_a_base_among_strong_deltas(lake: Lake, deltas: list[Stored], filters: list[Stored]) -> None:
    """`c^{δB}` is composed of `c^{δΔ}`, beside what lies below, and `c^{ΔB}`."""
    content = filters[0].content.then(deltas[1].content).then(filters[2].content)
    assert lake.rows(Stored(Block("seen", BASE, T(3)), content)) == urls(*WAVES)
    twice = Stored(Block("seen", BASE, T(1)), deltas[0].content.then(filters[0].content))
    assert lake.rows(twice) == urls(WAVES[0]), "what was seen is not seen again"


def test_between_two_bases_the_filter_is_made_of_their_difference(lake: Lake, deltas: list[Stored]) -> None:
    """`c^{Bδ}` is composed of `c^{BΔ}` and `c^{Δδ}`."""
    old = lake.apply(lake.nothing("seen"), deltas[0])
    new = lake.apply(old, *deltas[1:])
    between = lake.run("seen.c.BΔ", [old, new], T(3), T(1))
    bloom = lake.run(f"seen.c.Δ{BLOOM}", [between], T(3), T(1))
    strong = lake.run(f"seen.c.{BLOOM}Δ", [old, bloom], T(3), T(1))
    assert lake.rows(strong) == urls(*WAVES[1:])


def test_a_filter_is_fed_to_a_consumer_that_accepts_it(lake: Lake, deltas: list[Stored], filters: list[Stored]) -> None:
    feed = Feed(lake.store, "seen")
    for number, block in enumerate([deltas[0], filters[1]], 1):
        feed.deliver(lake.session, block, T(number), number, new_attempt())
    _, fed = feed.after(lake.session)
    assert fed.stored == filters[1]
    assert feed.rows(lake.session, fed).columns == ["bits"]


def test_a_list_that_supersedes_the_one_before_is_made_of_two_bases_and_becomes_a_delta_by_way_of_a_base(
    lake: Lake,
) -> None:
    """`δ_top` has `c^{Bδ}` and `c^{δB}`; `c^{δΔ}` is composed of the latter and `c^{BΔ}`."""
    scores = [[("a", 5), ("b", 4), ("c", 3), ("d", 2)], [("a", 5), ("b", 1), ("c", 3), ("e", 9), ("d", 2)]]
    scored = [lake.arrive("scored", rows, i + 1, kind="base") for i, rows in enumerate(scores)]
    old, new = (lake.run("best.batch", [s], T(i + 1)) for i, s in enumerate(scored))
    top = lake.run(f"best.c.B{TOP}", [old, new], T(2), T(1))
    assert lake.rows(top) == bag(("e", 9), ("a", 5), ("c", 3))
    applied = lake.apply(old, top)
    assert lake.rows(applied) == lake.rows(new)
    strong = lake.run("best.c.BΔ", [old, applied], T(2), T(1))
    assert lake.rows(strong) == {("b", 4): -1, ("e", 9): 1}
    assert lake.store.weak("best", TOP).strengthened(lake.frame_of(old), lake.operand(top)).count() == 2


def test_a_converter_may_use_the_weights_of_a_strong_delta_as_they_are(lake: Lake, deltas: list[Stored]) -> None:
    signed = WeakDelta("signed", from_delta=lambda delta: delta, to_delta=lambda old, weak: weak)
    wf = workflow()
    wf.weak_delta("seen", signed)
    own = Lake(lake.session, lake.store.home, wf)
    rows = own.store.read(lake.session, "seen", deltas[0].block.kind, deltas[0].content)
    kind, content = own.store.write_delta("seen", signed.kind, rows, new_attempt(), {}, "")
    assert own.rows(Stored(Block("seen", kind, T(1), T(0)), content)) == urls(WAVES[0])
    assert own.rows(Stored(Block("seen", BASE, T(1)), content)) == urls(WAVES[0])


def test_a_converter_that_returns_a_column_of_olston_is_refused(lake: Lake) -> None:
    rows = lake.session.createDataFrame([("x",)], "_block string")
    with pytest.raises(SchemaError, match="seen: a converter of δ_bloom returns '_block', which is kept for olston"):
        lake.store.write_delta("seen", BLOOM, rows, new_attempt(), {}, "")
