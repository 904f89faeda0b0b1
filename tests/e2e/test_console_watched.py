"""The console on a fleet that a controller watches, in a real Chromium, light and dark."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.test_console_browser import SCREENSHOTS, visit
from tests.support.browser import WAIT_MS, browser, console, picture, press, require_chromium, settle, words
from tests.support.seen_fleet import CHAT, fill_watched

VIEWS = {
    "fleet": ("?window=15m", 8),
    "endpoint": (f"endpoint?cluster=prod-usw2&endpoint={CHAT}", 16),
    "admin": ("admin?", 0),
}
SAID = {
    "fleet": ("owners", "≠ strategy, L1", "oom chat", "rolls out revision 4"),
    "endpoint": ("≠ drift: 120 GiB configured", "routing changed", "oom …", "two routers answer"),
    "admin": ("not seen:", "▲ MemoryPressure", "2 nodes, 1 in trouble, 1 gone"),
}

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_chromium()
    home = tmp_path_factory.mktemp("watched")
    fill_watched(f"sqlite:///{home}/tierdeck.db", time.time(), seconds=1200)
    with console(f"sqlite:///{home}/tierdeck.db", home / "console.log") as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    require_chromium()
    with browser() as found:
        yield found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", list(VIEWS))
def test_a_watched_fleet_is_told_in_every_view(address: str, chromium: Browser, view: str, scheme: str) -> None:
    path, traces = VIEWS[view]
    page, watch = visit(chromium, f"{address}/{path}&freeze=1", scheme)
    page.locator("table, [data-testid=stDataFrame] canvas").first.wait_for(timeout=WAIT_MS)
    settle(page, traces)
    picture(page, SCREENSHOTS / f"{view}-watched-{scheme}.png")
    text = words(page)
    assert all(said in text for said in SAID[view]), [said for said in SAID[view] if said not in text]
    assert (watch.errors, watch.outside) == ([], [])
    page.close()


def test_a_link_to_an_endpoint_with_a_namespace_opens_it(address: str, chromium: Browser) -> None:
    page, _ = visit(chromium, f"{address}/?freeze=1")
    press(page.get_by_role("link", name="inference/rag"))
    page.get_by_text("Qwen2.5-32B").first.wait_for(timeout=WAIT_MS)
    assert "endpoint=inference%2Frag" in page.url or "endpoint=inference/rag" in page.url
    page.close()
