"""Rates files: read as written, and every fault named."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import olston as ol
from olston.duration import UNITS
from olston.errors import OlstonError
from olston.project import EXAMPLES, find_workflow
from olston.scheduler.simulate.rates import parse_rates, read_rates


def workflow() -> ol.Workflow:
    wf = ol.Workflow("mine")
    left, right = wf.source("a", "k int, v int").split({"x": "v > 0"}, rest="y")
    joined = left.join("c", wf.source("b", "k int", key="k"), on="k")
    wf.output(joined)
    wf.output(right)
    return wf


GOOD = """
unit = "CPU hours"
[sources.a]
rows = 10
every = "1 hour"
initial = 1e6
[sources.b]
rows = 5
every = "30 min"
offset = "10 min"
arrives = "replace"
growth = 0.5
[costs]
start = 1
base = 2
[costs.batch]
base = 3
[delivery]
start = 7
[widgets.c]
rows = 0.5
keys = 100
[widgets.c.costs]
delta = 4
[widgets.c.variants.async_left]
base = 0
[widgets."split(x,y)"]
shares = [0.25, 0.75]
"""


def test_a_file_is_read_as_it_is_written() -> None:
    made = parse_rates(tomllib.loads(GOOD), workflow())
    assert made.unit == "CPU hours"
    a, b = made.sources["a"], made.sources["b"]
    assert (a.rows, a.every, a.offset, a.initial, a.arrives, a.growth) == (
        10,
        UNITS["hour"],
        UNITS["hour"],
        1e6,
        "append",
        1,
    )
    assert (b.every, b.offset, b.arrives, b.growth) == (30 * UNITS["minute"], 10 * UNITS["minute"], "replace", 0.5)
    assert made.costs.rates("c", "incremental").delta == 4
    assert made.costs.rates("c", "batch").base == 3
    assert made.costs.rates("c", "async_left").base == 0
    assert made.costs.delivery.start == 7
    assert made.costs.of("c").keys == 100
    assert made.costs.of("split(x,y)").shares == (0.25, 0.75)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_have_rates_in_a_unit(name: str) -> None:
    found, folder = find_workflow(name)
    assert read_rates(folder / "rates.toml", found).unit == "CPU hours"


FAULTS = {
    "unknown table": ("[cost]\n", "'cost'.*costs"),
    "unknown source": ("[sources.aa]\nrows = 1\nevery = 1\n", "'aa'"),
    "unknown widget": ("[widgets.cc]\nrows = 1\n", "'cc'"),
    "unknown statistic": ("[widgets.x]\nrow = 1\n", "'row'.*rows"),
    "unknown rate": ("[widgets.x.costs]\nbas = 1\n", "'bas'.*base"),
    "unknown rate of a variant": ("[widgets.c.variants.batch]\nbas = 1\n", "'bas'.*base"),
    "negative rate": ("[widgets.x.costs]\nbase = -1\n", r"\[widgets.x\] costs base: -1"),
    "a rate that is text": ("[widgets.x]\nrows = 'many'\n", r"\[widgets.x\] rows: 'many'"),
    "a rate that is a truth value": ("[widgets.x]\nrows = true\n", r"\[widgets.x\] rows: True"),
    "a rate that is NaN": ("[widgets.x]\nrows = nan\n", r"\[widgets.x\] rows: nan"),
    "a rate that is infinite": ("[widgets.x]\nrows = inf\n", r"\[widgets.x\] rows: inf"),
    "widgets is no table": ("widgets.x = 3\n", r"\[widgets.x\]: a table"),
    "shares is no list": ("[widgets.x]\nshares = 3\n", r"\[widgets.x\] shares"),
    "variants is no table": ("[widgets.x]\nvariants = 3\n", r"\[widgets.x\].*variants"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_refused_and_its_place_is_named(tmp_path: Path, fault: str) -> None:
    text, message = FAULTS[fault]
    file = tmp_path / "rates.toml"
    # a bare key belongs before the tables
    file.write_text(GOOD + text if text.startswith("[") else text + GOOD)
    with pytest.raises(OlstonError, match=message) as caught:
        read_rates(file, workflow())
    assert "rates.toml" in str(caught.value)


CHANGES = {
    "no rows": ("rows = 10\n", "", r"\[sources.a\]: rows is missing"),
    "no every": ('every = "1 hour"\n', "", r"\[sources.a\]: every is missing"),
    "every is no duration": ('every = "1 hour"', 'every = "soon"', r"\[sources.a\].*'soon'"),
    "every is too short": ('every = "1 hour"', "every = 0", r"\[sources.a\]: every 0"),
    "offset is negative": ('offset = "10 min"', "offset = -5", r"\[sources.b\].*offset"),
    "negative rows": ("rows = 10", "rows = -10", r"\[sources.a\] rows: -10"),
    "unknown kind of arrival": ('arrives = "replace"', 'arrives = "upsert"', "'upsert'.*replace"),
    "replace without a key": ("initial = 1e6", 'arrives = "replace"', r"\[sources.a\]: replace needs a key"),
    "a source without rates": ("[sources.a]", "[sources.b2]", "'b2'|source 'a'"),
    "too few shares": ("shares = [0.25, 0.75]", "shares = [0.25]", r"split\(x,y\).*shares"),
    "a share that is text": ("shares = [0.25, 0.75]", "shares = ['a', 1]", r"split\(x,y\).*shares"),
    "an unknown variant": ("variants.async_left", "variants.async_lift", "'async_lift'.*async_left"),
    "costs is no table": ("[costs]\nstart = 1\nbase = 2\n[costs.batch]\nbase = 3\n", "", r"costs.*table"),
    "sources is no table": (GOOD[GOOD.index("[sources.a]") : GOOD.index("[costs]")], "", r"sources.*table|source 'a'"),
}


@pytest.mark.parametrize("fault", CHANGES)
def test_a_wrong_entry_is_refused_and_its_place_is_named(fault: str) -> None:
    old, new, message = CHANGES[fault]
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    if fault.endswith("is no table"):
        text = f"{fault.split()[0]} = 3\n" + text
    with pytest.raises(OlstonError, match=message):
        parse_rates(tomllib.loads(text), workflow())


def test_what_is_not_toml_and_what_is_not_there_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rates.toml"
    with pytest.raises(OlstonError, match=r"rates\.toml: cannot be read"):
        read_rates(file, workflow())
    file.write_text("rows = = 3")
    with pytest.raises(OlstonError, match=r"rates\.toml: not TOML"):
        read_rates(file, workflow())
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(OlstonError, match=r"rates\.toml"):
        read_rates(file, workflow())
