"""A real HTTP server on loopback that serves a site at the time of a clock."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from olston.clock import Clock
from olston.examples.crawl_selection.sites import Site


@contextmanager
def serve(site: Site, clock: Clock) -> Iterator[str]:
    """Serves `site` on a free port until the end of the block; gives its address, without a slash at the end."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keeps connections
        disable_nagle_algorithm = True  # a body follows its headers at once

        def do_GET(self) -> None:
            answer = site.get(urlsplit(self.path).path, clock.now())
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.type)
            self.send_header("Content-Length", str(len(answer.body)))
            if answer.location is not None:
                self.send_header("Location", answer.location)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True  # a connection that is kept must not keep the process

        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exception(), ConnectionError):  # a client that went away is no error
                super().handle_error(request, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
