"""Who gives a command is answered, and who stops waiting for it wants it no more."""

from __future__ import annotations

from pathlib import Path

import pytest

import olston as ol
from olston.loop import Loop
from tests.pretended import Pretended, arrive, engine


def two() -> ol.Workflow:
    wf = ol.Workflow("two")
    for name in ("a", "b"):
        wf.output(wf.source(f"{name}s", "k string").aggregate(name, by="k", n=ol.count()))
        wf.bound_staleness(name, 0, 0)
    return wf


def test_a_refresh_that_was_interrupted_is_not_carried_out_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Pretended()
    made = engine(two(), str(tmp_path), work)
    arrive(made, "as", "bs")

    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Loop, "turn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            made.refresh("a")
    made.refresh("b")
    assert set(work.delivered) == {"b"}
    made.close()


def test_every_output_that_could_not_be_refreshed_says_why_itself(tmp_path: Path) -> None:
    failing = {"a.batch", "b.batch"}
    made = engine(two(), str(tmp_path), Pretended(fails=failing.__contains__))
    arrive(made, "as", "bs")
    with pytest.raises(ol.StepError):
        made.refresh()
    reasons = {o.output: o.failed or "" for o in made.status().outputs}
    assert reasons["a"].startswith("a.batch: failed")
    assert reasons["b"].startswith("b.batch: failed")
    failing.discard("a.batch")
    with pytest.raises(ol.StepError):
        made.refresh()
    assert [o.failed is None for o in made.status().outputs] == [True, False]
    made.close()
