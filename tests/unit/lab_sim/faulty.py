"""What the tests of faults share: warm fleets, faults switched on and off, figures of the scraped text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from collectors.body import interpret
from collectors.sources import BY_KIND
from lab.sim.fault import FaultTarget
from lab.sim.faults import BY_NAME
from tests.unit.lab_sim.scraping import Scraper, fleet
from tierdeck.fleet import SourceKind
from tierdeck.readings import Reading

A, B = "chat-0", "chat-1"
WHERE = FaultTarget("chat")
Check = Callable[[], None]


def by_name(*checks: Check) -> dict[str, Check]:
    """Checks by the name of their fault."""
    return {check.__name__.replace("_", "-"): check for check in checks}


def warm(**changes: Any) -> Scraper:
    """Ten minutes of chat under roundrobin: all tiers in play."""
    scraper = Scraper(fleet(**changes))
    scraper.run(600.0)
    scraper.forget()
    return scraper


def on(scraper: Scraper, name: str, seconds: float = 120.0, target: FaultTarget = WHERE) -> None:
    scraper.fleet.switch(BY_NAME[name], target, on=True)
    scraper.run(15.0)
    scraper.forget()
    scraper.run(seconds)


def off(scraper: Scraper, name: str) -> None:
    scraper.fleet.switch(BY_NAME[name], WHERE, on=False)
    assert not scraper.fleet.faults


def gauge(scraper: Scraper, source: str, reading: Reading) -> float | None:
    found, _ = interpret(BY_KIND[SourceKind(source.partition(".")[0])], scraper.fleet.body("curvine", "_fleet", source))
    assert found is not None
    return found.gauge(reading)


def share(scraper: Scraper, name: str, tier: str) -> float:
    tiers = scraper.tiers(name)
    tokens = {"l0": tiers.l0, "lower": tiers.lower, "l2": tiers.l2.figure, "miss": tiers.miss}[tier].value
    assert tokens is not None
    assert tiers.prompt_tokens.value
    return tokens / tiers.prompt_tokens.value


def sample(text: str, start: str) -> float:
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(start))
