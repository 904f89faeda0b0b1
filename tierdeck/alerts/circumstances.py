"""All that is known around an alert, before and since: what causes are looked for in. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from tierdeck.account import Answer, PoolAccount, ReplicaAccount
from tierdeck.alerts.decomposition import Decomposition, Tally, by_member, by_tier
from tierdeck.events import Event, EventKind
from tierdeck.figure import Figure, Ratio
from tierdeck.fleet import Role
from tierdeck.ledger import TokenLedger
from tierdeck.rounds import SaltCounts
from tierdeck.split import TierSplit, split

LOWER = "L1+L2"
"""Both together, where a replica does not tell them apart."""
BEFORE_ONSET_SECONDS = 600.0
"""What happened so long before a ratio fell may be why: tiers are lost at once, and seen to be once they are asked."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """One endpoint between two instants (epoch seconds).

    Attributes:
        replicas: by name, those included that left meanwhile.
        shared: the ledger of the cache server that the replicas share.
        salts: LMCache's lookups by cache salt; empty where only the empty salt is in use.
        waiting: requests that wait for an engine, averaged; None: not told.
        stored: chunks that were stored to L2, by endpoint of the cluster.
    """

    started_at: float
    ended_at: float
    replicas: Mapping[str, ReplicaAccount] = field(default_factory=dict)
    shared: TokenLedger | None = None
    salts: Mapping[str, SaltCounts] = field(default_factory=dict)
    waiting: float | None = None
    stored: Mapping[str, float] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return self.ended_at - self.started_at

    def tiers(self, name: str) -> TierSplit | None:
        """None: there was no such replica."""
        account = self.replicas.get(name)
        if account is None:
            return None
        return _split(account.ledger, self.shared, account.role)

    def tallies(self, part: str, *, joins_lower: bool) -> dict[str, Tally]:
        """What each replica tells of hits; left out where that is nothing.

        Args:
            part: a tier, of which alone hits are taken; empty: of all.
            joins_lower: L1 and L2 as one.
        """
        found = {}
        for name in self.replicas:
            tiers = self.tiers(name)
            if tiers is None or not tiers.prompt_tokens.value or not tiers.by_token.known:
                continue
            values = {"L0": tiers.l0, LOWER: tiers.lower} if joins_lower else _apart(tiers)
            if part:
                values = {part: _apart(tiers)[part]}
            known = {tier: figure.value for tier, figure in values.items() if figure.value is not None}
            if len(known) == len(values):
                found[name] = Tally(tiers.prompt_tokens.value, known)
        return found

    def count(self, name: str, of: Collection[str] | None = None) -> float | None:
        """A count of the ledger, summed over the replicas that tell it, or some of them; None: none does."""
        parts = [
            value
            for replica, account in self.replicas.items()
            if (of is None or replica in of) and (value := getattr(account.ledger, name)) is not None
        ]
        if not parts and of is None and self.shared is not None:
            shared: float | None = getattr(self.shared, name)
            return shared
        return sum(parts) if parts else None

    def per(self, name: str, whole: str, of: Collection[str] | None = None) -> float | None:
        """One count by another; None: unknown, or the other is 0."""
        part, total = self.count(name, of), self.count(whole, of)
        return part / total if part is not None and total else None


@lru_cache(maxsize=4096)
def _split(ledger: TokenLedger, shared: TokenLedger | None, role: Role) -> TierSplit:
    """Each cause asks for the same ones again."""
    return split(ledger, shared, decodes=role is Role.CONSUMER)


def _apart(tiers: TierSplit) -> dict[str, Figure]:
    return {"L0": tiers.l0, "L1": tiers.l1.figure, "L2": tiers.l2.figure}


@dataclass(frozen=True, slots=True)
class PoolReading:
    """One pool at one moment."""

    at: float
    pool: str
    account: PoolAccount


@dataclass(frozen=True, slots=True)
class Restart:
    """A replica's engine began anew; `at`: start of the minute in which that was seen, epoch seconds."""

    replica: str
    at: float


