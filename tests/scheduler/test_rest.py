"""What failed is left alone for a while, longer each time."""

from __future__ import annotations

from olston.scheduler.rest import FIRST, LONGEST, Rests


def test_a_rest_doubles_with_every_failure_up_to_the_longest() -> None:
    rests, now, spans = Rests(), 0, []
    for _ in range(9):
        rests.begin(["a"], now)
        end = rests.next_end(now)
        assert end is not None
        spans.append(end - now)
        now = int(end)
        assert not rests.at(now)
    assert spans[:3] == [FIRST, 2 * FIRST, 4 * FIRST]
    assert spans[-1] == LONGEST


def test_a_success_or_a_command_ends_rests_and_forgets_the_failures() -> None:
    rests = Rests()
    rests.begin(["a", "b"], 0)
    rests.begin(["a"], 0)
    rests.end(["a"])
    assert rests.at(1) == {"b"}
    rests.begin(["a"], 0)
    assert rests.next_end(0) == FIRST
    rests.end()
    assert not rests.at(1)
    assert rests.next_end(1) is None


def test_a_clock_that_is_set_back_makes_no_rest_longer() -> None:
    rests = Rests()
    rests.begin(["a"], 2 * LONGEST)
    assert rests.at(2 * LONGEST) == {"a"}
    assert not rests.at(LONGEST)
    assert rests.next_end(LONGEST) is None
