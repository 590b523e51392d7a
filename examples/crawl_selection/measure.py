"""How good a crawled copy is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from olston.examples.crawl_selection.fetcher import Fetch
from olston.examples.crawl_selection.sites import Site


@dataclass
class Copy:
    """The pages that a crawler holds, by URL: what each said when it was last fetched. Those that are gone leave."""

    pages: dict[str, str] = field(default_factory=dict)
    fetches: int = 0

    def take(self, fetches: Iterable[Fetch]) -> None:
        for fetch in fetches:
            self.fetches += 1
            if fetch.content is not None:
                self.pages[fetch.url] = fetch.content
            elif fetch.answered:
                self.pages.pop(fetch.url, None)


@dataclass(frozen=True)
class Measure:
    """A copy against the site at one moment.

    `coverage` is the share of the pages that exist that are in the copy, `freshness` the share of the copy that says
    what is there, and `current` the share of the pages that exist that the copy has as they are.
    """

    fetches: int
    coverage: float
    freshness: float
    current: float


def measure(copy: Copy, site: Site, home: str, now: int) -> Measure:
    """Looks at the site itself, not through HTTP: measuring is no crawling."""
    exist = site.pages(now)
    held = {url.removeprefix(home): content for url, content in copy.pages.items()}
    fresh = {path for path, content in held.items() if _says(site, path, now) == content}
    return Measure(
        copy.fetches,
        coverage=len(exist & held.keys()) / max(1, len(exist)),
        freshness=len(fresh) / max(1, len(held)),
        current=len(exist & fresh) / max(1, len(exist)),
    )


def _says(site: Site, path: str, now: int) -> str | None:
    answer = site.get(path, now)
    return answer.body.decode(errors="replace") if answer.status == 200 else None
