"""The fetch queue as the fetching service holds it: what the feed said, less what was fetched since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from olston.examples.crawl_selection.fetcher import Fetch
from olston.subscription import Subscription

if TYPE_CHECKING:
    from pyspark.sql import Row

HOUR = 3_600_000_000
DAY = 24 * HOUR


@dataclass(frozen=True)
class Request:
    """A row of the queue: fetch `url` later than `after`, in microseconds."""

    url: str
    job: str
    worth: float
    after: int | None


class Queue:
    """Reads a feed from where it left off, and knows which requests are met.

    A request is met by any answer later than its `after`. A URL that did not answer rests, an hour at first and then
    twice as long each time.
    """

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self.cursor = 0
        """The number of the last block that was read."""
        self._requests = Counter(requests)
        self._answered: dict[str, int] = {}
        self._resting: dict[str, tuple[int, int]] = {}

    def read(self, feed: Subscription) -> None:
        """Take the blocks that are new: a base is all there is, a delta adds and takes away."""
        for given in feed.after(self.cursor):
            rows = given.rows.collect()
            if given.block.is_base:
                self._requests = Counter(map(_request, rows))
            else:
                self._requests.update({_request(row): row["_weight"] for row in rows})
            self.cursor = given.number

    def next(self, most: int, now: int) -> list[str]:
        """At most so many URLs to be fetched now: what never was fetched, then in turn one of each job; of each the
        worthiest first."""
        jobs: dict[str, list[Request]] = {}
        for request, times in self._requests.items():
            if times > 0 and not self._met(request) and self._resting.get(request.url, (0, 0))[1] <= now:
                jobs.setdefault(request.job, []).append(request)
        ranked = [sorted(jobs[job], key=lambda r: (-r.worth, r.url)) for job in sorted(jobs)]
        turns = chain.from_iterable(zip_longest(*ranked))
        wanted = sorted((r for r in turns if r is not None), key=lambda r: r.after is not None)
        return list(dict.fromkeys(r.url for r in wanted))[:most]

    def fetched(self, fetches: Iterable[Fetch]) -> None:
        """Remember what was fetched."""
        for fetch in fetches:
            if fetch.answered:
                self._answered[fetch.url] = fetch.time
                self._resting.pop(fetch.url, None)
            else:
                tried = self._resting.get(fetch.url, (0, 0))[0] + 1
                self._resting[fetch.url] = tried, fetch.time + HOUR * 2 ** (tried - 1)

    def _met(self, request: Request) -> bool:
        answered = self._answered.get(request.url)
        return answered is not None and (request.after is None or answered > request.after)


def _request(row: Row) -> Request:
    after = row["after"]
    return Request(row["url"], row["job"], row["worth"], None if after is None else round(after.timestamp() * 1e6))
