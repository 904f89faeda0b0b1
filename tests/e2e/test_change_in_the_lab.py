"""One click on the Routing view changes the simulated fleet, is followed to its end with the proof, and taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Watch, browser, require_chromium
from tests.support.deck import Deck, tokens, up
from tests.support.processes import wait_until

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
OTHERS = {"roundrobin": "prefixaware"}
"""What a strategy is switched to; any other to roundrobin."""


def applied(deck: Deck) -> str:
    """The strategy of `chat` as the lab's own API tells it."""
    found: str = deck.state()["endpoints"]["chat"]["strategy"]
    return found


def confirm(page: Page, why: str) -> None:
    """Look at what would be written, say why, and confirm."""
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("What would be written")).to_be_visible()
    dialog.get_by_label("Why").fill(why)
    dialog.get_by_role("button", name="Confirm").click()
    page.wait_for_url(re.compile(r"/changes\?change=\d+"))


def follow(page: Page, name: str) -> None:
    """To its end, with the proof; a reload shows the same."""
    expect(page.get_by_text("in effect, proved by behaviour").first).to_be_visible()
    expect(page.get_by_role("button", name="Revert")).to_be_enabled()
    page.reload(wait_until="domcontentloaded")
    expect(page.get_by_text("in effect, proved by behaviour").first).to_be_visible()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


@pytest.mark.e2e
def test_one_click_switches_the_strategy_which_is_proved_and_taken_back(tmp_path: Path) -> None:
    require_chromium()
    with up(tmp_path, "--history", "0") as (deck, _), browser() as chromium:
        wait_until(lambda: tokens(deck.ask("status")).get("chat", 0) > 0, "tokens", deck.log)
        before = applied(deck)
        wished = OTHERS.get(before, "roundrobin")
        page, watch = chromium.new_page(viewport={"width": 1440, "height": 1100}), Watch()
        watch.follow(page)
        page.goto(f"{deck.address()}/routing?endpoint=chat", wait_until="domcontentloaded")
        switch = page.locator(f".st-key-switch-{wished} button")
        expect(switch).to_be_enabled()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / "routing.png", full_page=True)
        switch.click()
        confirm(page, "a test of one click")
        follow(page, "change-kept")
        assert applied(deck) == wished
        page.get_by_role("button", name="Revert").click()
        confirm(page, "and back")
        expect(page.get_by_text("takes change", exact=False).first).to_be_visible()
        follow(page, "change-reverted")
        assert applied(deck) == before
        assert watch.errors == []
        assert watch.outside == []
