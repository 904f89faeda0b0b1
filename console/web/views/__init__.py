"""The views of the console; a new one is a file here and a line in `VIEWS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from console.web.views import admin, alerts, changes, endpoint, fleet, pool, routing, tiers


@dataclass(frozen=True, slots=True)
class View:
    """One entry of the navigation; the first is what `/` shows."""

    title: str
    path: str
    render: Callable[[], None]


VIEWS = (
    View("Fleet", "fleet", fleet.render),
    View("Endpoint", "endpoint", endpoint.render),
    View("Routing", "routing", routing.render),
    View("Tiers", "tiers", tiers.render),
    View("Changes", "changes", changes.render),
    View("Alerts", "alerts", alerts.render),
    View("L2 pool", "pool", pool.render),
    View("Admin", "admin", admin.render),
)
