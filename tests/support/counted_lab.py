"""The simulated fleet as a process of its own, behind a counter of what is written to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

from tests.support.scraped import running_lab

_SECONDS = 60.0


@dataclass
class CountedLab:
    """Where it is, and every POST with its body, in order."""

    url: str
    posts: list[tuple[str, dict[str, object]]] = field(default_factory=list)

    def strategy(self, endpoint: str) -> str:
        found = requests.get(f"{self.url}/admin", timeout=_SECONDS).json()
        return str(found["endpoints"][endpoint]["strategy"])


@contextmanager
def counted_lab(folder: Path) -> Iterator[CountedLab]:
    """Ended with the block."""
    with running_lab(folder) as inner:
        lab = CountedLab("")
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(inner.address, lab))
        lab.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield lab
        finally:
            server.shutdown()
            server.server_close()
            thread.join(_SECONDS)


def _handler(inner: str, lab: CountedLab) -> type[BaseHTTPRequestHandler]:
    class Forward(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(requests.get(inner + self.path, timeout=_SECONDS))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            lab.posts.append((self.path, json.loads(body)))
            headers = {"Content-Type": "application/json"}
            self._answer(requests.post(inner + self.path, data=body, headers=headers, timeout=_SECONDS))

        def _answer(self, answer: requests.Response) -> None:
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
            """Nothing is printed."""

    return Forward
