"""A real Chromium and a real console for tests and benchmarks: one server and one browser per run."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
WAIT_MS = 180_000
_TRIES = 20
_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PATIENT = {"TIERDECK_SCRAPE_INTERVAL_SECONDS": "250"}
"""What was written before the server started stays fresh until the last test."""
PAINTED = "(least) => document.querySelectorAll('.js-plotly-plot .cartesianlayer .trace').length >= least"
"""True once the page's Plotly charts have drawn at least so many traces."""


_NO_PLACEHOLDERS = "() => document.querySelectorAll('[data-testid=stSkeleton]').length === 0"
_HEIGHT = "() => Math.max(900, 10 + (document.querySelector('[data-testid=stMain]') || document.body).scrollHeight)"
_PROBE = re.compile(r"/[^/]+/_stcore/(health|host-config)$")
"""On a view's own address Streamlit first asks whether the server lies beneath it: 404 is the expected answer."""


@dataclass  # no slots: Playwright keeps its own attribute on the owner of a handler
class Watch:
    """What a page did that it must not do."""

    errors: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def follow(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._on_request)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not _PROBE.search(message.location.get("url", "")):
            self.errors.append(message.text)

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in ("127.0.0.1", "localhost"):
            self.outside.append(request.url)


def require_chromium() -> None:
    """Skip in one line where there is no browser; fail where everything is required."""
    if CHROMIUM.exists():
        return
    if os.environ.get("TIERDECK_REQUIRE_ALL") == "1":
        pytest.fail(f"{CHROMIUM} is missing, and TIERDECK_REQUIRE_ALL=1")
    pytest.skip(f"{CHROMIUM} is missing")


@contextmanager
def browser() -> Iterator[Browser]:
    """Debian's Chromium, headless."""
    with sync_playwright() as playwright:
        expect.set_options(timeout=WAIT_MS)
        found = playwright.chromium.launch(executable_path=str(CHROMIUM), headless=True, args=list(_FLAGS))
        try:
            yield found
        finally:
            found.close()


@contextmanager
def served(command: list[str], health: str, environment: Mapping[str, str], log: Path) -> Iterator[str]:
    """A server of ours as a child; yields its address once `health` answers, and ends it.

    Args:
        command: arguments for this interpreter; `{port}` becomes a free port.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    arguments = [sys.executable, *(part.format(port=port) for part in command)]
    with log.open("wb") as output:
        process = subprocess.Popen(arguments, env={**os.environ, **environment}, stdout=output, stderr=output)
        try:
            _await(f"{address}{health}", process, log)
            yield address
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def console(url: str, log: Path, environment: Mapping[str, str] = _PATIENT) -> Iterator[str]:
    """The console on a store."""
    environment = {"TIERDECK_DATABASE_URL": url, **environment}
    with served(["-m", "console.web", "--port", "{port}"], "/_stcore/health", environment, log) as address:
        yield address


def settle(page: Page, least_traces: int) -> None:
    """Wait until the charts are painted and nothing is a placeholder any more."""
    page.wait_for_function(PAINTED, arg=least_traces, timeout=WAIT_MS)
    page.wait_for_function(_NO_PLACEHOLDERS, timeout=WAIT_MS)


def press(target: Locator) -> None:
    """Click what is there once: while Streamlit draws anew, an old copy can stand beside it for a moment."""
    for _ in range(_TRIES):
        expect(target).to_have_count(1, timeout=WAIT_MS)
        try:
            target.click(timeout=WAIT_MS)
        except Error as error:
            if "strict mode violation" not in str(error):
                raise
        else:
            return
    raise AssertionError(f"{target} never stood there alone")


def picture(page: Page, path: Path) -> None:
    """The whole view: Streamlit scrolls within the page, so the window grows to what it holds."""
    width = (page.viewport_size or {"width": 1440})["width"]
    page.set_viewport_size({"width": width, "height": int(page.evaluate(_HEIGHT))})
    page.wait_for_timeout(1000)  # the charts are laid out anew
    path.parent.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=path)


def words(page: Page) -> str:
    """All text of the page, that in charts and tables included."""
    parts = page.locator("body, .js-plotly-plot svg text, [data-testid=stDataFrame] table").all_text_contents()
    return " ".join(parts)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends_at = time.monotonic() + 60
    while time.monotonic() < ends_at:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended at once: {log.read_text()[-2000:]}")
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"{address} did not answer within a minute: {log.read_text()[-2000:]}")
