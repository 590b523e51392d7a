"""Problem files: everything malformed or contradictory is refused by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from olston.block import MONOTONE, weak
from olston.errors import OlstonError, ProblemError, UnknownNameError
from olston.scheduler.problem_file import load, read_file, show_block
from tests.scheduler.cases import Case, apart, base, case, channel, delta, operator, output, stale

PROBLEMS = Path(__file__).parents[1] / "data" / "problems.json"
LISTED: list[Case] = json.loads(PROBLEMS.read_text())["cases"]


def good() -> Case:
    """A case with a bit of everything."""
    return case(
        9,
        {"a": [0, 5, 8], "b": [0, 6]},
        channel("m", "a", w=["wB", "wD", "Dw", "Bw"]),
        channel("c", "a", "b"),
        operator("map.b", {"a": "B"}, "m", "B"),
        operator("map.w", {"a": "D"}, "m", "w"),
        operator("join.b", {"m": "B", "b": "B"}, "c", "B", sync=True),
        operator("join.l", {"m": "D", "b": "B"}, "c", "D"),
        output("c", 0, 0),
        stale("c", 0, 1),
        apart("c", 4),
        base("a", 0),
        base("b", 0),
        delta("a", [0], [5]),
        delta("m", [0], [5], "w"),
    )


def test_a_good_case_is_read_as_it_is_written() -> None:
    made = load(good())
    assert made.network.inputs["c"] == ("a", "b")
    assert [b.kind for b in made.blocks["m"]] == [weak("w")]
    assert made.due() == ("c",)
    assert made.history.now == 9


@pytest.mark.parametrize("listed", LISTED, ids=lambda c: str(c["id"]))
def test_blocks_are_shown_in_the_shape_they_are_read(listed: Case) -> None:
    made = load(listed)
    written = {json.dumps({k: b[k] for k in ("channel", "kind", "source", "target")}) for b in listed["blocks"]}
    assert {json.dumps(show_block(b)) for blocks in made.blocks.values() for b in blocks} == written


def put(*path: str | int, value: Any) -> Callable[[Case], None]:
    def change(made: Any) -> None:
        for step in path[:-1]:
            made = made[step]
        made[path[-1]] = value

    return change


def drop(*path: str | int) -> Callable[[Case], None]:
    def change(made: Any) -> None:
        for step in path[:-1]:
            made = made[step]
        del made[path[-1]]

    return change


def add(place: str, part: Case) -> Callable[[Case], None]:
    def change(made: Case) -> None:
        made[place].append(part)

    return change


FAULTS: dict[str, tuple[Callable[[Case], None], str]] = {
    # missing fields
    "no now": (drop("now"), "now: field required"),
    "no arrivals": (drop("arrivals"), "arrivals: field required"),
    "no channels": (drop("channels"), "channels: field required"),
    "no operators": (drop("operators"), "operators: field required"),
    "no outputs": (drop("outputs"), "outputs: field required"),
    "no paths": (drop("channels", 2, "paths"), r"channels\[2\].paths"),
    "no converter cost": (drop("channels", 1, "converter_cost"), r"channels\[1\].converter_cost"),
    "no cost": (drop("operators", 0, "cost"), r"operators\[0\].cost"),
    "no holds": (drop("outputs", 0, "holds"), r"outputs\[0\].holds"),
    "no bound": (drop("constraints", 0, "bound"), r"constraints\[0\].bound"),
    "no size": (drop("blocks", 3, "size"), r"blocks\[3\].size"),
    "no target": (drop("blocks", 0, "target"), r"blocks\[0\].target"),
    "staleness without path": (drop("constraints", 0, "path"), "staleness of 'c': path None"),
    # wrong types
    "now is text": (put("now", value="today"), "now"),
    "now is a truth value": (put("now", value=True), "now"),
    "now is nothing": (put("now", value=None), "now"),
    "channels is an object": (put("channels", value={}), "channels"),
    "a channel is text": (put("channels", 0, value="a"), r"channels\[0\]"),
    "arrivals of text": (put("arrivals", "a", value=["x"]), "arrivals.a"),
    "a path is text": (put("constraints", 0, "path", value="0"), r"constraints\[0\].path"),
    "sync is text": (put("operators", 0, "sync", value="yes"), r"operators\[0\].sync"),
    "a stamp for a set of stamps": (put("blocks", 0, "target", value=[0]), r"blocks\[0\].target\[0\]"),
    "accepts is text": (put("outputs", 0, "accepts", value="B"), r"outputs\[0\].accepts"),
    "type of a bound": (put("constraints", 0, "type", value="freshness"), r"constraints\[0\].type"),
    # no numbers
    "now is NaN": (put("now", value=float("nan")), "now"),
    "now is infinite": (put("now", value=float("inf")), "now"),
    "a size is NaN": (put("blocks", 0, "size", value=float("nan")), r"blocks\[0\].size"),
    "a bound is NaN": (put("constraints", 0, "bound", value=float("nan")), r"constraints\[0\].bound"),
    "an arrival is NaN": (put("arrivals", "a", 1, value=float("nan")), r"arrivals.a\[1\]"),
    # out of range
    "negative size": (put("blocks", 0, "size", value=-1), r"blocks\[0\].size"),
    "negative cost": (put("operators", 1, "cost", "fixed", value=-0.5), r"operators\[1\].cost.fixed"),
    "negative rate": (put("operators", 1, "cost", "per_operand", value=[-1]), r"operators\[1\].cost.per_operand\[0\]"),
    "negative weight": (put("operators", 0, "outputs", 0, "size", value=[-1]), r"operators\[0\].outputs\[0\].size"),
    "negative converter cost": (put("channels", 0, "converter_cost", "fixed", value=-1), "converter_cost.fixed"),
    "expand of 0": (put("channels", 2, "weak", "w", "expand", value=0), "weak.w.expand"),
    "negative staleness": (put("constraints", 0, "bound", value=-1), r"bound_staleness\(c, 0\).*negative"),
    "negative inconsistency": (put("constraints", 1, "bound", value=-1), r"bound_inconsistency\(c\).*negative"),
    "negative path": (put("constraints", 0, "path", value=-1), "staleness of 'c': path -1"),
    "path beyond the last": (put("constraints", 0, "path", value=2), "path 2; it has paths 0 to 1"),
    # unknown names
    "arrivals of an unknown channel": (put("arrivals", "zz", value=[0]), "'zz'.*arrivals"),
    "bound on an unknown channel": (put("constraints", 0, "channel", value="zz"), "'zz'.*constraints"),
    "block on an unknown channel": (put("blocks", 0, "channel", value="zz"), "'zz'.*blocks"),
    "output of an unknown channel": (put("outputs", 0, "channel", value="zz"), "'zz'"),
    "operator on an unknown channel": (put("operators", 0, "inputs", 0, "channel", value="zz"), "'zz'.*map.b"),
    "operator to an unknown channel": (put("operators", 0, "outputs", 0, "channel", value="zz"), "'zz'.*map.b"),
    "unknown kind of block": (put("blocks", 0, "kind", value="Q"), "kind 'Q'.*'a'"),
    "weak kind of another channel": (put("blocks", 2, "kind", value="w"), "kind 'w'.*'a'"),
    "unknown kind read": (put("operators", 1, "inputs", 0, "kinds", value=["Q"]), "kind 'Q'.*map.w"),
    "unknown kind written": (put("operators", 1, "outputs", 0, "kind", value="Q"), "kind 'Q'.*map.w"),
    "unknown kind accepted": (put("outputs", 0, "accepts", value=["w"]), "kind 'w'.*'c'"),
    "unknown converter": (put("channels", 2, "weak", "w", "converters", value=["ww"]), "converter 'ww'.*'w'.*'m'"),
    # time
    "arrivals not ascending": (put("arrivals", "a", value=[0, 8, 5]), "a: arrival at 5.0 is not later"),
    "arrivals twice": (put("arrivals", "a", value=[0, 5, 5, 8]), "a: arrival at 5.0"),
    "arrivals twice at the start": (put("arrivals", "a", value=[0, 0, 5, 8]), "a: arrival at 0.0"),
    "arrivals before the beginning": (put("arrivals", "a", value=[-1, 0, 5, 8]), "a: arrival at -1"),
    "an arrival after now": (put("arrivals", "b", value=[0, 6, 10]), "'b': 10.0 is not before now"),
    "an arrival at now": (put("now", value=8), "'a': 8.0 is not before now"),
    "a stamp that never arrived": (put("blocks", 0, "target", value=[[3]]), "'a' has no arrival at 3"),
    "held content that never arrived": (put("outputs", 0, "holds", value=[[3], [0]]), "'a' has no arrival at 3"),
    "a source that never arrived": (put("blocks", 2, "source", value=[[1]]), "'a' has no arrival at 1"),
    # contradictions
    "a channel twice": (add("channels", channel("m", "a")), "channel 'm' is listed twice"),
    "an output twice": (add("outputs", output("c")), "output 'c' is listed twice"),
    "paths against operators": (put("channels", 3, "paths", value=["b", "a"]), "join.b.*paths.*'c'"),
    "a path from a derived channel": (put("channels", 3, "paths", value=["m", "b"]), "'c'.*'m', which has no arrivals"),
    "an input with another path": (put("channels", 0, "paths", value=["b"]), "'a' is an input"),
    "a bound on an input channel": (add("constraints", stale("a", 0)), "staleness of 'a': it is an input channel"),
    "consistency of an input": (add("constraints", apart("b", 1)), "inconsistency of 'b': it is an input channel"),
    "an operator that writes an input": (add("operators", operator("x", {"b": "B"}, "a", "B")), "'x'"),
    "a cycle": (add("operators", operator("x", {"c": "B"}, "m", "B")), "cycle: m → c → m|cycle: c → m → c"),
    "a channel that reads itself": (add("operators", operator("x", {"m": "B"}, "m", "B")), "cycle: m → m"),
    "an operator that reads nothing": (add("operators", operator("x", {"a": ""}, "m", "B")), "'x': it reads nothing"),
    "an operator without inputs": (put("operators", 0, "inputs", value=[]), r"operators\[0\].inputs"),
    "two bases of one input": (
        put("operators", 0, "inputs", 0, "kinds", value=["B", "B"]),
        "map.b.*a base and a delta",
    ),
    "too few weights": (put("operators", 2, "cost", "per_operand", value=[1]), "join.b.*1 weights for 2 operands"),
    "too few size weights": (put("operators", 2, "outputs", 0, "size", value=[1]), "join.b.*size of 'c'.*1 weights"),
    "the same block in two sizes": (add("blocks", base("a", 0, size=2)), "a: B.*size 1.0 and with size 2.0"),
    "a base with a source": (put("blocks", 0, "source", value=[[0]]), "a: block.*only deltas have a source"),
    "a delta without a source": (put("blocks", 2, "source", value=None), "a: block.*needs the source"),
    "a delta without progress": (put("blocks", 2, "source", value=[[8]]), "a: block.*no progress"),
    "a base with an empty entry": (put("blocks", 0, "target", value=[[]]), "a: block.*empty entries"),
    "held content with an empty entry": (put("outputs", 0, "holds", value=[[], [0]]), "holds of 'c'"),
    "too many entries": (put("blocks", 0, "target", value=[[0], [0]]), "'a' has 1 paths, the provenance 2"),
    "too few entries held": (put("outputs", 0, "holds", value=[[0]]), "'c' has 2 paths, the provenance 1"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused_and_its_place_is_named(fault: str) -> None:
    change, message = FAULTS[fault]
    made = good()
    change(made)
    with pytest.raises((ProblemError, UnknownNameError), match=message) as caught:
        load(made, "my case")
    assert "my case" in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "nonsense", "[1, 2", '{"cases": [}'])
def test_what_is_not_json_is_refused_with_the_file_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(ProblemError, match=r"bad\.json: not JSON"):
        read_file(file)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(ProblemError, match=r"bad\.json: not JSON"):
        read_file(file)


@pytest.mark.parametrize("text", ["[]", "3", "null", '"case"', '{"cases": {}}', '{"cases": [3]}', "{}", "[" * 5_000])
def test_json_that_is_no_case_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(ProblemError):
        read_file(file)


def test_a_file_that_is_not_there_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match=r"none\.json: cannot be read"):
        read_file(tmp_path / "none.json")
    with pytest.raises(ProblemError, match="cannot be read"):
        read_file(tmp_path)


def test_a_case_that_is_not_there_is_refused_with_the_nearest_ones() -> None:
    with pytest.raises(UnknownNameError, match="problem05"):
        read_file(PROBLEMS, "problm05")


def test_a_case_is_chosen_by_its_id_whatever_else_the_file_holds(tmp_path: Path) -> None:
    file = tmp_path / "two.json"
    file.write_text(json.dumps({"cases": [{"id": "broken"}, {**good(), "id": "good"}]}))
    ((name, *_),), several = read_file(file, "good")
    assert name == "good"
    assert not several
    with pytest.raises(ProblemError, match="broken"):
        read_file(file)


def test_a_file_is_one_case_or_a_list_of_cases(tmp_path: Path) -> None:
    single = tmp_path / "one.json"
    single.write_text(json.dumps(good()))
    cases, several = read_file(single)
    assert [name for name, *_ in cases] == ["case"]
    assert not several
    assert read_file(PROBLEMS)[1]


def test_fields_of_later_versions_are_ignored() -> None:
    assert load({**good(), "comment": "mine", "expected": {}}).due() == ("c",)


def test_the_same_block_twice_is_one_block() -> None:
    made = good()
    made["blocks"].append(deepcopy(made["blocks"][0]))
    assert len(load(made).blocks["a"]) == 2


def test_converters_have_the_prices_and_sizes_of_the_format() -> None:
    made = load(
        case(9, {"a": [0, 5]}, channel("a", fixed=2, rate=0.5, w=["wB", "wD", "Dw", "Bw"]), base("a", 0), base("a", 5))
    )
    from olston.block import BASE, DELTA, Block
    from tests.scheduler.cases import at

    old, new = Block("a", BASE, at(0), rows=10), Block("a", BASE, at(5), rows=16)
    strong, upsert = Block("a", DELTA, at(5), at(0), 4), Block("a", weak("w"), at(5), at(0), 3)
    prices = {v.name: v.price for v in made.network.variants if v.listed}
    assert prices["c.DB"]([old, strong]) == (2 + 0.5 * 14, (14,))
    assert prices["c.BD"]([old, new]) == (2 + 0.5 * 26, (6,))
    assert prices["c.wB"]([old, upsert]) == (2 + 0.5 * 13, (16,))
    assert prices["c.wD"]([old, upsert]) == (2 + 0.5 * 13, (6,))
    assert prices["c.Dw"]([strong]) == (2 + 0.5 * 4, (2,))
    assert prices["c.Bw"]([old, new]) == (2 + 0.5 * 26, (3,))


def test_a_weak_converter_that_is_not_supplied_is_not_composed() -> None:
    made = load(case(9, {"a": [0]}, channel("a", w=["wB"])))
    assert {v.name for v in made.network.variants if v.listed} == {"c.DB", "c.BD", "c.wB"}


def test_what_a_file_calls_d_plus_is_a_delta_without_deletions() -> None:
    made = load(case(9, {"a": [0, 5]}, delta("a", [0], [5], "D+")))
    assert made.blocks["a"][0].kind == MONOTONE


SPOILED: list[Any] = [
    None,
    True,
    -1,
    0,
    3,
    1e308,
    float("nan"),
    float("inf"),
    10**400,
    "",
    "c1",
    "zz",
    [],
    {},
    [[]],
    [[0.0]],
]


def places(part: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    steps = list(part.items()) if isinstance(part, dict) else list(enumerate(part)) if isinstance(part, list) else []
    return [(*path, k) for k, _ in steps] + [p for k, v in steps for p in places(v, (*path, k))]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_spoiled_case_raises_nothing_but_errors_of_olston(data: st.DataObject) -> None:
    from olston.scheduler.decide import decide

    made = deepcopy(data.draw(st.sampled_from(LISTED[:12])))
    made.pop("expected")
    for _ in range(data.draw(st.integers(1, 3))):
        *path, last = data.draw(st.sampled_from(places(made)))
        part: Any = made
        for step in path:
            part = part[step]
        action = data.draw(st.sampled_from(["drop", "spoil", "repeat", "swap"]))
        if action == "drop":
            del part[last]
        elif action == "spoil" or isinstance(part, dict):
            part[last] = deepcopy(data.draw(st.sampled_from(SPOILED)))
        elif action == "repeat":
            part.append(deepcopy(part[last]))
        else:
            part.reverse()
    with suppress(OlstonError):
        decide(load(made), replan=False)
