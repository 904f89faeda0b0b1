"""A simulated deck whose alerts are judged each minute, with hours behind it."""

from __future__ import annotations

from dataclasses import dataclass, field

from alerting.alerting import Alerting, Told
from alerting.notify.configured import configured
from db import Store
from health.pulse import Pulse
from lab.sim.fleet import Fleet
from lab.sim.spec import FleetSpec
from tests.support.simulated_deck import CLUSTER, SimulatedDeck
from tests.unit.lab_sim.scraping import BEGAN_AT
from tierdeck.account import WarmingLimits
from tierdeck.alerts.alert import Alert
from tierdeck.alerts.limits import AlertLimits
from tierdeck.alerts.notice import NoticeKind
from tierdeck.settings import Settings

USUAL_MINUTES = 150
"""What is usual has to be known, before anything can be unusual."""
BEGIN = round(BEGAN_AT // 60) * 60.0 + 60.0
SETTINGS = Settings(
    cluster=CLUSTER, scrape_interval_seconds=60, notify_urls="hook=webhook+http://hooks.example/tierdeck"
)


@dataclass
class Watched:
    """A deck whose alerts are judged each minute."""

    deck: SimulatedDeck
    limits: AlertLimits = field(default_factory=AlertLimits)
    alerting: Alerting = field(init=False)

    def __post_init__(self) -> None:
        told = Told(self.limits, configured(SETTINGS))
        self.alerting = Alerting(SETTINGS, self.deck.store, told, "1", Pulse())

    def run(self, minutes: int) -> None:
        for _ in range(minutes):
            self.deck.run(60.0)
            self.deck.store.rollup(self.deck.now + 25, WarmingLimits())
            self.alerting.tick(self.deck.now + 25)
            assert self.alerting.trouble == ""

    def said(self) -> list[Alert]:
        """Alerts of which it was said that they fire."""
        store = self.deck.store
        told = {one.alert.id for one in store.notices(1000) if one.kind is NoticeKind.FIRING and one.alert is not None}
        return [one for one in store.alerts(0.0, self.deck.now + 3600) if one.id in told]


def usual(spec: FleetSpec, store: Store, limits: AlertLimits | None = None) -> Watched:
    """A fleet with hours behind it."""
    fleet = Fleet(spec, 1, BEGIN - 900.0)
    fleet.advance(900.0)
    deck = SimulatedDeck(fleet, store)
    deck.run(USUAL_MINUTES * 60.0)
    return Watched(deck, limits or AlertLimits())
