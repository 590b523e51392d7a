from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from olston.block import BASE, DELTA, MONOTONE, Block, fits, is_delta, is_strong, is_weak, weak
from olston.errors import BlockError
from olston.provenance import Provenance
from tests.strategies import ascending, blocks, same_width

T1, T2 = Provenance.at(1, 1), Provenance.at(2, 1)
REPLACE = weak("replace(url)")


@given(ascending(2))
def test_every_kind_of_delta_may_make_progress(pair: tuple[Provenance, Provenance]) -> None:
    source, target = pair
    for kind in (DELTA, MONOTONE, REPLACE):
        made = Block("c", kind, target, source)
        assert (made.source, made.target, made.is_base) == (source, target, False)


@given(same_width(2))
def test_a_delta_without_progress_is_refused(pair: tuple[Provenance, Provenance]) -> None:
    source, target = pair
    if not source.precedes(target):
        with pytest.raises(BlockError, match="no progress"):
            Block("c", DELTA, target, source)


@given(blocks())
def test_a_block_is_equal_to_one_of_the_same_channel_kind_and_provenance_whatever_its_size(block: Block) -> None:
    twin = Block(block.channel, block.kind, block.target, block.source, block.rows + 1, not block.relaxed)
    assert twin == block
    assert hash(twin) == hash(block)
    other = Block("elsewhere", block.kind, block.target, block.source)
    assert other != block


@given(blocks())
def test_the_stamp_of_a_block_is_the_newest_snapshot_it_reflects(block: Block) -> None:
    assert block.stamp == max(max(e) for e in block.target if e)


def test_a_planned_block_equals_the_same_block_made_by_hand() -> None:
    by_hand = Block("c", DELTA, T2, T1, rows=3, relaxed=False)
    planned = Block.planned(by_hand.key, 3, False)
    assert planned == by_hand
    assert (planned.rows, planned.relaxed, str(planned)) == (3, False, str(by_hand))


NONSENSE: dict[str, tuple[dict[str, Any], str]] = {
    "no channel": ({"channel": "", "kind": BASE, "target": T1}, "name it"),
    "unknown kind": ({"kind": "D", "target": T2, "source": T1}, "none of B, Δ, Δ⁺, δ_<representation>"),
    "weak without representation": ({"kind": "δ_", "target": T2, "source": T1}, "none of B"),
    "base with a source": ({"kind": BASE, "target": T2, "source": T1}, "only deltas have a source"),
    "base with an empty entry": ({"kind": BASE, "target": Provenance([[1], []])}, "empty entries occur in deltas only"),
    "delta without a source": ({"kind": DELTA, "target": T2}, "needs the source"),
    "weak delta without a source": ({"kind": REPLACE, "target": T2}, "needs the source"),
    "backwards": ({"kind": DELTA, "target": T1, "source": T2}, "no progress"),
    "standing still": ({"kind": REPLACE, "target": T1, "source": T1}, "no progress"),
    "different pathways": ({"kind": DELTA, "target": Provenance.at(2), "source": T1}, "number of pathways"),
    "negative rows": ({"kind": BASE, "target": T1, "rows": -1}, "0 rows or more"),
    "rows that are no number": ({"kind": BASE, "target": T1, "rows": float("nan")}, "0 rows or more"),
}


@pytest.mark.parametrize(("given_", "says"), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_refused_with_the_fault_named(given_: dict[str, Any], says: str) -> None:
    with pytest.raises(BlockError) as caught:
        Block(**{"channel": "output", **given_})
    assert says in str(caught.value)
    assert given_.get("channel", "output") in str(caught.value)


def test_a_one_sided_delta_may_leave_entries_empty() -> None:
    made = Block("u", DELTA, Provenance([[], [10]]), Provenance([[], [9]]))
    assert str(made) == "u: Δ(⟨{}, {9}⟩ ▷ ⟨{}, {10}⟩)"
    assert made.stamp == 10


def test_a_delta_operand_also_takes_one_without_deletions_but_not_the_other_way() -> None:
    assert fits(MONOTONE, DELTA)
    assert not fits(DELTA, MONOTONE)
    assert fits(BASE, BASE)
    assert not fits(REPLACE, DELTA)
    assert not fits(REPLACE, weak("increment(url)"))


@pytest.mark.parametrize(
    ("kind", "delta", "strong", "weakly"),
    [
        (BASE, False, False, False),
        (DELTA, True, True, False),
        (MONOTONE, True, True, False),
        (REPLACE, True, False, True),
    ],
)
def test_kinds_are_bases_strong_or_weak_deltas(kind: str, delta: bool, strong: bool, weakly: bool) -> None:
    assert (is_delta(kind), is_strong(kind), is_weak(kind)) == (delta, strong, weakly)
