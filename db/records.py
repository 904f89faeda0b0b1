"""What reads hand out besides DataFrames: plain values of the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, field

from tierdeck.account import Gauges, PoolAccount, ReplicaAccount
from tierdeck.deployed import Blind
from tierdeck.fleet import ReplicaKey
from tierdeck.ledger import TokenLedger
from tierdeck.notes import Note

OTHER_SALTS = "(other)"
"""The salt into which those beyond the limit are folded."""


@dataclass(frozen=True, slots=True)
class EndpointAccounts:
    """One endpoint's window, ready for `tierdeck.summary`.

    Attributes:
        replicas: those of the inventory, in its order; never scraped or stale: `Answer.NOTHING`.
        shared: the ledger of the cache server that the replicas share, if a source tells one.
        models: served models seen in the window, sorted.
        last_at: epoch seconds of the newest round in the window; None: no round.
        departed: replicas with rounds in the window that the inventory no longer has, with their
            last answer: add them where a long window's tokens count, not where the present does.
        notes: notes of the sources that belong to no replica.
        shared_gauges: of the cache server that the replicas share.
    """

    cluster: str
    endpoint: str
    replicas: list[ReplicaAccount]
    shared: TokenLedger | None
    models: tuple[str, ...]
    last_at: float | None
    departed: list[ReplicaAccount] = field(default_factory=list)
    notes: tuple[Note, ...] = ()
    shared_gauges: Gauges = field(default_factory=Gauges)


@dataclass(frozen=True, slots=True)
class PoolNow:
    """The newest reading of one pool; `at` in epoch seconds."""

    key: ReplicaKey
    at: float
    account: PoolAccount


@dataclass(frozen=True, slots=True)
class BlindPart:
    """A part of a cluster that can't be seen, and since when (epoch seconds)."""

    cluster: str
    blind: Blind
    since_at: float


@dataclass(frozen=True, slots=True)
class Sighted:
    """When a cluster was last seen (epoch seconds), and what is there that this version does not read."""

    cluster: str
    at: float
    unknown_kinds: tuple[str, ...]
