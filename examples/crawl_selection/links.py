"""The hyperlinks of a page."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urldefrag, urljoin, urlsplit

LONGEST = 2_000
"""Longer URLs are no links."""


def links_of(url: str, content: str | None) -> list[str]:
    """The URLs on the same site that the HTML `content` of `url` links to, each once, in order, without fragments."""
    reader = _Anchors()
    reader.feed(content or "")
    home, found = urlsplit(url), dict[str, None]()
    for href in reader.hrefs:
        try:
            link = urldefrag(urljoin(url, href.strip())).url
            parts = urlsplit(link)
        except ValueError:  # such as an unfinished IPv6 address
            continue
        if (parts.scheme, parts.netloc) == (home.scheme, home.netloc) and link != url and len(link) <= LONGEST:
            found[link if parts.path else f"{link}/"] = None
    return list(found)


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.hrefs += [value for name, value in attrs if name == "href" and value]
