"""`python -m console.web`: serve the web console until SIGTERM or Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Iterator

import structlog
import uvicorn

from console.web.app import create_app
from tierdeck.command_line import Parser
from tierdeck.errors import TierdeckError, UsageError
from tierdeck.log import configure
from tierdeck.settings import load_settings

_log = structlog.get_logger()
_STOP_SECONDS = 3


class _Server(uvicorn.Server):
    """Ends on a signal with exit code 0, where uvicorn would raise the signal once more."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield


def main() -> int:
    """The exit code."""
    parser = Parser(prog="python -m console.web", description=__doc__)
    parser.add_argument("--port", type=int, help="TCP port; 0: any free one (default: TIERDECK_CONSOLE_PORT)")
    parser.add_argument("--address", help="address to listen on (default: TIERDECK_CONSOLE_ADDRESS)")
    wanted = parser.parse_args()
    try:
        settings = load_settings()
        configure("console", settings.log_level)
        address = wanted.address or settings.console_address
        port = settings.console_port if wanted.port is None else wanted.port
        asyncio.run(_serve(_listen(address, port)))
    except TierdeckError as error:
        sys.stderr.write(f"tierdeck: {error.line()}\n")
        return error.exit_code
    return 0


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except OSError as error:
        listener.close()
        hint = "Choose another port with --port or TIERDECK_CONSOLE_PORT."
        raise UsageError(f"can't listen on {address}:{port}: {error.strerror}", hint) from error
    return listener


async def _serve(listener: socket.socket) -> None:
    config = uvicorn.Config(
        create_app(), log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=_STOP_SECONDS
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.05)
    if server.started and not server.should_exit:  # told to stop while it started, it has closed its socket
        host, port = listener.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        _log.info(f"console listening at http://{shown}:{port}", address=host, port=port)
    await serving


if __name__ == "__main__":
    sys.exit(main())
