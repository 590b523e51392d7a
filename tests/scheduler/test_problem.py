"""What is due (DESIGN 2)."""

from __future__ import annotations

from dataclasses import replace

from tests.scheduler.cases import JOIN, apart, at, output, problem, stale

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}


def test_an_output_that_holds_nothing_is_due() -> None:
    assert problem(7, AB, *JOIN, output("c")).due() == ("c",)


def test_an_output_whose_content_breaks_a_staleness_bound_now_is_due() -> None:
    assert problem(7, AB, *JOIN, stale("c", 0, 1), output("c", 0, 0)).due() == ("c",)


def test_a_bound_is_kept_up_to_its_last_moment() -> None:
    assert problem(7, AB, *JOIN, stale("c", 0, 2), output("c", 0, 0)).due() == ()
    assert problem(7.5, AB, *JOIN, stale("c", 0, 2), output("c", 0, 0)).due() == ("c",)


def test_inconsistency_triggers_nothing() -> None:
    assert problem(7, AB, *JOIN, apart("c", 0), output("c", 0, 6)).due() == ()


def test_an_output_without_staleness_bound_is_filled_once_and_never_due_again() -> None:
    assert problem(7, AB, *JOIN, output("c")).due() == ("c",)
    assert problem(1_000_000, AB, *JOIN, output("c", 0, 0)).due() == ()


def test_a_staleness_bound_on_an_intermediate_channel_makes_nothing_due() -> None:
    from tests.scheduler.cases import channel, operator

    after = (channel("d", "a", "b"), operator("next.b", {"c": "B"}, "d", "B"))
    assert problem(7, AB, *JOIN, *after, stale("c", 0), output("d", 0, 0)).due() == ()


def test_content_of_an_older_definition_counts_as_nothing() -> None:
    given = problem(7, AB, *JOIN, output("c", 5, 6))
    assert given.due() == ()
    assert replace(given, holds={"c": None}).due() == ("c",)
    assert replace(given, holds={}).due() == ("c",)


def test_what_is_newest_is_never_due() -> None:
    assert problem(1_000, AB, *JOIN, stale("c", 0), stale("c", 1), output("c", 5, 6)).due() == ()
    assert at(5, 6) == problem(7, AB, *JOIN, output("c", 5, 6)).holds["c"]
