"""What is to be said to whom: a row of the outbox, written with the alert's change in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tierdeck.alerts.alert import Alert


class NoticeKind(StrEnum):
    """Why something is said."""

    FIRING = "firing"
    AGAIN = "again"
    RESOLVED = "resolved"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Way:
    """A channel as others may know it: whose alerting process has it, how it is called, and of which kind it is."""

    cluster: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Notice:
    """One message to one channel. Instants are epoch seconds.

    Attributes:
        key: the same for the same message, whoever writes it and however often; unique in the store.
        channel: the configured channel's name.
        alert: as it was when this was written; None for a test.
        due_at: when it is to be sent, or tried again.
        tries: sendings begun. More than 0 without an outcome: a sender ended in the middle, and nobody knows
            whether it arrived.
        sent_at, given_up_at: how it ended; None: it has not.
        trouble: why the last try failed; empty: it did not.
        may_repeat: it was begun before and its outcome is unknown: the receiver may see it twice.
        cluster: of a test, whose channel it tries; empty: anybody's of that name.
    """

    key: str
    channel: str
    kind: NoticeKind
    alert: Alert | None
    created_at: float
    due_at: float
    tries: int = 0
    sent_at: float | None = None
    given_up_at: float | None = None
    trouble: str = ""
    may_repeat: bool = False
    id: int = 0
    cluster: str = ""
