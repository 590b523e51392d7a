"""The third contender: what an expert writes by hand, incremental jobs of appends and MERGE for one workflow each.

They are as lean as we could make them, and promise little: who kills one in the middle of a wave has to find out by
hand what was done; nobody knows which snapshots a row reflects; nothing decides when it is time for a repair.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olston.examples.search_preprocessing.workflow import digest, score
from tests.benchmarks.contenders.raw import Raw, append, overwrite, read
from tests.benchmarks.contenders.scenario import WEIGHT, Contender, Scenario, Wave, load
from tests.benchmarks.contenders.tpch import revenue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Expert(ABC):
    """The parts that all of them share."""

    name, strict = "expert, synchronous", True

    def __init__(self, session: SparkSession, scenario: Scenario, folder: Path) -> None:
        self._session, self._scenario, self._folder = session, scenario, folder
        self._raw, self._output = Raw(session, scenario, folder / "raw"), folder / "output"

    def begin(self) -> None:
        overwrite(self._scenario.batch(self._raw.frames()), self._output)

    @abstractmethod
    def wave(self, wave: Wave) -> None: ...

    def repair(self) -> None:  # noqa: B027
        """Nothing is ever broken."""

    def output(self) -> DataFrame:
        return read(self._session, self._output)

    def close(self) -> None:  # noqa: B027
        """Nothing is open."""

    def _load(self, wave: Wave, source: str) -> DataFrame:
        return load(self._session, self._scenario, source, wave[source])

    def _table(self, path: Path) -> Any:
        from delta.tables import DeltaTable

        return DeltaTable.forPath(self._session, str(path)).alias("t")


class SearchSync(Expert):
    """New pages meet the scores there are; a click changes the rows of all pages of its site at once."""

    def begin(self) -> None:
        frames = self._raw.frames()
        overwrite(frames["clicks"].distinct(), self._folder / "pairs")
        pairs = read(self._session, self._folder / "pairs")
        overwrite(pairs.groupBy("site").count().withColumnRenamed("count", "users"), self._folder / "counts")
        self._compute()

    def wave(self, wave: Wave) -> None:
        self._raw.take(wave)
        if "pages" in wave:
            append(self._joined(self._load(wave, "pages")), self._output)
        else:
            self._clicks(wave)

    def _joined(self, pages: DataFrame) -> DataFrame:
        scores = score(read(self._session, self._folder / "counts"))
        return digest(pages).join(scores, "site").select("url", "site", "digest", "score")  # type: ignore[no-any-return]

    def _compute(self) -> None:
        overwrite(self._joined(self._raw.frames()["pages"]), self._output)

    def _clicks(self, wave: Wave) -> None:
        from pyspark.sql import functions as F

        touched = self._count(wave)
        changed = F.broadcast(score(touched)).alias("s")
        merged = self._table(self._output).merge(changed, "t.site = s.site")
        merged.whenMatchedUpdate(set={"score": "s.score"}).execute()
        first = [row.site for row in touched.where("users = added").collect()]
        if first:  # sites that had no score, so that their pages were not there
            pages = self._raw.frames()["pages"]
            append(self._joined(pages.where(F.col("site").isin(first))), self._output)

    def _count(self, wave: Wave) -> DataFrame:
        """Bring the counts up to date; the sites touched with their new counts and by how many these grew."""
        from pyspark.sql import functions as F

        pairs = read(self._session, self._folder / "pairs")
        offered = self._load(wave, "clicks").distinct()
        known = pairs.join(F.broadcast(offered), ["user", "site"], "left_semi")
        # not persist(): what Spark drops from a cache it computes again, and then nothing would be new any more
        new = offered.join(known, ["user", "site"], "left_anti").localCheckpoint()
        append(new, self._folder / "pairs")
        added = new.groupBy("site").agg(F.count("*").alias("added"))
        users = F.coalesce("users", F.lit(0)) + F.coalesce("added", F.lit(0))
        # twenty thousand rows: to write them anew takes less than a MERGE
        grown = read(self._session, self._folder / "counts").join(added, "site", "full_outer")
        grown = grown.select("site", users.alias("users"), "added").coalesce(1).localCheckpoint()
        overwrite(grown.drop("added"), self._folder / "counts")
        return grown.where("added IS NOT NULL")


class SearchAsync(SearchSync):
    """Clicks change the scores only; rows that are there keep the score they met until a repair."""

    name, strict = "expert, asynchronous", False

    def _clicks(self, wave: Wave) -> None:
        self._count(wave)

    def repair(self) -> None:
        self._compute()


class FeedbackSync(Expert):
    """Everything goes out at once."""

    def wave(self, wave: Wave) -> None:
        self._raw.take(wave)
        append(self._load(wave, "searches"), self._output)


class FeedbackAsync(FeedbackSync):
    """What is about news goes out at once, the others when they are asked for."""

    name, strict = "expert, asynchronous", False

    def begin(self) -> None:
        super().begin()
        self._waiting = list[Wave]()

    def wave(self, wave: Wave) -> None:
        self._raw.take(wave)
        self._waiting.append(wave)
        append(self._load(wave, "searches").where("has_news"), self._output)

    def repair(self) -> None:
        paths = [str(wave["searches"]) for wave in self._waiting]
        schema = self._scenario.sources["searches"].offered
        append(self._session.read.schema(schema).parquet(*paths).where("NOT has_news"), self._output)
        self._waiting.clear()


class TpchSync(Expert):
    """Orders come and go with all their items, which an expert knows: only what is new is joined with what is new."""

    def wave(self, wave: Wave) -> None:
        from pyspark.sql import functions as F

        self._raw.take(wave)
        items, orders = self._load(wave, "lineitem"), self._load(wave, "orders").drop(WEIGHT)
        joined = items.join(orders, "orderkey")
        weighted = (
            revenue(joined.where(f"{WEIGHT} > 0"))
            .withColumn(WEIGHT, F.lit(1))
            .unionByName(revenue(joined.where(f"{WEIGHT} < 0")).withColumn(WEIGHT, F.lit(-1)))
        )
        changes = weighted.groupBy("o_orderdate").agg(
            F.sum(F.expr(f"amount * {WEIGHT}")).alias("revenue"),
            F.sum(F.expr(f"quantity * {WEIGHT}")).alias("quantity"),
            F.sum(WEIGHT).alias("items"),
        )
        merged = self._table(self._output).merge(F.broadcast(changes).alias("s"), "t.o_orderdate = s.o_orderdate")
        merged = merged.whenMatchedDelete("t.items + s.items = 0")
        merged = merged.whenMatchedUpdate(set={c: f"t.{c} + s.{c}" for c in ("revenue", "quantity", "items")})
        merged.whenNotMatchedInsertAll().execute()


EXPERTS: dict[str, tuple[Callable[[SparkSession, Scenario, Path], Contender], ...]] = {
    "search": (SearchSync, SearchAsync),
    "feedback": (FeedbackSync, FeedbackAsync),
    "tpch": (TpchSync,),
}