@dataclass(frozen=True, slots=True)
class TargetState:
    """How the last scrape of a target ended; `reason` is empty where it went well. `since_at`: of the last that did."""

    replica: str
    target: str
    reason: str
    since_at: float | None = None


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What there is to judge by. Instants are epoch seconds.

    Attributes:
        part: a tier, where the alert is about one.
        onset_at: since when it is so, which is earlier than the alert.
        compared_with: what `before` is, in words.
        events: of this endpoint, of pools and of the cluster as a whole, oldest first, from ten minutes before.
        restarts: as the engines' own counters tell them.
        pools: readings of the cluster's pools before and since, oldest first.
        targets: of this endpoint and of pools, as they are now.
        declared: replicas of the inventory as it is now.
        strategy: as the inventory states it now; empty: not told.
    """

    rule: str
    endpoint: str
    onset_at: float
    now: float
    before: Stretch
    after: Stretch
    part: str = ""
    compared_with: str = "the hour before"
    events: tuple[Event, ...] = ()
    restarts: tuple[Restart, ...] = ()
    pools: tuple[PoolReading, ...] = ()
    targets: tuple[TargetState, ...] = ()
    declared: frozenset[str] = frozenset()
    strategy: str = ""

    @property
    def by_replica(self) -> Decomposition | None:
        """None: one side has no figures to compare."""
        return by_member(*self._tallies())

    @property
    def by_tier(self) -> Decomposition | None:
        return by_tier(*self._tallies())

    @property
    def by_tenant(self) -> Decomposition | None:
        """Of what LMCache found of what it was asked for: what L0 served is in it, and vLLM tells no tenants."""
        sides = (self.before.salts, self.after.salts)
        tallies = [
            {salt: Tally(one.lookup_tokens, {"found": one.l1_found + one.l2_found}) for salt, one in side.items()}
            for side in sides
        ]
        return by_member(*tallies)

    @property
    def change(self) -> float | None:
        """Of the ratio that the alert is about, since before; None: can't be compared."""
        whole = self.by_replica
        return whole.change if whole is not None else None

    def _tallies(self) -> tuple[dict[str, Tally], dict[str, Tally]]:
        sides = (self.before, self.after)
        if not self.part:
            apart = [side.tallies("", joins_lower=False) for side in sides]
            joined = [side.tallies("", joins_lower=True) for side in sides]
            both = apart if [*map(len, apart)] == [*map(len, joined)] else joined
        else:
            both = [side.tallies(self.part, joins_lower=False) for side in sides]
        return both[0], both[1]

    @property
    def restarted(self) -> Mapping[str, float]:
        """Replicas that restarted, and when last."""
        return {one.replica: one.at for one in sorted(self.restarts, key=lambda one: one.at)}

    @property
    def served_before(self) -> frozenset[str]:
        return _serving(self.before)

    @property
    def serving(self) -> frozenset[str]:
        return _serving(self.after)

    @property
    def new(self) -> frozenset[str]:
        """Replicas that serve since, and of which nothing was known before, not even that they don't answer."""
        known = {name for name, one in self.before.replicas.items()
                 if one.ledger.engine_scrapes or one.ledger.engine_gaps}  # fmt: skip
        return self.serving - known

    @property
    def gone(self) -> frozenset[str]:
        """Replicas that served before and are no more in the inventory, or were seen to go."""
        went = {EventKind.NODE_GONE, EventKind.NODE_REPLACED, EventKind.EVICTED, EventKind.GONE, EventKind.SCALED_IN}
        seen = {
            name for event in self.told(*went) for name in (event.replica, *event.detail.get("pods", "").split(", "))
        }
        silent = {name for name in self.served_before if self.answer(name) is Answer.NOTHING}
        return frozenset((self.served_before - self.declared) | (silent & seen))

    def answer(self, name: str) -> Answer:
        """A replica's last one."""
        account = self.after.replicas.get(name)
        return account.answer if account is not None else Answer.NOTHING

    def told(self, *kinds: EventKind) -> tuple[Event, ...]:
        """Events of these kinds."""
        return tuple(event for event in self.events if event.kind in kinds)

    def ratio(self, side: Stretch) -> Ratio:
        """Hits of all prompt tokens of the replicas that tell them."""
        tallies = side.tallies(self.part, joins_lower=True)
        hits, tokens = (sum(getattr(one, name) for one in tallies.values()) for name in ("hits", "tokens"))
        return Ratio.of(Figure(hits), Figure(tokens))


def _serving(side: Stretch) -> frozenset[str]:
    return frozenset(name for name, account in side.replicas.items() if account.ledger.prompt_tokens)
