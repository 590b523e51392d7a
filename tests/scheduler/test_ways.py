"""How a block is handed over follows from its kind, from the size of the table and from what its data allow."""

from __future__ import annotations

import pytest

from olston.block import BASE, DELTA, MONOTONE, Block, weak
from olston.content import LITTLE
from olston.provenance import Provenance
from olston.scheduler.cost import ENGINE, CostModel, Rates, delivery_to
from olston.scheduler.ways import CHANGING, MOST_KEYS, DeliveryPriced

T = Provenance.at
RATES = Rates(start=0.5, base=2e-7, delta=2e-7, shuffled=5e-7, written=8e-7)
MODEL = CostModel(delivery=RATES, starts={"rewrite": 2.2, "merge": 3.0, "upsert": 3.0})
CHANGES = Block("out", DELTA, T(2), T(1), 1000)
NEW = Block("out", MONOTONE, T(2), T(1), 1000)
ALL = Block("out", BASE, T(2), rows=1000)


def priced(held: float = 0, allows: str | None = None, *, keyed: bool = True, feed: bool = False) -> DeliveryPriced:
    made = DeliveryPriced("out", MODEL, keyed=keyed, feed=feed)
    made.stand(held, allows)
    return made


def test_what_replaces_everything_and_what_only_adds_has_one_way() -> None:
    assert priced(10**7).ways(ALL) == ("overwrite",)
    assert priced(10**7).ways(NEW) == ("append",)
    assert priced(10**7)(NEW) == priced(0)(NEW), "appending costs the same whatever is there"


def test_many_rows_that_are_only_added_cost_no_more_than_as_many_of_a_base() -> None:
    """A wave that a join made 1.8 million rows of was priced at 1.7 s to append, and took less than half of it."""
    price = DeliveryPriced("out", ENGINE)
    added, whole = (Block("out", kind, T(2), s, 1.8e6) for kind, s in ((MONOTONE, T(1)), (BASE, None)))
    assert price(added) == pytest.approx(price(whole), rel=0.05)


def test_a_small_table_is_rewritten_and_a_large_one_changed_in_place() -> None:
    assert priced(10**4).ways(CHANGES)[0] == "rewrite"
    assert priced(10**7).ways(CHANGES)[0] == "merge"
    assert set(priced(10**7).ways(CHANGES)) == set(CHANGING)


def test_many_changes_of_a_large_table_are_no_matter_for_a_merge() -> None:
    """Measured: 500,000 changes in 5 million rows take 15 to 17 s by a MERGE, and 12 to 15 s by rewriting."""
    many = Block("out", DELTA, T(2), T(1), 500_000)
    price = DeliveryPriced("out", ENGINE, keyed=True)
    price.stand(5e6, None)
    assert price.ways(many)[0] == "rewrite"
    assert 10 < price.cost(many, "rewrite") < price.cost(many, "merge") < 20
    assert price.ways(CHANGES)[0] == "merge"


def test_a_table_that_one_task_can_count_is_rewritten_sooner() -> None:
    few, more = (DeliveryPriced("out", ENGINE, keyed=True) for _ in range(2))
    few.stand(LITTLE, None)
    more.stand(LITTLE + 1, None)
    assert 2 * few.cost(CHANGES, "rewrite") < more.cost(CHANGES, "rewrite")


def test_without_a_key_there_is_nothing_to_merge_by() -> None:
    assert priced(10**7, keyed=False).ways(CHANGES) == ("rewrite",)


@pytest.mark.parametrize(("allows", "left"), [("merge", 3), ("upsert", 2), ("rewrite", 1), (None, 3), ("gone", 3)])
def test_what_the_data_did_not_allow_last_time_is_not_counted_on(allows: str | None, left: int) -> None:
    price = priced(10**7, allows)
    assert set(price.ways(CHANGES)) == set(CHANGING[-left:])
    assert price(CHANGES) == min(price.cost(CHANGES, way) for way in CHANGING[-left:])
    assert set(price.ways(CHANGES, afresh=True)) == set(CHANGING)


REPLACED = Block("out", weak("replace(site)"), T(2), T(1), 1000)


def replacing(*, unique: bool, keyed: bool = False) -> DeliveryPriced:
    made = DeliveryPriced("out", ENGINE, keyed=keyed, replacing={REPLACED.kind: unique})
    made.stand(1e7, None)
    return made


@pytest.mark.parametrize("keyed", [True, False])
def test_rows_that_supersede_those_of_their_keys_cost_less_than_to_look_or_to_write_all_anew(keyed: bool) -> None:
    price = replacing(unique=keyed, keyed=keyed)
    others = {"merge", "upsert", "rewrite"} if keyed else {"rewrite"}
    assert (price.ways(REPLACED)[0], set(price.ways(REPLACED)[1:])) == ("supersede", others)
    assert price(REPLACED) < price.cost(REPLACED, "rewrite") / 3
    assert "supersede" not in price.ways(CHANGES), "a strong delta does not tell all rows of a key"
    price.stand(1e4, None)
    assert price.ways(REPLACED)[0] == "rewrite", "a small table is rewritten by one task"


def test_of_more_keys_than_can_be_looked_for_it_is_not_tried() -> None:
    many = Block("out", REPLACED.kind, T(2), T(1), MOST_KEYS + 1)
    assert "supersede" not in replacing(unique=True, keyed=True).ways(many), "each row has a key of its own"
    assert "supersede" in replacing(unique=False).ways(many), "there may be few"


def test_a_table_that_did_not_let_rows_be_superseded_is_asked_again_now_and_then() -> None:
    price = replacing(unique=False)
    price.stand(1e7, None, supersedes=False)
    assert price.ways(REPLACED) == ("rewrite",)
    assert price(REPLACED) == price.cost(REPLACED, "rewrite")
    assert price.ways(REPLACED, afresh=True) == ("supersede", "rewrite")


def test_the_price_follows_the_size_of_the_table() -> None:
    assert priced(10**7)(CHANGES) > 3 * priced(10**6)(CHANGES) > priced(0)(CHANGES)


def test_a_feed_names_blocks_and_copies_nothing() -> None:
    price = priced(feed=True)
    assert price(ALL) == price(CHANGES) == price(Block("out", BASE, T(2), rows=10**9)) == RATES.start


def test_what_was_learned_of_a_way_decides() -> None:
    price = priced(10**7)
    price.follow(CostModel(delivery=RATES, variants={(delivery_to("out"), "merge"): {"base": 1e-5}}))
    assert price.ways(CHANGES)[-1] == "merge"
