"""A small HTTP server that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Canned:
    """One reply. `is_held`: nothing comes until the test is over; `is_cut`: the connection ends instead of it."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    is_held: bool = False
    is_cut: bool = False


@dataclass(frozen=True)
class Asked:
    """One request: `target` is path and query as they came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def parameters(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.target).query).items()}


class Replies(ThreadingHTTPServer):
    """Gives the replies in turn, the last one for ever."""

    daemon_threads = True

    def __init__(self, replies: tuple[Canned, ...], handler: type[RepliesHandler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or RepliesHandler)
        self.replies = list(replies)
        self.asked: list[Asked] = []
        self.over = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


AnyReplies = TypeVar("AnyReplies", bound=Replies)


class RepliesHandler(BaseHTTPRequestHandler):
    """Answers from the server's list."""

    server: Replies
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append(Asked(self.command, self.path, dict(self.headers.items()), sent))
        replies = self.server.replies
        canned = replies.pop(0) if len(replies) > 1 else replies[0]
        if canned.is_held:
            self.server.over.wait()
        if canned.is_held or canned.is_cut:
            self.close_connection = True
            return
        body = canned.body.encode()
        self.send_response(canned.status)
        for name, value in {"Content-Length": str(len(body)), **canned.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Nothing: a test's output is its own."""


@contextlib.contextmanager
def replying(*replies: Canned) -> Iterator[Replies]:
    """The server, on a free loopback port."""
    with serving(Replies(replies)) as server:
        yield server


@contextlib.contextmanager
def serving(replies: AnyReplies) -> Iterator[AnyReplies]:
    """The same for a server that is made already."""
    with replies as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


def result(*series: object, **more: object) -> Canned:
    """A successful answer of a Prometheus with these series; `more` stands beside its data."""
    data = {"resultType": "vector", "result": list(series)}
    return Canned(body=json.dumps({"status": "success", **more, "data": data}))


def refusal(status: int, kind: str, words: str, **headers: str) -> Canned:
    """An error as a Prometheus tells it."""
    return Canned(status, json.dumps({"status": "error", "errorType": kind, "error": words}), headers)
