"""Table 4: the temporal provenance of possible crawl–clickscore join snapshots."""

from __future__ import annotations

import pytest

from olston.provenance import Provenance, Stamp
from olston.timeline import History, Timeline

DAYS = {"Sun": 0, "Mon": 1, "Tue": 2, "Wed": 3, "Thu": 4}


def at(day: str, hour: int) -> int:
    return 24 * DAYS[day] + hour


CRAWL = (at("Sun", 15), at("Mon", 8), at("Tue", 11), at("Tue", 17), at("Wed", 14))
SCORES = (at("Mon", 1), at("Tue", 1), at("Wed", 1))
INPUTS = ("crawl", "scores")
HISTORY = History({"crawl": Timeline("crawl", CRAWL), "scores": Timeline("scores", SCORES)}, at("Thu", 0))

TABLE_4 = {
    "T1": ([{at("Mon", 8)}, {at("Mon", 1)}], at("Mon", 8), at("Tue", 1), True),
    "T2": ([{at("Mon", 8)}, {at("Tue", 1)}], at("Tue", 1), at("Tue", 11), True),
    "T3": ([{at("Tue", 11)}, {at("Mon", 1)}], at("Tue", 11), at("Tue", 1), False),
    "T4": ([{at("Wed", 14)}, {at("Mon", 1), at("Tue", 1), at("Wed", 1)}], at("Wed", 14), at("Tue", 1), False),
}


@pytest.mark.parametrize(("entries", "newest", "end", "consistent"), TABLE_4.values(), ids=TABLE_4)
def test_table_4(entries: list[set[Stamp]], newest: Stamp, end: Stamp, consistent: bool) -> None:
    t = Provenance(entries)
    assert HISTORY.span(t, INPUTS) == (newest, end)
    assert HISTORY.consistent(t, INPUTS) == consistent


@pytest.mark.parametrize(("crawl", "scores", "consistent"), [
    (at("Wed", 14), {at("Wed", 1)}, True),  # the bottom-right cell of Table 2, synchronous
    (at("Wed", 14), {at("Mon", 1), at("Tue", 1), at("Wed", 1)}, False),  # of Table 3, asynchronous
])  # fmt: skip
def test_the_last_snapshot_of_tables_2_and_3(crawl: Stamp, scores: set[Stamp], consistent: bool) -> None:
    assert HISTORY.consistent(Provenance([{crawl}, scores]), INPUTS) == consistent


def test_a_provenance_with_the_newest_snapshots_ends_now() -> None:
    t = Provenance.at(CRAWL[-1], SCORES[-1])
    assert HISTORY.span(t, INPUTS) == (at("Wed", 14), at("Thu", 0))
