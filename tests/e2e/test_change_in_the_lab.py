"""One click on the Routing view changes the simulated fleet, is followed to its end with the proof, and taken back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser import Watch, browser, require_chromium
from tests.support.deck import Deck, tokens, up
from tests.support.processes import wait_until
from tests.support.proofs import MOST_PROBES

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
PROVED = "in effect, proved by behaviour"
ENDS = re.compile(rf"{PROVED}|cannot tell")
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


def follow(page: Page, name: str) -> bool:
    """To its end; a reload shows the same.

    Returns:
        Whether it was proved. A few proofs in a hundred can't tell: the page says so, and never that it is in effect.
    """
    expect(page.get_by_text(ENDS).first).to_be_visible()
    expect(page.get_by_role("button", name="Revert")).to_be_enabled()
    told = page.get_by_text(ENDS).first.inner_text()
    page.reload(wait_until="domcontentloaded")
    expect(page.get_by_text(told).first).to_be_visible()
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
    return PROVED in told


def switch(page: Page, deck: Deck, wished: str) -> bool:
    """One click on the Routing view; whether it was proved."""
    page.goto(f"{deck.address()}/routing?endpoint=chat", wait_until="domcontentloaded")
    button = page.locator(f".st-key-switch-{wished} button")
    expect(button).to_be_enabled()
    page.screenshot(path=SCREENSHOTS / "routing.png", full_page=True)
    button.click()
    confirm(page, "a test of one click")
    is_proved = follow(page, "change-kept")
    assert applied(deck) == wished
    return is_proved


def revert(page: Page, deck: Deck, before: str) -> bool:
    """The change that the page shows; whether what was there before was proved."""
    page.get_by_role("button", name="Revert").click()
    confirm(page, "and back")
    expect(page.get_by_text("takes change", exact=False).first).to_be_visible()
    is_proved = follow(page, "change-reverted")
    assert applied(deck) == before
    return is_proved


@pytest.mark.e2e
def test_one_click_switches_the_strategy_which_is_proved_and_taken_back(tmp_path: Path) -> None:
    require_chromium()
    with up(tmp_path, "--history", "0") as (deck, _), browser() as chromium:
        wait_until(lambda: tokens(deck.ask("status")).get("chat", 0) > 0, "tokens", deck.log)
        before = applied(deck)
        wished = OTHERS.get(before, "roundrobin")
        page, watch = chromium.new_page(viewport={"width": 1440, "height": 1100}), Watch()
        watch.follow(page)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        proved = {wished: False, before: False}
        for _ in range(MOST_PROBES):
            proved[wished] = switch(page, deck, wished) or proved[wished]
            proved[before] = revert(page, deck, before) or proved[before]
            if all(proved.values()):
                break
        assert proved == {wished: True, before: True}
        assert watch.errors == []
        assert watch.outside == []
