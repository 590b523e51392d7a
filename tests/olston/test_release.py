"""Old input goes if the user says so, and nothing but the past looks different."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlmodel import select

import olston as ol
from olston import arrivals, maintain, release
from olston.arrivals import Waves
from olston.catalog.records import ArrivalRecord, DeliveryRecord, RewriteRecord
from olston.engine import Engine
from olston.store import Store
from olston.vacuum import Vacuumed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
START = 1_700_000_000_000_000
DAY = 86_400_000_000


class Shop:
    """Sales that are added up, and the names of what is sold; a day passes after every wave."""

    def __init__(self, spark: SparkSession, folder: Path, staleness: str | int = 0, **followed: Any) -> None:
        self.spark, self.home, self.clock = spark, folder / "home", ol.ManualClock(START)
        self.wf = ol.Workflow("shop")
        sales = self.wf.source("sales", "k string, n int", **followed)
        names = self.wf.source("names", "k string, name string", key="k")
        totals = sales.aggregate("totals", by="k", n=ol.sum("n"), policy="incremental", keep=True)
        self.wf.output(totals.join("sold", names, on="k"))
        for pathway in (0, 1):
            self.wf.bound_staleness("sold", pathway, staleness)
        self.sold: Counter[str] = Counter()
        self.stamps: list[int] = []
        self.open()

    def open(self) -> None:
        self.engine = Engine(self.wf, str(self.home), clock=self.clock, spark=self.spark, retention="1 day")

    def wave(self, names: bool = False, refresh: bool = True) -> None:
        """A sale of a, one of something else, and maybe names for both."""
        other = f"k{len(self.stamps)}"
        self.sold += Counter({"a": 1, other: 2})
        with self.engine.arrival() as together:
            together.ingest("sales", self.spark.createDataFrame([("a", 1), (other, 2)], "k string, n int"))
            if names:
                named = [("a", f"name {len(self.stamps)}"), (other, other.upper())]
                together.ingest("names", self.spark.createDataFrame(named, "k string, name string"))
        stamp = together.blocks[0].stamp
        assert stamp is not None
        self.stamps.append(int(stamp))
        if refresh:
            self.engine.refresh()
        self.clock.advance("1 day")

    def vacuum(self, retention: str | int | None, dry_run: bool = False) -> list[Vacuumed]:
        with Engine(self.wf, str(self.home), clock=self.clock, spark=self.spark, retention=retention) as engine:
            return engine.vacuum(0, dry_run=dry_run)

    def rows(self, channel: str, at: Any = None) -> Counter[tuple[Any, ...]]:
        return Counter(tuple(r) for r in self.engine.read(channel, at).collect())

    def arrivals(self, channel: str = "sales") -> list[int]:
        with self.engine._catalog.look() as db:
            found = select(ArrivalRecord.stamp).where(ArrivalRecord.channel == channel).order_by("stamp")
            return list(db.exec(found))

    @property
    def files(self) -> dict[int, set[str]]:
        """The channels that the file of each arrival names."""
        return {
            int(p.stem): {a["channel"] for a in json.loads(p.read_text())["arrivals"]}
            for p in self.home.glob("arrivals/shop/*.json")
        }

    def data(self) -> int:
        return len(list(self.home.glob("blocks/sales/deltas-*/_block=*/*.parquet")))

    def check(self) -> None:
        assert self.rows("totals") == Counter(dict.fromkeys(self.sold.items(), 1))
        names = dict(self.rows("names").keys())
        assert self.rows("sold") == Counter({(k, n, names[k]): 1 for k, n in self.sold.items() if k in names})
        assert sum(n for (_, n), times in self.rows("sales").items() for _ in range(times)) == self.sold.total()


@pytest.fixture(scope="module")
def prepared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A shop in which six waves arrived, the first with names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintain, "OLD", 2)
        made = Shop(spark, tmp_path_factory.mktemp("shop"))
        for day in range(6):
            made.wave(names=day == 0)
    made.engine.close()
    return made


@pytest.fixture
def shop(prepared: Shop, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(prepared.spark, tmp_path)
    made.engine.close()
    shutil.copytree(prepared.home, made.home, dirs_exist_ok=True)
    made.sold, made.stamps = Counter(prepared.sold), list(prepared.stamps)
    made.clock.advance("6 days")
    made.open()
    yield made
    made.engine.close()


def test_input_that_a_base_has_all_of_goes_and_the_rest_is_as_before(shop: Shop) -> None:
    before = shop.data()
    shop.vacuum(None)
    assert shop.arrivals() == shop.stamps, "without a retention nothing goes that arrived"
    would = shop.vacuum("2 days", dry_run=True)
    assert shop.arrivals() == shop.stamps
    assert shop.data() == before
    assert shop.vacuum("2 days") == would != []
    kept = shop.arrivals()
    assert kept == shop.stamps[-len(kept) :]
    assert 2 <= len(kept) <= 5
    assert shop.data() < before
    shop.check()
    shop.wave(names=True)
    shop.check()


def test_what_a_source_was_before_cannot_be_read_and_that_is_said(shop: Shop) -> None:
    shop.vacuum(0)
    kept = shop.arrivals()
    assert shop.rows("sales", kept[0]).total() == 2 * (1 + shop.stamps.index(kept[0]))
    assert shop.rows("sales", START - 1) == Counter(), "before there was anything"
    with pytest.raises(ol.StoreError, match=r"\[LET_GO\] sales: .*retention.*the oldest that can be read is of 2023"):
        shop.rows("sales", shop.stamps[0])
    with pytest.raises(ol.StoreError, match=r"\[LET_GO\] sold: .* held at 2023.*not known any more, as it was let go"):
        shop.rows("sold", shop.stamps[0] + 1)
    shop.check()


def test_a_lost_catalog_is_recovered_without_what_was_let_go(shop: Shop) -> None:
    shop.vacuum("1 day")
    kept = shop.arrivals()
    assert set(shop.files) == {*kept, *shop.arrivals("names")}
    shop.engine.close()
    for file in shop.home.glob("catalog.db*"):
        file.unlink()
    shop.open()
    shop.engine.recover()
    assert shop.arrivals() == kept
    shop.engine.refresh()
    assert shop.rows("sold") == Counter({("a", 6, "name 0"): 1, ("k0", 2, "K0"): 1})
    assert shop.rows("sales").total() == 12
    with pytest.raises(ol.StoreError, match="LET_GO"):
        shop.rows("sales", shop.stamps[0])
    shop.wave(names=True)
    shop.check()


def test_the_file_of_a_wave_keeps_what_another_source_got_with_it(shop: Shop) -> None:
    shop.vacuum(0)
    first, kept = shop.stamps[0], shop.arrivals()
    assert first not in kept
    assert shop.files[first] == {"names"}
    assert shop.rows("names") == Counter({("a", "name 0"): 1, ("k0", "K0"): 1})
    shop.check()


def test_what_an_output_reflects_or_has_to_catch_up_with_stays(spark: SparkSession, tmp_path: Path) -> None:
    shop = Shop(spark, tmp_path, "30 days")
    shop.wave(names=True)
    for _ in range(3):
        shop.wave(refresh=False)
    shop.engine.ingest("sales", spark.createDataFrame([("z", 9)], "k string, n int"), kind="base")
    shop.clock.advance("1 day")
    shop.vacuum(0)
    assert shop.arrivals()[:4] == shop.stamps
    shop.engine.refresh("sold")
    shop.clock.advance("1 day")
    shop.vacuum(0)
    assert len(shop.arrivals()) == 1, "a base that arrived stands for itself"
    assert shop.rows("sales") == Counter({("z", 9): 1})
    shop.engine.close()


def test_nothing_is_taken_twice_from_a_followed_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintain, "OLD", 2)
    landing = tmp_path / "landing"
    landing.mkdir()
    shop = Shop(spark, tmp_path, files=f"{landing}/*.csv")
    for day in range(6):
        (landing / f"{day}.csv").write_text(f"k,n\na,{day}\n")
        shop.engine.poll()
        shop.engine.refresh()
        shop.clock.advance("1 day")
    expected = Counter({("a", day): 1 for day in range(6)})
    assert shop.rows("sales") == expected
    shop.vacuum(0)
    assert len(shop.arrivals()) < 4
    shop.engine.close()
    for file in shop.home.glob("catalog.db*"):
        file.unlink()
    shop.open()
    shop.engine.recover()
    shop.engine.poll()
    assert shop.rows("sales") == expected
    shop.engine.close()


def test_deliveries_go_with_the_input_but_for_the_last(shop: Shop) -> None:
    shop.vacuum("2 days")
    with shop.engine._catalog.look() as db:
        left = list(db.exec(select(DeliveryRecord.delivered_at).where(DeliveryRecord.output == "sold")))
    assert len(left) < 6
    assert sum(at <= shop.clock.now() - 2 * DAY for at in left) == 1, "what was held then"
    shop.clock.advance("30 days")
    shop.vacuum("2 days")
    assert shop.engine.provenance("sold").to_dict()["consistent"]
    shop.check()


def test_who_opens_the_home_while_input_is_let_go_finishes_it(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def look_in(_: str) -> None:
        with Engine(shop.wf, str(shop.home), clock=shop.clock, spark=shop.spark) as other:
            assert other.read("sales").count() == 12

    monkeypatch.setattr(release, "point", look_in)
    shop.vacuum(0)
    assert len(shop.arrivals()) < 6
    assert set(shop.files) == {*shop.arrivals(), *shop.arrivals("names")}
    with Engine(shop.wf, str(shop.home), clock=shop.clock, spark=shop.spark) as again:
        assert again.read("sales").count() == 12


def test_what_was_not_finished_is_before_anything_is_dropped(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(_: str) -> None:
        raise InterruptedError

    plain = Engine(shop.wf, str(shop.home), clock=shop.clock, spark=shop.spark)
    assert plain.store, "it was open before, and has no retention"
    with monkeypatch.context() as patch:
        patch.setattr(release, "point", die)
        with pytest.raises(InterruptedError):
            shop.vacuum(0)
    assert len(shop.files) == 6
    plain.vacuum(0, dry_run=True)
    assert len(shop.files) == 6
    plain.vacuum(0)
    plain.close()
    assert set(shop.files) == {*shop.arrivals(), *shop.arrivals("names")}
    shop.check()
    shop.engine.close()
    for file in shop.home.glob("catalog.db*"):
        file.unlink()
    shop.open()
    shop.engine.recover()
    assert shop.rows("sales").total() == 12


def test_what_changes_again_while_its_file_is_written_is_written_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, stands = arrivals.keep, list[int]()

    def meanwhile(store: Store, session: SparkSession, waves: Waves) -> None:
        keep(store, session, waves)
        if not stands:  # as if a vacuum elsewhere had let go of it
            stands.append(waves.stamp)
            with shop.engine._catalog.transaction() as db:
                for arrival in db.exec(select(ArrivalRecord).where(ArrivalRecord.stamp == waves.stamp)):
                    arrival.offered_at -= 1

    with monkeypatch.context() as patch:
        patch.setattr(arrivals, "keep", meanwhile)
        shop.vacuum(0)
    with shop.engine._catalog.look() as db:
        assert list(db.exec(select(RewriteRecord.stamp))) == stands != []
    arrivals.rewrite(shop.engine._catalog, shop.engine.store, shop.spark)
    with shop.engine._catalog.look() as db:
        assert not list(db.exec(select(RewriteRecord.stamp)))


def test_what_consumers_held_at_the_end_of_the_retention_is_known(shop: Shop) -> None:
    shop.clock.advance("30 days")
    shop.vacuum("7 days")
    assert shop.rows("sold", shop.clock.now() - 5 * DAY) == shop.rows("sold")
    assert shop.engine.provenance("sold", shop.clock.now() - 7 * DAY).to_dict()["consistent"]


def other_workflow(*, sold: bool) -> ol.Workflow:
    """The shop with another definition of its output, of as many pathways; or without it."""
    wf = ol.Workflow("shop")
    sales, names = wf.source("sales", "k string, n int"), wf.source("names", "k string, name string", key="k")
    if sold:
        wf.output(names.join("sold", names.map("known", lambda df: df.select("k")), on="k"))
    wf.output(sales.filter("all", "n > 0"))
    wf.bound_staleness("all", 0, 0)
    return wf


@pytest.mark.parametrize("sold", [True, False])
def test_what_is_not_defined_any_more_holds_nothing_back_and_may_come_again(shop: Shop, sold: bool) -> None:
    shop.engine.close()
    with Engine(other_workflow(sold=sold), str(shop.home), clock=shop.clock, spark=shop.spark, retention=0) as other:
        other.refresh("all")
        shop.clock.advance("1 day")
        other.vacuum(0)
    shop.open()
    assert len(shop.arrivals()) < 6
    assert shop.engine.status().outputs
    shop.engine.refresh()
    shop.check()


def test_a_retention_is_a_time_of_0_or_more(tmp_path: Path) -> None:
    wf = ol.Workflow("w")
    wf.source("s", "k string")
    for wrong, said in (("-1 day", "is below 0"), (-5, "is below 0"), ("soon", "not a duration")):
        with pytest.raises(ol.OlstonError, match=rf"retention: .*{said}"):
            Engine(wf, str(tmp_path), retention=wrong)
