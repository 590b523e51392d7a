"""A web that changes with time: pages appear, change at different rates, and vanish."""

from __future__ import annotations

import random
from bisect import bisect_right
from dataclasses import dataclass, field
from html import escape

from olston.examples.crawl_selection.sites import Answer

HOUR = 3_600_000_000
"""In microseconds, as all times here."""
MEANS = (12, 48, 168, 720, 8_760)
"""Mean hours between two changes of a page, from half a day to a year; of a fifth of the pages each."""
LINKS = 6
"""Links of a page to older ones."""
NEW = 0.15
"""The share of pages that appear while the web is looked at; all others are there at its start."""
VANISHING = 0.1
"""The share of pages that vanish meanwhile. Nothing is reached through these alone."""
PRIVATE = "/private/"
"""What robots.txt forbids."""
WORDS = ("crawl", "fetch", "queue", "page", "link", "digest", "delta", "base", "fresh", "stale", "bound", "wave")


@dataclass
class Page:
    """A page: `edits` are the times at which its content changed, in order, the first of them its birth.

    At an edit its links become those of `links` that exist then. So a link to a page that vanished stays until the
    next edit, and a new page is linked to by the one that was edited for it.
    """

    path: str
    edits: list[int]
    gone: int | None = None
    links: list[Page] = field(default_factory=list, repr=False)

    def exists(self, now: int) -> bool:
        return self.edits[0] <= now and (self.gone is None or now < self.gone)

    def html(self, now: int) -> str:
        """What it says at `now`."""
        version = bisect_right(self.edits, now)
        edited, draw = self.edits[version - 1], random.Random(f"{self.path} {version}")
        anchors = [f'<li><a href="{escape(p.path)}">{escape(p.path)}</a></li>' for p in self.links if p.exists(edited)]
        title, text = escape(self.path), " ".join(draw.choices(WORDS, k=120))
        lines = ["<!doctype html>", f"<title>{title}</title>", f"<p>Version {version}: {text}</p>", "<ul>", *anchors]
        return "\n".join([*lines, "</ul>", ""])


class Web:
    """`size` pages over `hours` from `start`; the same arguments give the same web, whoever asks when.

    Pages are linked to by preferential attachment: who is linked to often will be more often. All that exist can be
    reached from `/`, which never vanishes.
    """

    def __init__(self, seed: int = 0, size: int = 600, start: int = 0, hours: float = 672) -> None:
        draw, end = random.Random(seed), start + int(hours * HOUR)
        root = Page("/", [start])
        pages, lasting, chosen = [root], [root], [root]
        births = sorted(draw.uniform(start, end) for _ in range(int(size * NEW)))
        for i, born in enumerate([start] * (size - len(births) - 1) + [int(b) for b in births], 1):
            page, parent = Page(f"/{draw.choice(WORDS)}/{i}.html", [born]), draw.choice(lasting)
            parent.links.append(page)
            parent.edits.append(born)
            page.links += {id(p): p for p in draw.choices(chosen, k=LINKS)}.values()
            chosen += [*page.links, page]
            pages.append(page)
            if draw.random() < VANISHING:
                page.gone = int(draw.uniform(born, end)) + HOUR
            else:
                lasting.append(page)
        for page in pages:
            page.edits = sorted({*page.edits, *_changes(draw, page.edits[0], end)})
        root.links.append(Page(f"{PRIVATE}notes.html", [start]))
        self._pages = {p.path: p for p in (*pages, root.links[-1])}

    def pages(self, now: int) -> set[str]:
        """The paths that exist at `now`, but for what robots.txt forbids."""
        return {p.path for p in self._pages.values() if p.exists(now) and not p.path.startswith(PRIVATE)}

    def get(self, path: str, now: int) -> Answer:
        if path == "/robots.txt":
            return Answer(200, f"User-agent: *\nDisallow: {PRIVATE}\n".encode(), "text/plain")
        page = self._pages.get(path)
        if page is None or not page.exists(now):
            return Answer(404)
        return Answer(200, page.html(now).encode())


def _changes(draw: random.Random, born: int, end: int) -> list[int]:
    """A Poisson process by one of `MEANS`, from birth to end."""
    mean, found, at = draw.choice(MEANS), list[int](), float(born)
    while (at := at + draw.expovariate(1 / (mean * HOUR))) < end:
        found.append(int(at))
    return found
