"""Alerts in a real Chromium: seen, acknowledged, silenced, put under maintenance; channels are tried."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from db import Store
from tests.e2e.test_console_browser import SCREENSHOTS, visit
from tests.support.alert_fleet import CHAT, RAG, Seeded, seed
from tests.support.browser import WAIT_MS, browser, console, picture, press, require_chromium, settle, words
from tests.support.console_store import CLUSTER
from tierdeck.alerts.notice import NoticeKind

CARDS = 3
"""Least traces of the view: the hit ratio with what is usual, and the requests that wait."""

pytestmark = pytest.mark.e2e


@dataclass(frozen=True, slots=True)
class Deck:
    """A console on a store with alerts in it."""

    address: str
    url: str
    ids: Seeded


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deck]:
    require_chromium()
    home = tmp_path_factory.mktemp("alerts")
    url = f"sqlite:///{home}/tierdeck.db"
    ids = seed(url, time.time(), seconds=6000)
    with console(url, home / "console.log") as address:
        yield Deck(address, url, ids)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    require_chromium()
    with browser() as found:
        yield found


def beat(deck: Deck) -> None:
    """The alerting process is alive."""
    with Store.open(deck.url) as store:
        store.beat("alerting", "host-1:77", "0.1.0", time.time() - 60, time.time())


def drawn(page: Page) -> None:
    """The last part of the view is there, and its charts are painted."""
    page.get_by_role("table", name="Rules").first.wait_for(timeout=3 * WAIT_MS)
    settle(page, CARDS)


@pytest.mark.parametrize("width", [1440, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_fires_is_told_with_its_cause(deck: Deck, chromium: Browser, scheme: str, width: int) -> None:
    beat(deck)
    page, watch = visit(chromium, f"{deck.address}/alerts?freeze=1", scheme)
    page.set_viewport_size({"width": width, "height": 900})
    drawn(page)
    picture(page, SCREENSHOTS / f"alerts-{scheme}-{width}.png")
    text = words(page)
    for said in (
        "The hit ratio dropped",
        "−22 points",
        "chat-70b-2 restarted",
        "What to do",
        "docs/alerts.md#hit-ratio-drop",
    ):
        assert said in text
    for word in ("nan", "NaN", "None", "undefined", "Traceback", "Error:"):
        assert not re.search(rf"\b{word}\b", text), word
    assert (watch.errors, watch.outside) == ([], [])
    page.close()


def test_a_link_opens_exactly_that_alert(deck: Deck, chromium: Browser) -> None:
    page, watch = visit(chromium, f"{deck.address}/?freeze=1&window=1h")
    press(page.get_by_role("status", name="Firing alerts").get_by_role("link", name="The hit ratio dropped"))
    page.wait_for_url(re.compile(rf"alerts\?alert={deck.ids.drop}$"), timeout=WAIT_MS)
    page.get_by_role("heading", name="What became of it?").first.wait_for(timeout=WAIT_MS)
    settle(page, 2)
    text = words(page)
    assert "robust z" in text
    assert "503 Service Unavailable" in text
    press(page.get_by_role("link", name="Open the endpoint then"))
    page.wait_for_url(re.compile(f"endpoint.*endpoint={CHAT}"), timeout=WAIT_MS)
    page.get_by_role("status", name="Firing alerts").first.wait_for(timeout=WAIT_MS)
    assert watch.errors == []
    page.close()


def test_an_alert_that_is_not_there_is_said_in_a_sentence(deck: Deck, chromium: Browser) -> None:
    page, _ = visit(chromium, f"{deck.address}/alerts?freeze=1&alert=999")
    page.get_by_text("There is no alert 999").first.wait_for(timeout=WAIT_MS)
    page.close()


def test_acknowledge_silence_end_maintain_and_test(deck: Deck, chromium: Browser) -> None:
    beat(deck)
    page, watch = visit(chromium, f"{deck.address}/alerts")
    drawn(page)
    _acknowledge_by_keyboard(page, deck)
    _silence_and_end(page, deck)
    _maintain(page, deck)
    _try_channel(page, deck)
    assert watch.errors == []
    page.close()


def _acknowledge_by_keyboard(page: Page, deck: Deck) -> None:
    card = page.locator(f".st-key-alert-card-{deck.ids.drop}")
    card.get_by_role("button", name="Acknowledge").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Who").fill("grace", timeout=WAIT_MS)
    page.wait_for_timeout(7000)  # the page refreshes itself beneath; what was typed stays
    expect(dialog.get_by_role("textbox", name="Who")).to_have_value("grace")
    dialog.get_by_role("textbox", name="Note").fill("draining it")
    page.keyboard.press("Enter")
    card.get_by_text("acknowledged by grace").first.wait_for(timeout=WAIT_MS)
    expect(dialog).to_have_count(0)
    with Store.open(deck.url) as store:
        alert = store.alert(deck.ids.drop)
    assert alert is not None
    assert alert.acknowledged is not None
    assert (alert.acknowledged.by, alert.acknowledged.note) == ("grace", "draining it")


def _silence_and_end(page: Page, deck: Deck) -> None:
    card = page.locator(f".st-key-alert-card-{deck.ids.drop}")
    press(card.get_by_role("button", name="Silence"))
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("textbox", name="Matchers")).to_have_value(
        f"endpoint={CHAT}, rule=hit_ratio_drop, cluster={CLUSTER}", timeout=WAIT_MS
    )
    press(dialog.get_by_role("button", name="Silence"))
    dialog.get_by_text("No reason is given").first.wait_for(timeout=WAIT_MS)
    dialog.get_by_role("textbox", name="Why").fill("new drives")
    press(dialog.get_by_role("button", name="Silence"))
    expect(dialog).to_have_count(0, timeout=WAIT_MS)
    expect(card).to_have_count(0, timeout=WAIT_MS)
    with Store.open(deck.url) as store:
        made = next(one for one in store.silences(time.time()) if one.why == "new drives")
    assert made.by == "grace"  # whoever acted last
    assert made.ends_at - made.starts_at == 7200
    press(page.locator(f".st-key-end-{made.id}").get_by_role("button"))
    press(dialog.get_by_role("button", name="End now"))
    card.first.wait_for(timeout=WAIT_MS)
    with Store.open(deck.url) as store:
        assert made.id not in [one.id for one in store.silences(time.time())]


def _maintain(page: Page, deck: Deck) -> None:
    press(page.get_by_role("button", name="New maintenance window"))
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Why").fill("another kernel", timeout=WAIT_MS)
    press(dialog.get_by_role("button", name="Start"))
    page.get_by_text("another kernel").first.wait_for(timeout=WAIT_MS)
    with Store.open(deck.url) as store:
        window = store.frozen(CLUSTER, CHAT, time.time())  # the first endpoint of the list
        assert store.frozen(CLUSTER, RAG, time.time()) is None
    assert window is not None
    assert window.is_maintenance


def _try_channel(page: Page, deck: Deck) -> None:
    press(page.locator(".st-key-test-ops").get_by_role("button"))
    page.locator(".st-key-channel-row-ops").get_by_text("a test waits").first.wait_for(timeout=WAIT_MS)
    with Store.open(deck.url) as store:
        one = store.notices()[0]
        assert (one.kind, one.channel, one.alert) == (NoticeKind.TEST, "ops", None)
        taken = store.take_notice(time.time(), ["ops"], 60.0)
        while taken is not None and taken.kind is not NoticeKind.TEST:
            taken = store.take_notice(time.time(), ["ops"], 60.0)
        assert taken is not None
        store.notice_sent(taken.id, time.time())
    page.locator(".st-key-channel-row-ops").get_by_text("a test sent").first.wait_for(timeout=WAIT_MS)
