"""A stand-in for LMCache's coordinator: its quotas, answered as `quota_api.py` of LMCache 0.5.6 does."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


class QuotaServer:
    """Quotas by salt, in GiB.

    Attributes:
        asked: method and path of each request.
        status: of every answer; 200: it does what it is asked.
    """

    def __init__(self) -> None:
        self.limits: dict[str, float] = {}
        self.asked: list[str] = []
        self.status = 200
        self.address = ""

    def answer(self, method: str, path: str, body: dict[str, object]) -> dict[str, object]:
        self.asked.append(f"{method} {path}")
        salt = unquote(path.removeprefix("/quota/"))
        own = "" if salt == "_default" else salt
        if method == "PUT":
            limit = body["limit_gb"]
            assert isinstance(limit, int | float)
            assert body["tier"] == "l2"
            self.limits[own] = limit
            return {"cache_salt": own, "limit_gb": limit, "status": "ok", "tier": "l2"}
        if method == "DELETE":
            removed = self.limits.pop(own, None) is not None
            return {"cache_salt": own, "limit_gb": 0.0, "status": "removed" if removed else "not_found", "tier": "l2"}
        limit = self.limits.get(own, 0.0)
        exists = own in self.limits
        return {"cache_salt": own, "quota_limit_gb": limit, "quota_exists": exists, "usage_gb": 0.5, "tier": "l2"}


@contextmanager
def quota_server() -> Iterator[QuotaServer]:
    """On a free port of loopback."""
    quotas = QuotaServer()

    class Handler(BaseHTTPRequestHandler):
        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length) or b"{}")
            status = 404 if "/" in unquote(self.path.removeprefix("/quota/")) else quotas.status
            found = quotas.answer(self.command, self.path, body) if status == 200 else {"error": "no"}
            sent = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_PUT = do_DELETE = _do  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    quotas.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield quotas
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
