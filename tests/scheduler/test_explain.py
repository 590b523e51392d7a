"""Evidence: what was due, what each bound has left, and which alternatives were rejected and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olston.constraints import Inconsistency, Staleness
from olston.scheduler.decide import decide
from olston.scheduler.explain import ALTERNATIVES, Alternative, Evidence, explain
from olston.scheduler.plan import Entry
from olston.scheduler.planner import Queue
from olston.scheduler.problem import Problem
from olston.scheduler.problem_file import load
from olston.scheduler.prune import SECTIONS
from tests.scheduler.cases import JOIN, MAP, apart, base, channel, delta, operator, output, problem, stale
from tests.scheduler.test_infeasible import drifted

AB: dict[str, list[float]] = {"a": [0, 5], "b": [0, 6]}
BOTH = [base("a", 0), base("b", 0), delta("a", [0], [5]), delta("b", [0], [6])]


def joined(inconsistency: float = 4) -> Problem:
    return problem(7, AB, *JOIN, stale("c", 0, 1), apart("c", inconsistency), output("c", 0, 0), *BOTH)


def evidence(given: Problem, sections: tuple[str, ...] = ()) -> Evidence:
    return explain(given, decide(given, sections))


def test_it_says_which_bound_was_broken_and_by_how_much() -> None:
    (due,) = evidence(joined()).due
    assert (due.output, due.bound, due.late) == ("c", Staleness("c", 0, 1.0), 1)
    assert str(due) == "c breaks bound_staleness(c, 0, 1.0) by 1"


def test_it_says_that_an_output_held_nothing() -> None:
    (due,) = evidence(problem(7, AB, *JOIN, output("c"), base("a", 0), base("b", 0))).due
    assert (due.bound, str(due)) == (None, "c holds nothing yet")


def test_it_says_what_each_bound_has_left() -> None:
    found = {s.bound: s.left for s in evidence(joined()).slack}
    # afterwards c holds ⟨5, 0⟩: a is newest (its bound has all left), b lasted until 6, which is after 5
    assert found == {Staleness("c", 0, 1.0): 1, Inconsistency("c", 4.0): 5}


def test_dearer_alternatives_say_by_how_much() -> None:
    made = evidence(joined())
    dearer = [a for a in made.alternatives if not a.breaks]
    assert dearer
    for other in dearer:
        assert other.cost > 2  # the plan chosen is one join.l
        assert other.reason == f"dearer by {other.cost - 2:.6g}"


def test_alternatives_that_break_a_bound_name_it() -> None:
    breaking = [a for a in evidence(joined(0)).alternatives if a.breaks]
    assert breaking
    reasons = {a.reason for a in breaking}
    assert any("bound_inconsistency(c, 0.0)" in r or "bound_staleness(c, 0, 1.0)" in r for r in reasons)
    for other in breaking:
        assert other.reason.startswith("breaks ")
        bounds = joined(0).bounds()
        broken = [*bounds.stale("c", other.content), *bounds.inconsistent("c", other.content)]
        assert set(other.breaks) <= set(broken)


def test_the_best_alternatives_come_first_and_are_few() -> None:
    made = evidence(joined()).alternatives
    for breaks in (False, True):
        costs = [a.cost for a in made if bool(a.breaks) == breaks]
        assert costs == sorted(costs)
        assert len(costs) <= ALTERNATIVES


def two_outputs() -> Problem:
    second = (
        channel("d", "b"),
        operator("d.b", {"b": "B"}, "d", "B", 10.0),
        operator("d.i", {"b": "D"}, "d", "D", 3.0),
    )
    parts = [stale("c", 0), stale("d", 0), output("c", 0), output("d", 0)]
    return problem(7, AB, *MAP, *second, *parts, *BOTH)


def test_what_was_chosen_is_not_among_the_rejected_even_where_several_outputs_are_due() -> None:
    given = two_outputs()
    made = explain(given, decide(given, ()))
    assert {a.output for a in made.alternatives} == {"c", "d"}
    assert ("map.i",) not in {a.steps for a in made.alternatives}
    assert ("d.i",) not in {a.steps for a in made.alternatives}


def test_each_alternative_of_several_outputs_is_compared_with_its_own_output() -> None:
    given = two_outputs()
    for other in explain(given, decide(given, ())).alternatives:
        paid = {"c": 2.0, "d": 3.0}[other.output]
        assert other.breaks or other.reason == f"dearer by {other.cost - paid:.6g}"


def test_the_same_steps_on_other_blocks_are_another_way() -> None:
    """map.i up to 5 breaks the bound; that it has the steps of the plan chosen does not hide it."""
    parts = [base("a", 0), delta("a", [0], [5]), delta("a", [0], [8])]
    given = problem(9, {"a": [0, 5, 8]}, *MAP, stale("c", 0), output("c", 0), *parts)
    ways = evidence(given).alternatives
    assert any(a.steps == ("map.i",) and a.breaks for a in ways)


def long_term() -> Problem:
    c = (channel("c", "a"), operator("map.b", {"a": "B"}, "c", "B", 1.0, rate=1.0))
    blocks = [base("a", 5, size=1), base("a", 8, size=2)]
    return problem(9, {"a": [0, 5, 8]}, *c, stale("c", 0, 3), output("c", 0), *blocks)


@pytest.mark.parametrize("given", [long_term(), drifted("incremental", "1 week")], ids=["6.3", "policy"])
def test_no_reason_calls_a_cheaper_way_dearer(given: Problem) -> None:
    for other in evidence(given, SECTIONS).alternatives:
        assert "dearer by -" not in other.reason
        assert other.reason


def test_what_a_pruning_passed_over_although_cheaper_now_is_shown_as_such() -> None:
    cheaper = [a for a in evidence(long_term(), ("6.3",)).alternatives if a.cost < 3]
    assert cheaper
    assert "cheaper" in cheaper[0].reason


def test_an_infeasible_case_still_says_what_was_due() -> None:
    made = evidence(problem(7, {"a": [0, 5]}, *MAP, stale("c", 0), output("c", 0)))
    assert [d.output for d in made.due] == ["c"]
    assert made.alternatives == ()


def test_nothing_due_has_nothing_to_explain() -> None:
    assert evidence(problem(7, {"a": [0, 5]}, *MAP, output("c", 0))) == Evidence((), (), ())


def test_evidence_is_plain_json() -> None:
    shown = json.loads(json.dumps(evidence(joined()).to_json()))
    assert set(shown) == {"due", "slack", "alternatives"}
    assert set(shown["alternatives"][0]) == {"output", "steps", "cost", "content", "reason"}


def test_explaining_changes_nothing_and_says_the_same_twice() -> None:
    given = joined()
    decision = decide(given)
    first = explain(given, decision).to_json()
    assert explain(given, decision).to_json() == first
    assert decide(given).steps[0].cost == decision.steps[0].cost


def test_an_alternative_as_dear_is_no_cheaper() -> None:
    from tests.scheduler.cases import at

    assert Alternative("c", ("x",), 2.0, at(0), 0.0).reason == "no cheaper"


def test_looking_for_alternatives_ends_although_snapshots_multiply(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty waves wait on each source: what no pruning hides took 22 GB before there was a limit."""
    given = load(json.loads((Path(__file__).parent / "many_waves.json").read_text()))
    chosen, offered, offer = decide(given), 0, Queue.offer

    def counted(self: Queue, entry: Entry) -> None:
        nonlocal offered
        offered += 1
        offer(self, entry)

    monkeypatch.setattr(Queue, "offer", counted)
    explain(given, chosen)
    assert offered < 10_000, "of more than 50,000"
