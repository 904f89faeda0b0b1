"""The dead man's switch: an address that is asked every minute while the rules are judged, and warns when it is not."""

from __future__ import annotations

from requests.auth import HTTPBasicAuth

from alerting.notify.address import Address
from alerting.notify.http import call

BEAT_SECONDS = 60.0


class Heartbeat:
    """One such address."""

    def __init__(self, address: Address) -> None:
        self._address = address

    def beat(self) -> None:
        """Ask once. Raises UndeliveredError."""
        call("GET", self._address.url, auth=HTTPBasicAuth(*self._address.login) if self._address.login else None)
