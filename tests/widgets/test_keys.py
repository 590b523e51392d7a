"""DESIGN 3, "Keys": which key a channel has, and which replacements travel on it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import olston as ol
from olston.workflow import Workflow


def keyed() -> Workflow:
    wf = ol.Workflow("w")
    wf.source("pages", key="url")
    wf.source("sites", key="site")
    wf.source("log")
    return wf


def kinds(channel: ol.Channel) -> list[str]:
    return [w.kind for w in channel.weak]


def only(made: ol.Channel | tuple[ol.Channel, ...]) -> ol.Channel:
    return made[0] if isinstance(made, tuple) else made


Place = Callable[[Workflow], ol.Channel | tuple[ol.Channel, ...]]
KEYS: dict[str, tuple[Place, tuple[str, ...] | None]] = {
    "filter keeps it": (lambda w: w.channel("pages").filter("o", "x > 1"), ("url",)),
    "split keeps it": (lambda w: w.channel("pages").split({"o": "x > 1"}, rest="r"), ("url",)),
    "the rest of a split keeps it": (lambda w: w.channel("pages").split({"o": "x > 1"}, rest="r")[1], ("url",)),
    "map loses it": (lambda w: w.channel("pages").map("o", lambda df: df), None),
    "map keeps it if told": (lambda w: w.channel("pages").map("o", lambda df: df, key="url"), ("url",)),
    "flat_map loses it": (lambda w: w.channel("pages").flat_map("o", lambda df: df), None),
    "flat_map has what it is told": (lambda w: w.channel("log").flat_map("o", lambda df: df, key="id"), ("id",)),
    "an aggregate's is by": (lambda w: w.channel("log").aggregate("o", by=["a", "b"], n=ol.count()), ("a", "b")),
    "of an average it is by": (lambda w: w.channel("log").aggregate("o", by="a", n=ol.avg("v")), ("a",)),
    "of a minimum it is by": (lambda w: w.channel("log").aggregate("o", by="a", n=ol.min("v")), ("a",)),
    "a global row has the empty key": (lambda w: w.channel("log").aggregate("o", by=[], n=ol.count()), ()),
    "distinct's is all columns": (lambda w: w.channel("pages").distinct("o"), ("*",)),
    "a union has none": (lambda w: w.channel("pages").union("o", w.channel("sites")), None),
    "a batch job has none": (lambda w: w.batch("o", [w.channel("pages")], lambda df: df), None),
    "a filter of what has none has none": (lambda w: w.channel("log").filter("o", "x > 1"), None),
    "extract has none, a key may have many rows": (
        lambda w: w.channel("log").extract("o", lambda df: df, key="url"), None,
    ),
    "a join's is that of the left where the right is unique": (
        lambda w: w.channel("pages").join("o", w.channel("sites"), on="site"), ("url",),
    ),
    "of a left join too": (
        lambda w: w.channel("pages").join("o", w.channel("sites"), on="site", how="left"), ("url",),
    ),
    "a join's is that of the right where the left is unique": (
        lambda w: w.channel("sites").join("o", w.channel("pages"), on="site"), ("url",),
    ),
    "of a left join it is never that of the right, which may be null": (
        lambda w: w.channel("sites").join("o", w.channel("pages"), on="site", how="left"), None,
    ),
    "a join on more columns than the key is unique too": (
        lambda w: w.channel("pages").join("o", w.channel("sites"), on=["site", "day"]), ("url",),
    ),
    "a join where neither side is unique has none": (
        lambda w: w.channel("pages").join("o", w.channel("log"), on="site"), None,
    ),
    "a join with an unkeyed left has none": (
        lambda w: w.channel("log").join("o", w.channel("sites"), on="site"), None,
    ),
    "a join with the only row of a global aggregate keeps the left's": (
        lambda w: w.channel("pages").join("o", w.channel("log").aggregate("n", by=[], n=ol.count()), on="n"), ("url",),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("place", "key"), KEYS.values(), ids=KEYS)
def test_the_key(place: Place, key: tuple[str, ...] | None) -> None:
    assert only(place(keyed())).key == key


CROSSING: dict[str, tuple[Place, list[str]]] = {
    "filter": (lambda w: w.channel("pages").filter("o", "x > 1"), ["δ_replace(url)"]),
    "split": (lambda w: w.channel("pages").split({"o": "x > 1"}, rest="r"), ["δ_replace(url)"]),
    "the rest of a split": (lambda w: w.channel("pages").split({"o": "x > 1"}, rest="r")[1], ["δ_replace(url)"]),
    "map that keeps the key": (lambda w: w.channel("pages").map("o", lambda df: df, key="url"), ["δ_replace(url)"]),
    "flat_map that keeps the key": (
        lambda w: w.channel("pages").flat_map("o", lambda df: df, key="url"), ["δ_replace(url)"],
    ),
    "map that loses the key": (lambda w: w.channel("pages").map("o", lambda df: df), []),
    "map to another key": (lambda w: w.channel("pages").map("o", lambda df: df, key="site"), []),
    "union": (lambda w: w.channel("pages").union("o", w.channel("sites")), []),
    "batch": (lambda w: w.batch("o", [w.channel("pages")], lambda df: df), []),
    "distinct": (lambda w: w.channel("pages").distinct("o"), []),
    "join": (
        lambda w: w.channel("pages").join("o", w.channel("sites"), on="site"), ["δ_replace(url)", "δ_replace(site)"],
    ),
    "left join": (
        lambda w: w.channel("pages").join("o", w.channel("sites"), on="site", how="left"), ["δ_replace(url)"],
    ),
    "filter after extract": (
        lambda w: w.channel("log").extract("e", lambda df: df, key="url", order_by="t").filter("o", "x > 1"),
        ["δ_replace(url; t)"],
    ),
    "filter after minimum": (
        lambda w: w.channel("log").aggregate("a", by="k", x=ol.min("v")).filter("o", "x > 1"), ["δ_replace(k)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("place", "expected"), CROSSING.values(), ids=CROSSING)
def test_replacement_crosses_what_keeps_the_key(place: Place, expected: list[str]) -> None:
    assert kinds(only(place(keyed()))) == expected


@pytest.mark.parametrize(
    "place",
    [
        lambda c: c.filter("o", "n > 1"), lambda c: c.map("o", lambda df: df, key="k"),
        lambda c: c.split({"o": "n > 1"}, rest="r")[0], lambda c: c.union("o", c),
        lambda c: c.join("o", c, on="k", how="left"), lambda c: c.flat_map("o", lambda df: df, key="k"),
    ],
)  # fmt: skip
def test_increments_cross_nothing(place: Callable[[ol.Channel], ol.Channel]) -> None:
    counts = keyed().channel("log").aggregate("counts", by="k", n=ol.count())
    assert kinds(counts) == ["δ_increment(k)"]
    assert kinds(place(counts)) == []


def test_an_inner_join_makes_replacements_of_changes_on_the_right_by_a_key_that_is_unique_there() -> None:
    wf = keyed()
    log = wf.channel("log")
    counts = log.aggregate("counts", by="k", n=ol.count())
    assert kinds(log.join("all", counts, on="k")) == ["δ_replace(k)"]
    assert kinds(log.join("some", log, on="k")) == [], "several rows may have one"
    met = counts.join("met", counts, on="k")
    assert met.key == ("k",)
    assert kinds(log.join("mixed", met, on="k")) == ["δ_replace(k)"]
    operators = wf.widgets["mixed"].operations()[0].operators
    assert "supersede_right" not in [o.name for o in operators], "where snapshots meet, several rows may have one too"


def test_a_replacement_on_a_join_is_not_made_from_strong_deltas_since_where_snapshots_mix_no_key_is_unique() -> None:
    wf = keyed()
    joined = wf.channel("pages").join("u", wf.channel("sites"), on="site")
    assert joined.key == ("url",)
    assert joined.weak[0].kind == "δ_replace(url)"
    assert joined.weak[0].supplied == {"Bδ", "δB", "δΔ"}
