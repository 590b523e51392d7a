"""The fetching service: polite, bounded, and never away from the site that it was given.

It tells of every fetch the (url, time, status, content) of the paper; content is null unless a page came. What the
fetcher itself declines has the status with which a server would have declined it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import httpx

from olston.clock import Clock

NO_ANSWER = 0
"""No connection, no answer in time, or one that was broken off."""
FORBIDDEN = 403
"""Also of what robots.txt forbids, and of what is on another site: neither is asked for."""
TOO_LARGE = 413
NOT_HTML = 415
BUSY = (429, 503)
"""Answers that ask us to come back later."""


@dataclass(frozen=True)
class Fetch:
    """One row of the source `fetches`; `time` in microseconds by the clock."""

    url: str
    time: int
    status: int
    content: str | None = None

    @property
    def answered(self) -> bool:
        """Whether the site said something of the page: that is what `successful_fetches` keeps."""
        return 200 <= self.status <= 499 and self.status not in BUSY


@dataclass(frozen=True)
class Manners:
    """How the fetcher behaves: seconds between two requests, how many at a time, how long and how large at most."""

    agent: str = "olston-crawl/0.1 (example of crawl selection)"
    delay: float = 1.0
    together: int = 2
    timeout: float = 10.0
    largest: int = 1_000_000
    redirects: int = 3


class Fetcher:
    """Fetches pages of the one site at `home`, such as `http://127.0.0.1:8000`."""

    def __init__(self, home: str, clock: Clock, manners: Manners | None = None) -> None:
        self._home, self._clock, self._manners = home.rstrip("/"), clock, manners or Manners()
        self._client = httpx.Client(
            headers={"User-Agent": self._manners.agent, "Accept": "text/html"},
            timeout=self._manners.timeout,
            limits=httpx.Limits(max_connections=self._manners.together),
            trust_env=False,  # no proxy stands between us and this machine
        )
        self._turn, self._next = threading.Lock(), 0.0
        self._robots: RobotFileParser | None = None
        self._robots_at = 0
        self._busy = threading.Event()

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def fetch(self, urls: Iterable[str]) -> list[Fetch]:
        """All of `urls`, in their order; a redirect is told as a fetch of its own, before that of where it leads.

        When the site says that it is busy, what was not begun yet is left out.
        """
        wanted = list(dict.fromkeys(urls))
        self._busy.clear()
        self._look_at_robots()
        with ThreadPoolExecutor(self._manners.together, thread_name_prefix="fetch") as pool:
            return [fetch for found in pool.map(lambda url: list(self._follow(url)), wanted) for fetch in found]

    def _follow(self, url: str) -> Iterator[Fetch]:
        for _ in range(self._manners.redirects + 1):
            if self._busy.is_set():
                return
            if not self._may(url):
                yield Fetch(url, self._clock.now(), FORBIDDEN)
                return
            fetch, leads = self._ask(url)
            yield fetch
            if leads is None:
                return
            url = urljoin(url, leads)

    def _may(self, url: str) -> bool:
        assert self._robots is not None
        return _site(url) == _site(self._home) and self._robots.can_fetch(self._manners.agent, url)

    def _ask(self, url: str) -> tuple[Fetch, str | None]:
        """One request: what came of it, and where it leads if it is a redirect."""
        status, content, leads = NO_ANSWER, None, None
        with suppress(httpx.HTTPError, httpx.InvalidURL):
            status, content, leads = self._request(url)
        if status in BUSY:
            self._busy.set()
        return Fetch(url, self._clock.now(), status, content), leads

    def _request(self, url: str) -> tuple[int, str | None, str | None]:
        self._wait()
        deadline = time.monotonic() + self._manners.timeout
        with self._client.stream("GET", url) as response:
            if response.is_redirect:
                return response.status_code, None, response.headers["Location"]
            if response.status_code != 200:
                return response.status_code, None, None
            if "html" not in response.headers.get("Content-Type", ""):
                return NOT_HTML, None, None
            body = bytearray()
            for part in response.iter_bytes(16_384):
                body += part
                if len(body) > self._manners.largest:
                    return TOO_LARGE, None, None
                if time.monotonic() > deadline:  # httpx's own limit is one for each part
                    return NO_ANSWER, None, None
            return 200, body.decode(response.encoding or "utf-8", errors="replace"), None

    def _wait(self) -> None:
        """Until it is polite to ask again."""
        with self._turn:
            now = time.monotonic()
            at = max(now, self._next)
            self._next = at + self._delay
        time.sleep(at - now)

    @property
    def _delay(self) -> float:
        asked = self._robots.crawl_delay(self._manners.agent) if self._robots is not None else None
        return max(self._manners.delay, float(asked or 0))

    def _look_at_robots(self) -> None:
        """Reads robots.txt at first and once a day: without one all is allowed, without an answer nothing."""
        now = self._clock.now()
        if self._robots is not None and now - self._robots_at < 86_400_000_000:
            return
        robots, lines = RobotFileParser(), ["User-agent: *", "Disallow: /"]
        with suppress(httpx.HTTPError):
            self._wait()
            response = self._client.get(f"{self._home}/robots.txt")
            if response.status_code < 500:
                lines = response.text.splitlines() if response.status_code == 200 else []
        robots.parse(lines)
        robots.modified()
        self._robots, self._robots_at = robots, now


def _site(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc
