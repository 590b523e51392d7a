"""How far processing has got on each channel [6.2.1]."""

from __future__ import annotations

from olston.scheduler.frontier import frontiers, ordered, standing
from olston.scheduler.problem import Problem
from tests.scheduler.cases import JOIN, MAP, Case, at, base, channel, delta, operator, output, problem

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}
TWINS = (
    channel("x", "a"),
    channel("y", "a"),
    operator("x.b", {"a": "B"}, "x", "B"),
    operator("y.b", {"a": "B"}, "y", "B"),
)


def found(given: Problem, *due: str) -> dict[str, object]:
    within = frozenset().union(*(given.network.upstream(c) for c in due))
    return dict(frontiers(given.network, due, given.holds, within))


def test_the_frontier_of_an_output_is_what_its_consumer_holds_projected_upstream() -> None:
    given = problem(7, AB, *JOIN, output("c", 5, 0))
    assert found(given, "c") == {"c": {at(5, 0)}, "a": {at(5)}, "b": {at(0)}}


def test_it_is_projected_through_every_channel_on_the_way() -> None:
    after = (channel("d", "a", "b", "b"), operator("d.b", {"c": "B", "b": "B"}, "d", "B"))
    given = problem(7, AB, *JOIN, *after, output("d", 5, 0, 6))
    assert found(given, "d") == {"d": {at(5, 0, 6)}, "c": {at(5, 0)}, "a": {at(5)}, "b": {at(0), at(6)}}


def test_a_channel_with_several_paths_to_outputs_has_a_frontier_set() -> None:
    given = problem(7, {"a": [0, 5]}, *TWINS, output("x", 0), output("y", 5))
    assert found(given, "x", "y")["a"] == {at(0), at(5)}
    assert found(given, "y")["a"] == {at(5)}


def test_what_feeds_an_output_that_holds_nothing_has_no_frontier_whatever_the_others_hold() -> None:
    for outputs in ((output("x"), output("y", 5)), (output("x", 5), output("y"))):
        given = problem(7, {"a": [0, 5]}, *TWINS, *outputs)
        assert found(given, "x", "y")["a"] is None
        assert found(given, "y", "x")["a"] is None


def stands(*blocks: Case) -> dict[str, object]:
    given = problem(7, {"a": [0, 5]}, *MAP, *blocks)
    return dict(standing(given.network, given.blocks, given.network.upstream("c")))


def test_blocks_downstream_stand_where_their_bases_are_and_where_their_deltas_begin_and_end() -> None:
    assert stands(base("c", 0))["a"] == {at(0)}
    assert stands(delta("c", [0], [5]))["a"] == {at(0), at(5)}
    assert "a" not in stands() or not stands()["a"]


def test_channels_are_ordered_by_what_they_are_computed_from() -> None:
    network = problem(7, AB, *JOIN).network
    assert ordered(network, {"c", "b", "a"}) == ["a", "b", "c"]
    assert ordered(network, {"c", "a"}, reverse=True) == ["c", "a"]
