"""Answers in place of any HTTPS host: a proxy that ends the TLS itself, with certificates of a test's own authority.

So a library that knows its service's address by heart is heard without changing it: `HTTPS_PROXY` leads here, and
`REQUESTS_CA_BUNDLE` names the authority.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path

from tests.support.http_replies import Canned, Replies, RepliesHandler, serving


class Elsewhere(Replies):
    """`hosts` are those that were asked for, in turn; `asked` what they were asked."""

    def __init__(self, replies: tuple[Canned, ...], certificates: Path) -> None:
        super().__init__(replies, _Tunnel)
        self.hosts: list[str] = []
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(certificates / "server.pem", certificates / "server.key")


class _Tunnel(RepliesHandler):
    server: Elsewhere

    def do_CONNECT(self) -> None:
        self.server.hosts.append(self.path)
        self.send_response_only(200)
        self.end_headers()
        self.connection = self.server.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self.close_connection = False

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        with contextlib.suppress(OSError):
            self.connection.close()


@contextlib.contextmanager
def answering_elsewhere(certificates: Path, *replies: Canned) -> Iterator[Elsewhere]:
    """The proxy, on a free loopback port."""
    with serving(Elsewhere(replies, certificates)) as server:
        yield server
