"""What a way out is, and how it tells that something did not arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tierdeck.alerts.notice import Notice
from tierdeck.alerts.saying import Audience
from tierdeck.alerts.wording import Wording


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why something was not sent.

    Attributes:
        words: never an address, a token or what a receiver answered: addresses of webhooks are secrets.
        may_heal: it is worth another try.
        is_unsure: it may have arrived all the same.
        wait_seconds: how long the receiver wants to be left alone; 0: it does not say.
    """

    words: str
    may_heal: bool = True
    is_unsure: bool = False
    wait_seconds: float = 0.0


class UndeliveredError(Exception):
    """A channel did not get it across."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.words)
        self.trouble = trouble


class Channel(Protocol):
    """One way out. Used by one thread at a time; `send` ends within `SEND_SECONDS`."""

    @property
    def name(self) -> str:
        """As configured; stays with the notices."""
        ...

    @property
    def kind(self) -> str:
        """Such as `slack` or `webhook`; no secret."""
        ...

    @property
    def audience(self) -> Audience:
        """What is said here."""
        ...

    @property
    def can_confirm(self) -> bool:
        """The receiver knows a repeat by its key and drops it: nothing is seen twice."""
        ...

    def send(self, notice: Notice, wording: Wording) -> None:
        """Send once, and return when the receiver has it.

        Raises:
            UndeliveredError: it did not take it, or nobody knows.
        """
        ...


SEND_SECONDS = 30.0
"""Until a sending is given up as unknown."""
