"""The port on which a process tells of itself: `/healthz` for whoever restarts it, its metrics everywhere else."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from prometheus_client import make_wsgi_app

from health.pulse import Pulse
from tierdeck.errors import UsageError
from tierdeck.settings import Settings


def serve(settings: Settings, pulse: Pulse) -> WSGIServer | None:
    """Serve until the process ends, or the server is shut down; None where the settings name no port.

    `/healthz` is 200 while every loop of the pulse comes round, and 503 with a sentence when one doesn't.

    Raises:
        UsageError: the port can't be had.
    """
    if not settings.metrics_port:
        return None
    address, port = settings.metrics_address, settings.metrics_port
    try:
        family = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0][0]
        kind = type("Server", (_Server,), {"address_family": family})
        server: WSGIServer = make_server(address, port, _app(pulse), kind, _Silent)
    except OSError as error:
        hint = "Set TIERDECK_METRICS_ADDRESS and TIERDECK_METRICS_PORT."
        raise UsageError(f"can't serve metrics on {address}:{port}: {error.strerror}", hint) from error
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def _app(pulse: Pulse) -> WSGIApplication:
    metrics: WSGIApplication = make_wsgi_app()

    def answer(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/healthz":
            return metrics(environ, start)
        trouble = pulse.trouble()
        start("503 Service Unavailable" if trouble else "200 OK", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{trouble or 'ok'}\n".encode()]

    return answer


class _Server(ThreadingMixIn, WSGIServer):
    """A request that hangs holds up neither the others nor the end of the process."""

    daemon_threads = True


class _Silent(WSGIRequestHandler):
    """Requests are not logged: they come every few seconds."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
        pass
