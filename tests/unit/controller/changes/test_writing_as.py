"""In whose name something is written, and where pages of pods come from."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from controller.api.client import Person
from controller.changes.changer import DeniedError
from controller.changes.kube.fetching import fetch
from controller.changes.kube.writer import as_person


def test_a_person_is_named_as_they_are() -> None:
    assert as_person("ann@example.org") == Person("ann@example.org")


@pytest.mark.parametrize(
    "name",
    ["", "system:kube-controller-manager", "System:admin", "ann\r\nImpersonate-Group: system:masters", " ann", "Łuk"],
)
def test_nothing_is_written_in_the_name_of_what_is_no_person(name: str) -> None:
    with pytest.raises(DeniedError, match="name"):
        as_person(name)


class Redirecting(BaseHTTPRequestHandler):
    """Sends everybody from `/health` to `/secret`."""

    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/health" else 200)
        self.send_header("Location", "/secret")
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def test_a_redirect_is_not_followed() -> None:
    with HTTPServer(("127.0.0.1", 0), Redirecting) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            address = f"http://127.0.0.1:{server.server_port}"
            assert fetch(f"{address}/page") == b"page"
            assert fetch(f"{address}/health") is None
        finally:
            server.shutdown()
            thread.join()
