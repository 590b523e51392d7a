"""The plain crawler to compare with: breadth first from the seeds, and when that is done, once more."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from olston.examples.crawl_selection.fetcher import Fetch, Fetcher
from olston.examples.crawl_selection.links import links_of
from olston.examples.crawl_selection.measure import Copy


class BreadthFirst:
    """Fetches every page that it finds once a round, in the order in which it finds them."""

    def __init__(self, fetcher: Fetcher, seeds: Sequence[str]) -> None:
        self._fetcher, self._seeds = fetcher, seeds
        self._waiting: deque[str] = deque()
        self._found: set[str] = set()
        self.copy = Copy()
        self.rounds = 0

    def crawl(self, fetches: int) -> None:
        """So many fetches, if there are so many pages to fetch."""
        left = fetches
        while left > 0:
            if not self._waiting and not self._begin():
                return
            done = self._some(left)
            if not done:
                return
            left -= len(done)

    def round(self) -> list[Fetch]:
        """All that can be found, once."""
        done: list[Fetch] = []
        self._begin()
        while self._waiting and (some := self._some(len(self._waiting))):
            done += some
        return done

    def _some(self, most: int) -> list[Fetch]:
        done = self._fetcher.fetch([self._waiting.popleft() for _ in range(min(most, len(self._waiting)))])
        self.copy.take(done)
        for fetch in done:
            self._find(links_of(fetch.url, fetch.content))
        return done

    def _begin(self) -> bool:
        self.rounds += 1
        self._found.clear()
        self._find(self._seeds)
        return bool(self._waiting)

    def _find(self, urls: Sequence[str]) -> None:
        new = [u for u in urls if u not in self._found]
        self._found.update(new)
        self._waiting += new
