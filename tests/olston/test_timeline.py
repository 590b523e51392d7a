from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olston.errors import TimelineError, UnknownNameError
from olston.provenance import Entry, Provenance, Stamp
from olston.timeline import History, Timeline
from tests.strategies import histories, timelines, timelines_with_entries

LINE = Timeline("pages", [5, 10, 20])


def test_the_empty_relation_at_0_comes_first() -> None:
    assert Timeline("pages").arrivals == (0,)
    assert LINE.arrivals == (0, 5, 10, 20)


@given(timelines(), st.integers(31, 40))
def test_a_snapshot_is_valid_until_the_next_arrival_and_the_newest_until_now(line: Timeline, now: int) -> None:
    ends = [line.end(t, now) for t in line.arrivals]
    assert ends == [*line.arrivals[1:], now]


@given(timelines(), st.integers(31, 40))
def test_validity_ends_later_for_each_later_snapshot(line: Timeline, now: int) -> None:
    ends = [line.end(t, now) for t in line.arrivals]
    assert ends == sorted(set(ends))


@given(timelines(), st.integers(0, 40))
def test_the_snapshot_at_a_time_is_the_one_valid_then(line: Timeline, time: int) -> None:
    found = line.snapshot_at(time)
    assert found <= time < line.end(found, 41)


@given(timelines(), st.integers(0, 40))
def test_the_snapshot_before_a_time_is_the_oldest_valid_until_then(line: Timeline, time: int) -> None:
    long_enough = [t for t in line.arrivals if line.end(t, 41) >= time]
    assert line.snapshot_before(time) == min(long_enough)


def test_an_arrival_ends_the_validity_of_the_one_before_exclusively() -> None:
    assert LINE.snapshot_at(10) == 10
    assert LINE.snapshot_before(10) == 5


@given(timelines_with_entries())
def test_runs_round_trip(drawn: tuple[Timeline, Entry]) -> None:
    line, entry = drawn
    assert line.expand(line.runs(entry)) == entry


@given(timelines_with_entries())
def test_runs_are_maximal_ascending_and_apart(drawn: tuple[Timeline, Entry]) -> None:
    line, entry = drawn
    place = {t: i for i, t in enumerate(line.arrivals)}
    runs = line.runs(entry)
    assert all(first <= last for first, last in runs)
    for (_, last), (first, _) in pairwise(runs):
        assert place[first] > place[last] + 1


def test_a_long_set_of_consecutive_arrivals_is_one_run() -> None:
    line = Timeline("pages", range(1, 1_000))
    assert line.runs(frozenset(range(100, 900))) == [(100, 899)]


@pytest.mark.parametrize("stamp", [20, 19, 0, -1, float("nan")])
def test_an_arrival_that_is_not_later_is_refused_with_the_channel_named(stamp: Stamp) -> None:
    line = Timeline("pages", [5, 10, 20])
    with pytest.raises(TimelineError, match=r"pages: arrival at .* not later than the newest snapshot 20"):
        line.arrive(stamp)
    assert line.newest == 20


def test_arrivals_out_of_order_are_refused() -> None:
    with pytest.raises(TimelineError, match="ascending order"):
        Timeline("pages", [5, 3])


def test_runs_of_what_never_arrived_are_refused() -> None:
    with pytest.raises(TimelineError, match="no arrival at 7"):
        LINE.runs(frozenset({7}))
    with pytest.raises(TimelineError, match="no arrival at 7"):
        LINE.expand([(5, 7)])


def test_a_timeline_knows_its_arrivals() -> None:
    assert 10 in LINE
    assert 0 in LINE
    assert 11 not in LINE
    assert 21 not in LINE


@given(histories(1))
def test_span_is_computed_over_the_entries_that_claim_something(
    drawn: tuple[History, tuple[str, ...], tuple[Provenance]],
) -> None:
    history, inputs, (t,) = drawn
    claimed = [(history.timelines[i], e) for i, e in zip(inputs, t, strict=True) if e]
    if not claimed:
        assert history.span(t, inputs) is None
        assert history.consistent(t, inputs)
        return
    newest = max(max(e) for _, e in claimed)
    end = min(line.end(s, history.now) for line, e in claimed for s in e)
    assert history.span(t, inputs) == (newest, end)
    assert history.consistent(t, inputs) == (newest < end)
    assert history.inconsistency(t, inputs) == max(0, newest - end)


@given(histories(1, empty=False))
def test_consistent_content_reflects_one_moment_and_other_content_does_not(
    drawn: tuple[History, tuple[str, ...], tuple[Provenance]],
) -> None:
    """[2.1]: `T⁺ < T⁻` iff at some time every input stood as the entries say."""
    history, inputs, (t,) = drawn
    lines = [history.timelines[i] for i in inputs]
    reflected = any(
        all(e == {line.snapshot_at(time)} for line, e in zip(lines, t, strict=True))
        for time in range(history.now)  # type: ignore[arg-type]
    )
    assert history.consistent(t, inputs) == reflected


def test_staleness_counts_from_the_end_of_the_oldest_snapshot() -> None:
    history = History({"pages": LINE}, 30)
    assert history.staleness(Provenance([[5, 20]]), ["pages"], 0) == 20
    assert history.staleness(Provenance([[20]]), ["pages"], 0) == 0


def test_an_empty_entry_claims_nothing_and_is_never_stale() -> None:
    history = History({"pages": LINE}, 30)
    t = Provenance([[], [5]])
    assert history.staleness(t, ["pages", "pages"], 0) == 0
    assert history.entry_end(t, ["pages", "pages"], 0) is None
    assert history.span(t, ["pages", "pages"]) == (5, 10)


def test_an_unknown_input_channel_is_named_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'pages'"):
        History({"pages": LINE}, 30).end("page", 5)
