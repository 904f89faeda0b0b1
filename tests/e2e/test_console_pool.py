"""The L2 pool view in a real Chromium: dark and wide, light and narrow; a click chooses another pool."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.e2e.test_console_browser import SCREENSHOTS, visit
from tests.support.browser import WAIT_MS, browser, console, picture, require_chromium, settle, words
from tests.support.pool_store import MAIN, SPARE, fill_pools

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require_chromium()
    home = tmp_path_factory.mktemp("pools")
    fill_pools(f"sqlite:///{home}/tierdeck.db", time.time() // 60 * 60)
    with console(f"sqlite:///{home}/tierdeck.db", home / "console.log") as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    require_chromium()
    with browser() as found:
        yield found


def test_a_pool_is_drawn_dark_and_narrow_and_another_one_is_a_click_away(address: str, chromium: Browser) -> None:
    for scheme, width in (("dark", 1440), ("light", 420)):
        page, watch = visit(chromium, f"{address}/pool?window=1h&freeze=1&pool={MAIN}", scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.locator("[data-testid=stDataFrame] canvas").first.wait_for(timeout=WAIT_MS)
        settle(page, 7)  # three lines, an area and the forecast; two lines
        picture(page, SCREENSHOTS / f"pool-{scheme}-{width}.png")
        text = words(page)
        for said in ("MiB/s net written", "at the last hour's pace", "✕ hung", "5 EIO, 1 ENOSPC", "72 orphan chunks"):
            assert said in text, said
        assert not re.search(r"\b(nan|NaN|None|undefined|Traceback)\b", text)
        assert (watch.errors, watch.outside) == ([], [])
        if width < 500:
            page.get_by_test_id("stSelectbox").click(timeout=WAIT_MS)
            page.get_by_role("option", name=SPARE).click(timeout=WAIT_MS)
            page.wait_for_url(re.compile(f"pool={SPARE}"), timeout=WAIT_MS)
            page.get_by_text("w-1 is lost").first.wait_for(timeout=WAIT_MS)
        page.close()
